#include "api/dispatch/in_flight_keys.h"

#include "base/panic.h"

#include "api/dispatch/dispatch.h"

#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 256 };

/* A key in use. Each executor thread holds at most EXECUTOR_BATCH_MAX of them. */
struct in_flight_key {
    struct in_flight_key *next;
    int64_t organization_id;
    unsigned char key_hash[SECRET_HASH_BYTES];
    struct call_state *first;
    struct call_state *last;
};

struct in_flight_keys {
    pthread_mutex_t lock;
    struct in_flight_key *buckets[BUCKETS];
};

struct in_flight_keys *in_flight_keys_new(void)
{
    struct in_flight_keys *in_flight = calloc(1, sizeof(*in_flight));
    if (in_flight == NULL)
        panic(PANIC_NO_MEMORY);
    pthread_mutex_init(&in_flight->lock, NULL);
    return in_flight;
}

void in_flight_keys_free(struct in_flight_keys *in_flight)
{
    if (in_flight == NULL)
        return;
    pthread_mutex_destroy(&in_flight->lock);
    free(in_flight);
}

/* The link that points to the key's entry, or to the end of its chain. Keys are hashes, so a byte of them picks the bucket. */
static struct in_flight_key **find_key_link(struct in_flight_keys *in_flight, int64_t organization_id,
                                            const unsigned char *key_hash)
{
    struct in_flight_key **link = &in_flight->buckets[key_hash[0]];
    while (*link != NULL &&
           ((*link)->organization_id != organization_id || memcmp((*link)->key_hash, key_hash, SECRET_HASH_BYTES) != 0))
        link = &(*link)->next;
    return link;
}

static void append_duplicate(struct in_flight_key *work, struct call_state *state)
{
    state->next = NULL;
    if (work->last != NULL)
        work->last->next = state;
    else
        work->first = state;
    work->last = state;
}

bool in_flight_keys_enter(struct in_flight_keys *in_flight, int64_t organization_id,
                          const unsigned char key_hash[SECRET_HASH_BYTES], struct call_state *state)
{
    pthread_mutex_lock(&in_flight->lock);
    struct in_flight_key **link = find_key_link(in_flight, organization_id, key_hash);
    bool first = *link == NULL;
    if (first) {
        struct in_flight_key *work = calloc(1, sizeof(*work));
        if (work == NULL)
            panic(PANIC_NO_MEMORY);
        work->organization_id = organization_id;
        memcpy(work->key_hash, key_hash, SECRET_HASH_BYTES);
        *link = work;
    } else {
        append_duplicate(*link, state);
    }
    pthread_mutex_unlock(&in_flight->lock);
    return first;
}

struct call_state *in_flight_keys_leave(struct in_flight_keys *in_flight, int64_t organization_id,
                                        const unsigned char key_hash[SECRET_HASH_BYTES])
{
    pthread_mutex_lock(&in_flight->lock);
    struct in_flight_key **link = find_key_link(in_flight, organization_id, key_hash);
    struct in_flight_key *work = *link;
    struct call_state *parked = work != NULL ? work->first : NULL;
    if (work != NULL)
        *link = work->next;
    pthread_mutex_unlock(&in_flight->lock);
    free(work);
    return parked;
}
