#include "jobs/worker_pool.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/panic.h"
#include "base/scheduling.h"

#include <pthread.h>
#include <stdlib.h>

enum {
    IDLE_WAIT_MS = 1000,
    READ_NOTICES_MS = 10 * 1000, /* a thread that waits for another reads its notifications that often */
    RECONNECT_WAIT_MS = 500,
};

struct worker_pool {
    struct worker_pool_config config;
    pthread_mutex_t lock; /* guards the members below; held while a job is leased */
    pthread_cond_t needed;
    bool stopping;
    bool is_polling; /* a thread waits for notifications */
    int waiting;     /* threads that wait until they are needed */
    int thread_count;
    struct worker *threads; /* thread_count of config.threads are started */
};

struct worker {
    struct worker_pool *pool;
    pthread_t thread;
    struct db_conn *conn;
    int64_t organization_id; /* of its job; 0: none */
};

/* ---- Leasing; under the lock ---- */

/* The organization that has its share of the threads; 0: none. */
static int64_t full_organization(const struct worker_pool *pool)
{
    for (int i = 0; i < pool->thread_count; i++) {
        int64_t organization_id = pool->threads[i].organization_id;
        int count = 0;
        for (int j = 0; j < pool->thread_count; j++)
            count += pool->threads[j].organization_id == organization_id;
        if (organization_id != 0 && count >= pool->config.share)
            return organization_id;
    }
    return 0;
}

static bool lease(struct worker *worker, struct arena *arena, const struct leased_job_row **ret_row, struct error *err)
{
    struct worker_pool *pool = worker->pool;
    struct job_give_turns_params turns = { .now = clock_now_us() };
    struct job_lease_params any = { .pool = pool->config.name, .lease_s = JOB_LEASE_S };
    struct job_lease_of_others_params others = {
        .pool = pool->config.name,
        .organization_id = full_organization(pool),
        .lease_s = JOB_LEASE_S,
    };
    struct db_batch *batch = db_batch_new(worker->conn, arena);
    db_batch_add(batch, &job_give_turns_statement, &turns);
    size_t leased = others.organization_id != 0 ? db_batch_add(batch, &job_lease_of_others_statement, &others)
                                                : db_batch_add(batch, &job_lease_statement, &any);
    if (!db_batch_run(batch, err))
        return false;
    const struct db_rows *rows = db_batch_rows(batch, leased);
    *ret_row = rows->count > 0 ? rows->rows : NULL;
    return true;
}

static void *worker_thread(void *argument);

/* Makes sure that a thread looks for the next job. */
static void keep_watch(struct worker_pool *pool)
{
    if (pool->is_polling || pool->stopping)
        return;
    if (pool->waiting > 0) {
        pthread_cond_signal(&pool->needed);
    } else if (pool->thread_count < pool->config.threads) {
        struct worker *worker = &pool->threads[pool->thread_count];
        worker->pool = pool;
        /* Without another thread the next job waits for the end of a running one. */
        if (pthread_create(&worker->thread, NULL, worker_thread, worker) == 0)
            pool->thread_count++;
    }
}

static bool lease_next(struct worker *worker, struct arena *arena, const struct leased_job_row **ret_row, struct error *err)
{
    struct worker_pool *pool = worker->pool;
    pthread_mutex_lock(&pool->lock);
    bool ok = lease(worker, arena, ret_row, err);
    if (ok && *ret_row != NULL) {
        worker->organization_id = (*ret_row)->organization_id.value;
        keep_watch(pool);
    }
    pthread_mutex_unlock(&pool->lock);
    return ok;
}

static void leave_job(struct worker *worker)
{
    pthread_mutex_lock(&worker->pool->lock);
    worker->organization_id = 0;
    pthread_mutex_unlock(&worker->pool->lock);
}

/* ---- Waiting ---- */

static bool read_notices(struct db_conn *conn, int wait_ms, struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    struct db_notice notice;
    bool got = true;
    bool ok = db_notice_take(conn, arena, wait_ms, &got, &notice, err);
    while (ok && got)
        ok = db_notice_take(conn, arena, 0, &got, &notice, err);
    return ok;
}

static bool wait_for_notice(struct db_conn *conn, struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    int64_t reclaimed;
    if (!sql_job_reclaim(conn, arena, &reclaimed, err))
        return false;
    return reclaimed > 0 || read_notices(conn, IDLE_WAIT_MS, err);
}

