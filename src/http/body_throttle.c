#include "http/body_throttle.h"

#include "base/clock.h"
#include "base/panic.h"
#include "base/scheduling.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdlib.h>

enum {
    INTERVAL_MS = 10, /* short, because a thread that reads for longer delays the other connections that it serves */
    DROPPED_BYTES_PER_S = 16 * 1024 * 1024,
    PROCESSOR_BYTES_PER_S = 4 * 1024 * 1024, /* of an organization, for each processor of the server */
    PART_BYTES = 16 * 1024,                  /* at most what a resumed connection reads before it comes here again */
    BUCKETS = 256,
};

/* What may still be read of some bodies in this interval, and the connections that wait for the next one. */
struct allowance {
    int64_t key;
    size_t left_bytes;
    struct body_pause *first; /* in the order of the suspensions */
    struct body_pause *last;
    struct allowance *next;
};

struct body_throttle {
    pthread_mutex_t lock; /* protects everything below */
    pthread_cond_t changed;
    size_t organization_bytes;          /* in an interval */
    struct allowance *buckets[BUCKETS]; /* the allowances of which something is used */
    size_t count;
    bool is_ended;
    bool must_end;
    pthread_t thread;
};

/* ---- Allowances; under the lock ---- */

static size_t interval_bytes(const struct body_throttle *throttle, int64_t key)
{
    return key == BODY_THROTTLE_DROPPED ? (size_t)DROPPED_BYTES_PER_S / 1000 * INTERVAL_MS : throttle->organization_bytes;
}

static struct allowance *find_allowance(struct body_throttle *throttle, int64_t key)
{
    struct allowance **bucket = &throttle->buckets[(uint64_t)key % BUCKETS];
    for (struct allowance *allowance = *bucket; allowance != NULL; allowance = allowance->next)
        if (allowance->key == key)
            return allowance;
    struct allowance *allowance = calloc(1, sizeof(*allowance));
    if (allowance == NULL)
        panic(PANIC_NO_MEMORY);
    *allowance = (struct allowance){ .key = key, .left_bytes = interval_bytes(throttle, key), .next = *bucket };
    *bucket = allowance;
    if (throttle->count++ == 0)
        pthread_cond_signal(&throttle->changed);
    return allowance;
}

static void resume_first(struct allowance *allowance)
{
    struct body_pause *pause = allowance->first;
    allowance->first = pause->next;
    MHD_resume_connection(pause->mhd);
}

/* Frees an allowance of which nothing was used in the last interval. */
static void renew_allowance(struct body_throttle *throttle, struct allowance **link)
{
    struct allowance *allowance = *link;
    size_t bytes = interval_bytes(throttle, allowance->key);
    if (allowance->left_bytes == bytes && allowance->first == NULL) {
        *link = allowance->next;
        free(allowance);
        throttle->count--;
        return;
    }
    allowance->left_bytes = bytes;
    for (size_t i = 0; i < bytes / PART_BYTES && allowance->first != NULL; i++)
        resume_first(allowance);
}

static void begin_interval(struct body_throttle *throttle)
{
    for (size_t i = 0; i < BUCKETS; i++) {
        struct allowance **link = &throttle->buckets[i];
        while (*link != NULL) {
            struct allowance *allowance = *link;
            renew_allowance(throttle, link);
            if (*link == allowance)
                link = &allowance->next;
        }
    }
}

/* ---- The thread ---- */

/* Sleeps while no allowance is in use. */
static void *run_intervals(void *argument)
{
    struct body_throttle *throttle = argument;
    scheduling_reset();
    pthread_mutex_lock(&throttle->lock);
    while (!throttle->must_end) {
        while (!throttle->must_end && throttle->count == 0)
            pthread_cond_wait(&throttle->changed, &throttle->lock);
        struct timespec until = clock_deadline(INTERVAL_MS);
        while (!throttle->must_end && pthread_cond_clockwait(&throttle->changed, &throttle->lock, CLOCK_MONOTONIC, &until) == 0)
            continue;
        begin_interval(throttle);
    }
    pthread_mutex_unlock(&throttle->lock);
    return NULL;
}

/* ---- The interface ---- */

static void release(struct body_throttle *throttle)
{
    for (size_t i = 0; i < BUCKETS; i++) {
        while (throttle->buckets[i] != NULL) {
            struct allowance *allowance = throttle->buckets[i];
            throttle->buckets[i] = allowance->next;
            free(allowance);
        }
    }
    pthread_cond_destroy(&throttle->changed);
    pthread_mutex_destroy(&throttle->lock);
    free(throttle);
}

bool body_throttle_new(struct body_throttle **ret_throttle, struct error *err)
{
    struct body_throttle *throttle = calloc(1, sizeof(*throttle));
    if (throttle == NULL)
        panic(PANIC_NO_MEMORY);
    throttle->organization_bytes = (size_t)PROCESSOR_BYTES_PER_S / 1000 * INTERVAL_MS * (size_t)scheduling_processors();
    pthread_mutex_init(&throttle->lock, NULL);
    pthread_cond_init(&throttle->changed, NULL);
    if (pthread_create(&throttle->thread, NULL, run_intervals, throttle) != 0) {
        release(throttle);
        return fail(err, ERR_INTERNAL_ERROR, NULL, "The server cannot start another thread.");
    }
    *ret_throttle = throttle;
    return true;
}

static void suspend(struct allowance *allowance, struct body_pause *pause, struct MHD_Connection *mhd)
{
    MHD_suspend_connection(mhd);
    *pause = (struct body_pause){ .mhd = mhd };
    *(allowance->first != NULL ? &allowance->last->next : &allowance->first) = pause;
    allowance->last = pause;
}

bool body_throttle_note(struct body_throttle *throttle, struct body_pause *pause, struct MHD_Connection *mhd, int64_t key,
                        size_t bytes)
{
    pthread_mutex_lock(&throttle->lock);
    struct allowance *allowance = find_allowance(throttle, key);
    allowance->left_bytes = bytes < allowance->left_bytes ? allowance->left_bytes - bytes : 0;
    bool is_suspended = allowance->left_bytes == 0 && !throttle->is_ended;
    if (is_suspended)
        suspend(allowance, pause, mhd);
    pthread_mutex_unlock(&throttle->lock);
    return is_suspended;
}

void body_throttle_end(struct body_throttle *throttle)
{
    pthread_mutex_lock(&throttle->lock);
    throttle->is_ended = true;
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct allowance *allowance = throttle->buckets[i]; allowance != NULL; allowance = allowance->next)
            while (allowance->first != NULL)
                resume_first(allowance);
    pthread_mutex_unlock(&throttle->lock);
}

void body_throttle_free(struct body_throttle *throttle)
{
    if (throttle == NULL)
        return;
    pthread_mutex_lock(&throttle->lock);
    throttle->must_end = true;
    pthread_cond_signal(&throttle->changed);
    pthread_mutex_unlock(&throttle->lock);
    pthread_join(throttle->thread, NULL);
    release(throttle);
}
