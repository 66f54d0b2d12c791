#include "http/dropped_bodies.h"

#include "base/clock.h"
#include "base/panic.h"
#include "base/scheduling.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdlib.h>

enum {
    INTERVAL_MS = 50,
    BYTES_PER_S = 16 * 1024 * 1024,
    ALLOWED_BYTES = BYTES_PER_S / 1000 * INTERVAL_MS,
    PART_BYTES = 16 * 1024, /* at most what a resumed connection reads before it comes here again */
};

struct dropped_bodies {
    pthread_mutex_t lock; /* protects everything below */
    pthread_cond_t changed;
    size_t left_bytes;                 /* of the allowance of this interval */
    struct MHD_Connection **suspended; /* a ring */
    size_t capacity;
    size_t first;
    size_t count;
    bool is_bounded;
    bool must_end;
    pthread_t thread;
};

/* Under the lock. */
static void resume_first(struct dropped_bodies *bodies)
{
    MHD_resume_connection(bodies->suspended[bodies->first]);
    bodies->first = (bodies->first + 1) % bodies->capacity;
    bodies->count--;
}

/* Under the lock. */
static void begin_interval(struct dropped_bodies *bodies)
{
    bodies->left_bytes = ALLOWED_BYTES;
    for (size_t i = 0; i < ALLOWED_BYTES / PART_BYTES && bodies->count > 0; i++)
        resume_first(bodies);
}

/* Sleeps while the allowance is untouched. */
static void *run_intervals(void *argument)
{
    struct dropped_bodies *bodies = argument;
    scheduling_reset();
    pthread_mutex_lock(&bodies->lock);
    while (!bodies->must_end) {
        while (!bodies->must_end && bodies->count == 0 && bodies->left_bytes == ALLOWED_BYTES)
            pthread_cond_wait(&bodies->changed, &bodies->lock);
        struct timespec until = clock_deadline(INTERVAL_MS);
        while (!bodies->must_end && pthread_cond_clockwait(&bodies->changed, &bodies->lock, CLOCK_MONOTONIC, &until) == 0)
            continue;
        begin_interval(bodies);
    }
    pthread_mutex_unlock(&bodies->lock);
    return NULL;
}

static void release(struct dropped_bodies *bodies)
{
    pthread_cond_destroy(&bodies->changed);
    pthread_mutex_destroy(&bodies->lock);
    free(bodies->suspended);
    free(bodies);
}

bool dropped_bodies_new(size_t max_suspended, struct dropped_bodies **ret_bodies, struct error *err)
{
    struct dropped_bodies *bodies = calloc(1, sizeof(*bodies));
    struct MHD_Connection **suspended = calloc(max_suspended, sizeof(struct MHD_Connection *));
    if (bodies == NULL || suspended == NULL)
        panic(PANIC_NO_MEMORY);
    bodies->suspended = suspended;
    bodies->capacity = max_suspended;
    bodies->left_bytes = ALLOWED_BYTES;
    bodies->is_bounded = true;
    pthread_mutex_init(&bodies->lock, NULL);
    pthread_cond_init(&bodies->changed, NULL);
    if (pthread_create(&bodies->thread, NULL, run_intervals, bodies) != 0) {
        release(bodies);
        return fail(err, ERR_INTERNAL_ERROR, NULL, "The server cannot start another thread.");
    }
    *ret_bodies = bodies;
    return true;
}

bool dropped_bodies_note(struct dropped_bodies *bodies, struct MHD_Connection *mhd, size_t bytes)
{
    pthread_mutex_lock(&bodies->lock);
    if (bodies->count == 0 && bodies->left_bytes == ALLOWED_BYTES)
        pthread_cond_signal(&bodies->changed);
    bodies->left_bytes = bytes < bodies->left_bytes ? bodies->left_bytes - bytes : 0;
    bool is_suspended = bodies->left_bytes == 0 && bodies->is_bounded && bodies->count < bodies->capacity;
    if (is_suspended) {
        MHD_suspend_connection(mhd);
        bodies->suspended[(bodies->first + bodies->count++) % bodies->capacity] = mhd;
    }
    pthread_mutex_unlock(&bodies->lock);
    return is_suspended;
}

void dropped_bodies_end_bound(struct dropped_bodies *bodies)
{
    pthread_mutex_lock(&bodies->lock);
    bodies->is_bounded = false;
    while (bodies->count > 0)
        resume_first(bodies);
    pthread_mutex_unlock(&bodies->lock);
}

void dropped_bodies_free(struct dropped_bodies *bodies)
{
    if (bodies == NULL)
        return;
    pthread_mutex_lock(&bodies->lock);
    bodies->must_end = true;
    pthread_cond_signal(&bodies->changed);
    pthread_mutex_unlock(&bodies->lock);
    pthread_join(bodies->thread, NULL);
    release(bodies);
}