/* Waits until this thread is needed; a while later it reads its notifications, which the server keeps for it. */
static bool wait_until_needed(struct worker *worker, struct error *err)
{
    struct worker_pool *pool = worker->pool;
    struct timespec until = clock_deadline(READ_NOTICES_MS);
    pool->waiting++;
    int waited = pool->stopping ? 0 : pthread_cond_clockwait(&pool->needed, &pool->lock, CLOCK_MONOTONIC, &until);
    pool->waiting--;
    pthread_mutex_unlock(&pool->lock);
    bool ok = waited == 0 || read_notices(worker->conn, 0, err);
    pthread_mutex_lock(&pool->lock);
    return ok;
}

static bool poll_for_notice(struct worker *worker, struct error *err)
{
    struct worker_pool *pool = worker->pool;
    pool->is_polling = true;
    pthread_mutex_unlock(&pool->lock);
    bool ok = wait_for_notice(worker->conn, err);
    pthread_mutex_lock(&pool->lock);
    pool->is_polling = false;
    if (!ok)
        keep_watch(pool);
    return ok;
}

static bool wait_for_work(struct worker *worker, struct error *err)
{
    struct worker_pool *pool = worker->pool;
    bool ok = true;
    pthread_mutex_lock(&pool->lock);
    if (!pool->stopping)
        ok = pool->is_polling ? wait_until_needed(worker, err) : poll_for_notice(worker, err);
    pthread_mutex_unlock(&pool->lock);
    return ok;
}

/* ---- A thread ---- */

static bool connect_worker(struct worker *worker, struct error *err)
{
    if (worker->conn != NULL)
        return true;
    if (!installation_connect(worker->pool->config.installation, &worker->conn, err))
        return false;
    db_lower_priority(worker->conn);
    return db_listen(worker->conn, "posthorn_work", err);
}

static bool serve(struct worker *worker, struct error *err)
{
    const struct worker_pool_config *config = &worker->pool->config;
    ARENA_SCOPE arena = arena_new(0);
    const struct leased_job_row *row = NULL;
    if (!connect_worker(worker, err) || (config->tidy != NULL && !config->tidy(config->context, worker->conn, err)) ||
        !lease_next(worker, arena, &row, err))
        return false;
    if (row == NULL)
        return wait_for_work(worker, err);
    config->run(config->context, row, worker->conn, arena);
    leave_job(worker);
    return true;
}

static void drop_connection(struct worker *worker, const struct error *err)
{
    struct timespec pause = { .tv_nsec = RECONNECT_WAIT_MS * 1000L * 1000L };
    struct log_line line;
    log_begin(&line, LOG_WARNING, "worker.database");
    log_error_members(&line, err);
    log_end(&line);
    db_disconnect(worker->conn);
    worker->conn = NULL;
    nanosleep(&pause, NULL);
}

static bool is_stopping(struct worker_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    bool stopping = pool->stopping;
    pthread_mutex_unlock(&pool->lock);
    return stopping;
}

static void *worker_thread(void *argument)
{
    struct worker *worker = argument;
    scheduling_low_thread();
    while (!is_stopping(worker->pool)) {
        struct error err = { .code = ERR_NONE };
        if (!serve(worker, &err))
            drop_connection(worker, &err);
    }
    db_disconnect(worker->conn);
    return NULL;
}

/* ---- The pool ---- */

struct worker_pool *worker_pool_start(const struct worker_pool_config *config)
{
    struct worker_pool *pool = calloc(1, sizeof(*pool));
    struct worker *threads = calloc((size_t)config->threads, sizeof(*threads));
    if (pool == NULL || threads == NULL)
        panic(PANIC_NO_MEMORY);
    pool->config = *config;
    pool->threads = threads;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->needed, NULL);
    pthread_mutex_lock(&pool->lock);
    keep_watch(pool);
    if (pool->thread_count == 0)
        panic(PANIC_NO_THREAD);
    pthread_mutex_unlock(&pool->lock);
    return pool;
}

void worker_pool_ask_stop(struct worker_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->stopping = true;
    pthread_cond_broadcast(&pool->needed);
    pthread_mutex_unlock(&pool->lock);
}

void worker_pool_stop(struct worker_pool *pool)
{
    worker_pool_ask_stop(pool);
    /* No thread starts another one once `stopping` is set. */
    for (int i = 0; i < pool->thread_count; i++)
        pthread_join(pool->threads[i].thread, NULL);
    pthread_cond_destroy(&pool->needed);
    pthread_mutex_destroy(&pool->lock);
    free(pool->threads);
    free(pool);
}
