/*
 * Worker pool: the threads of a process that lease the jobs of one pool
 * (jobs.pool). Each thread has a connection of its own, which holds the lease of
 * its job. A thread starts when a job is leased and no other thread is free, so
 * an idle process has one, which waits for notifications; the other free threads
 * wait for it.
 *
 * One organization has at most a part of the threads. While it has all of them,
 * the other threads lease the jobs of other organizations. Private to src/jobs.
 */
#pragma once

#include "engine/core/installation.h"
#include "sql/worker.h"

struct worker_pool;

enum { JOB_LEASE_S = 300 }; /* renewed by job_renew and job_progress */

struct worker_pool_config {
    const char *name; /* as in jobs.pool */
    int threads;      /* at least 1 */
    int share;        /* the threads that one organization may have: more than half of `threads` - 1, at least 1 */
    struct installation *installation;

    /* Executes a leased job and settles it. The memory of the row and the job is in `arena`. */
    void (*run)(void *context, const struct leased_job_row *row, struct db_conn *conn, struct arena *arena);
    /* Called before each lease, for work that is due from time to time. May be NULL. */
    bool (*tidy)(void *context, struct db_conn *conn, struct error *err);
    void *context;
};

/* Starts the first thread. */
struct worker_pool *worker_pool_start(const struct worker_pool_config *config) NONNULL(1) RETURNS_NONNULL;

/* Asks the threads to end after their jobs. */
void worker_pool_ask_stop(struct worker_pool *pool) NONNULL(1);

/* Waits for the threads and frees the pool. */
void worker_pool_stop(struct worker_pool *pool) NONNULL(1);
