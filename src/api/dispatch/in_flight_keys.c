#include "api/dispatch/in_flight_keys.h"

#include "api/dispatch/dispatch.h"

#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 256 };

/* A key at work. Each executor thread has at most EXECUTOR_BATCH_MAX of them. */
struct at_work {
    struct at_work *next;
    int64_t organization_id;
    unsigned char key_hash[SECRET_HASH_BYTES];
    struct call_state *first;
    struct call_state *last;
};

struct in_flight_keys {
    pthread_mutex_t lock;
    struct at_work *buckets[BUCKETS];
};

struct in_flight_keys *in_flight_keys_new(void)
{
    struct in_flight_keys *in_flight = calloc(1, sizeof(*in_flight));
    if (in_flight == NULL)
        abort();
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

/* The link that points to a key at work, or to the end of its chain. The keys are hashes already. */
static struct at_work **find(struct in_flight_keys *in_flight, int64_t organization_id, const unsigned char *key_hash)
{
    struct at_work **link = &in_flight->buckets[key_hash[0]];
    while (*link != NULL &&
           ((*link)->organization_id != organization_id || memcmp((*link)->key_hash, key_hash, SECRET_HASH_BYTES) != 0))
        link = &(*link)->next;
    return link;
}

static void wait_behind(struct at_work *work, struct call_state *state)
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
    struct at_work **link = find(in_flight, organization_id, key_hash);
    bool first = *link == NULL;
    if (first) {
        struct at_work *work = calloc(1, sizeof(*work));
        if (work == NULL)
            abort();
        work->organization_id = organization_id;
        memcpy(work->key_hash, key_hash, SECRET_HASH_BYTES);
        *link = work;
    } else {
        wait_behind(*link, state);
    }
    pthread_mutex_unlock(&in_flight->lock);
    return first;
}

struct call_state *in_flight_keys_leave(struct in_flight_keys *in_flight, int64_t organization_id,
                                        const unsigned char key_hash[SECRET_HASH_BYTES])
{
    pthread_mutex_lock(&in_flight->lock);
    struct at_work **link = find(in_flight, organization_id, key_hash);
    struct at_work *work = *link;
    struct call_state *parked = work != NULL ? work->first : NULL;
    if (work != NULL)
        *link = work->next;
    pthread_mutex_unlock(&in_flight->lock);
    free(work);
    return parked;
}
