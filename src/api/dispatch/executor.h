/*
 * Executors: bounded queues of calls and the threads that work them off, each
 * thread with a connection of its own (house: I/O thread → queue → executor →
 * I/O thread). Lanes keep slow work from delaying quick work. Threads start
 * when there is work for them, so an idle process has none.
 *
 * `single` calls wait in a queue of their own and are taken together, up to
 * EXECUTOR_BATCH_MAX: all that wait, never waiting for more. They travel in one
 * pipeline, and writes share one commit, so fewer threads at a time that take
 * them make larger batches. Of the two queues the one is served whose first
 * call came first.
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
    int batchers; /* threads that may work off single calls at a time, several calls each; 0: single calls are like others */

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

/* Queues a call that was taken before and comes back, whatever the length of the queue. SERVICE_UNAVAILABLE when the
 * executor stops. */
MUST_CHECK bool executor_submit_again(struct executor *executor, struct call_state *state, struct error *err) NONNULL(1, 2, 3);

/* Finishes what is queued, up to `wait_ms`, then joins the threads. */
void executor_stop(struct executor *executor, int wait_ms) NONNULL(1);
void executor_free(struct executor *executor);

/* Calls waiting now. */
size_t executor_queued(struct executor *executor) NONNULL(1);
