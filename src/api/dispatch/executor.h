/*
 * Executor: a bounded queue of calls and a thread pool of workers. Each thread
 * has its own database connection, so the executors are also the connection pool
 * of the service. A call passes from an I/O thread to the queue, to an executor
 * thread, and back to an I/O thread. Separate executors
 * (pools) keep slow calls from delaying quick ones. Threads start when there is
 * work, so an idle process has none.
 *
 * `single` calls are taken together: a thread takes all that wait, up to
 * EXECUTOR_BATCH_MAX, and never waits for more. A batch uses one pipeline, and
 * its writes share one commit (group commit), so fewer batching threads make
 * larger batches. Single and other calls are served in turns.
 *
 * Organizations and their brands are served in turns (fair_queue.h). One
 * organization has at most all threads but one, or fewer while another one has
 * calls (activity.h), and its waiting calls fill at most a part of the queue.
 */
#pragma once

#include "base/error.h"
#include "db/db.h"

enum { EXECUTOR_BATCH_MAX = 64, EXECUTOR_QUEUE_SHARES = 4 };

struct activity;
struct executor;
struct call_state;

struct executor_config {
    const char *name;          /* of its threads, too */
    int threads;               /* one organization has at most all but one of them; 1: no thread is kept free */
    size_t queue_max;          /* waiting calls of one organization; EXECUTOR_QUEUE_SHARES times as many of all together */
    int share_beside;          /* threads of an organization while another one is active; 0: all but one */
    int parallel_calls;        /* slow calls at a time whose queries may have several server processes */
    bool is_slow;              /* its threads delay no quick work (base/scheduling.h) */
    struct activity *activity; /* where calls are noted; NULL: nowhere */
    int batchers; /* threads that may run batches of single calls at a time, bounded like `threads`; 0: single calls are
                     queued like others */

    /* Runs one or several calls to completion on `conn`. */
    void (*run)(void *context, struct db_conn *conn, struct call_state *const *states, size_t count);
    /* Completes a call that never ran. */
    void (*refuse)(void *context, struct call_state *state, const struct error *why);
    /* Notes the organizations whose campaigns are being delivered; at the beginning of slow calls. NULL: nothing is noted. */
    void (*look)(void *context, struct db_conn *conn);
    /* Stores for other processes which organizations have calls; after calls, about once a second. NULL: nothing is stored. */
    void (*tell)(void *context, struct db_conn *conn, const int64_t *organization_ids, size_t count);
    /* Opens the connection of a new thread. */
    bool (*connect)(void *context, struct db_conn **ret_conn, struct error *err);
    void *context;
};

struct executor *executor_new(const struct executor_config *config) NONNULL(1) RETURNS_NONNULL;

/* Queues a call by its state->turn. Errors: SERVICE_UNAVAILABLE when too many calls wait or the executor stops. */
MUST_CHECK bool executor_submit(struct executor *executor, struct call_state *state, bool is_single, struct error *err)
    NONNULL(1, 2, 4);

/* Queues a call that was accepted before, whatever the length of the queue. Errors: SERVICE_UNAVAILABLE when the executor stops. */
MUST_CHECK bool executor_submit_again(struct executor *executor, struct call_state *state, struct error *err) NONNULL(1, 2, 3);

/* Runs the queued calls for at most `wait_ms`, refuses the rest, then joins the threads. */
void executor_stop(struct executor *executor, int wait_ms) NONNULL(1);
void executor_free(struct executor *executor);

/* Number of calls in the queue. */
size_t executor_queued(struct executor *executor) NONNULL(1);
