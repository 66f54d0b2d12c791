#include "render/renderer_pool.h"

#include "base/clock.h"
#include "base/panic.h"
#include "render/renderer_process.h"
#include "render/renderer_turns.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum { RETRY_AFTER_S = 1 };

struct renderer_pool {
    const struct renderer_config *config;
    pthread_mutex_t mutex; /* guards `turns` */
    pthread_cond_t changed;
    struct renderer_turns turns;
    struct renderer_process *processes[RENDERER_PLACES]; /* each belongs to the request that has taken its place */
};

struct renderer_pool *renderer_pool_new(const struct renderer_config *config)
{
    struct renderer_pool *pool = calloc(1, sizeof(*pool));
    if (pool == NULL)
        panic(PANIC_NO_MEMORY);
    pool->config = config;
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&pool->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    for (int i = 0; i < RENDERER_PLACES; i++)
        pool->processes[i] = renderer_process_new(config);
    return pool;
}

void renderer_pool_free(struct renderer_pool *pool)
{
    for (int i = 0; i < RENDERER_PLACES; i++)
        renderer_process_free(pool->processes[i]);
    pthread_cond_destroy(&pool->changed);
    pthread_mutex_destroy(&pool->mutex);
    free(pool);
}

static struct renderer_process *process_at(const struct renderer_pool *pool, const struct renderer_place *place)
{
    return pool->processes[place - pool->turns.places];
}

/* Waits until a place is free, the patience of the waiter ends, or the deadline passes. */
static void wait_for_change(struct renderer_pool *pool, const struct renderer_waiter *waiter, int64_t now_us, int64_t deadline_us)
{
    int64_t until_us = renderer_turns_patient_until(waiter);
    if (now_us >= until_us || deadline_us < until_us)
        until_us = deadline_us;
    const struct timespec until = { .tv_sec = until_us / US_PER_S, .tv_nsec = until_us % US_PER_S * 1000 };
    pthread_cond_timedwait(&pool->changed, &pool->mutex, &until);
}

/* Under the lock. NULL: the deadline passed. */
static struct renderer_place *wait_for_place(struct renderer_pool *pool, const struct renderer_waiter *waiter, int64_t deadline_us)
{
    for (;;) {
        int64_t now_us = clock_monotonic_us();
        struct renderer_place *place = renderer_turns_take(&pool->turns, waiter, now_us);
        if (place != NULL || now_us >= deadline_us)
            return place;
        wait_for_change(pool, waiter, now_us, deadline_us);
    }
}

static struct renderer_place *acquire_place(struct renderer_pool *pool, int64_t organization_id, int64_t deadline_us)
{
    struct renderer_waiter self;
    pthread_mutex_lock(&pool->mutex);
    renderer_turns_add(&pool->turns, &self, organization_id, clock_monotonic_us());
    struct renderer_place *place = wait_for_place(pool, &self, deadline_us);
    renderer_turns_remove(&pool->turns, &self);
    pthread_cond_broadcast(&pool->changed); /* it may be the turn of the next one */
    pthread_mutex_unlock(&pool->mutex);
    return place;
}

static void release_place(struct renderer_pool *pool, struct renderer_place *place)
{
    pthread_mutex_lock(&pool->mutex);
    renderer_turns_release(place, clock_monotonic_us());
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->mutex);
}

static bool take_idle(struct renderer_pool *pool, struct renderer_place *place)
{
    pthread_mutex_lock(&pool->mutex);
    bool taken = renderer_turns_take_idle(place, pool->config->idle_ms * US_PER_MS, clock_monotonic_us());
    pthread_mutex_unlock(&pool->mutex);
    return taken;
}

void renderer_pool_end_idle(struct renderer_pool *pool, int kept)
{
    for (int i = kept; i < RENDERER_PLACES; i++) {
        struct renderer_place *place = &pool->turns.places[i];
        if (!take_idle(pool, place))
            continue;
        renderer_process_stop(process_at(pool, place));
        release_place(pool, place);
    }
}

static bool fail_busy(struct error *err)
{
    fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "The HTML renderer is busy. Try again.");
    err->retry_after_s = RETRY_AFTER_S;
    return error_because(err, "renderer process: the processes were busy until the deadline");
}

/* The use of a place. It ends, too, when the reply passes the bound of the arena. */
struct use {
    struct renderer_pool *pool;
    struct renderer_place *place;
};

static void end_use(struct use *use)
{
    release_place(use->pool, use->place);
}

bool renderer_pool_exchange(struct renderer_pool *pool, int64_t organization_id, struct arena *arena, const struct buf *request,
                            int64_t id, int64_t deadline_us, const json_t **ret_result, struct error *err)
{
    struct renderer_place *place = acquire_place(pool, organization_id, deadline_us);
    if (place == NULL)
        return fail_busy(err);
    CLEANUP(end_use) struct use use = { .pool = pool, .place = place };
    return renderer_process_exchange(process_at(pool, place), arena, request, id, deadline_us, ret_result, err);
}
