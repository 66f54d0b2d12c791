/*
 * Executors: bounded queues of calls and the threads that work them off, each
 * thread with a connection of its own (house: I/O thread → queue → executor →
 * I/O thread). Lanes keep slow work from delaying quick work. Threads start
 * when there is work for them, so an idle process has none.
 *
 * Consecutive `single` reads are taken together, up to EXECUTOR_BATCH_MAX, and
 * travel in one pipeline.
 */
#pragma once

#include "base/error.h"
#include "db/db.h"

enum { EXECUTOR_BATCH_MAX = 64 };

struct executor;
struct call_state;

struct executor_config {
    const char *name;
    int threads;
    size_t queue_max;
    bool batches; /* hand over several single reads at a time */

    /* Runs one or several calls to their end on `conn`. */
    void (*run)(void *context, struct db_conn *conn, struct call_state *const *states, size_t count);
    /* Ends a call that never ran. */
    void (*refuse)(void *context, struct call_state *state, const struct error *why);
    /* A connection for a new thread. */
    bool (*connect)(void *context, struct db_conn **ret_conn, struct error *err);
    void *context;
};

struct executor *executor_new(const struct executor_config *config) NONNULL(1) RETURNS_NONNULL;

/* Queues a call; SERVICE_UNAVAILABLE when the queue is full or the executor stops. */
MUST_CHECK bool executor_submit(struct executor *executor, struct call_state *state, bool is_single, struct error *err)
    NONNULL(1, 2, 4);

/* Finishes what is queued, up to `wait_ms`, then joins the threads. */
void executor_stop(struct executor *executor, int wait_ms) NONNULL(1);
void executor_free(struct executor *executor);

/* Calls waiting now. */
size_t executor_queued(struct executor *executor) NONNULL(1);
