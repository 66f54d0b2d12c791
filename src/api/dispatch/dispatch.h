/*
 * Call dispatch: the private interface that dispatch.c, the executors, the
 * group commit and the parked calls share. Transports include call.h and
 * service.h only.
 *
 * A pool is one executor with its queue (reads, writes, slow).
 */
#pragma once

#include "api/auth.h"
#include "api/dispatch/activity.h"
#include "api/dispatch/executor.h"
#include "api/dispatch/in_flight_keys.h"
#include "api/dispatch/parked_calls.h"
#include "api/limits/limits.h"
#include "api/op_context.h"
#include "api/service.h"

#include <pthread.h>
#include <stdatomic.h>

enum call_phase { CALL_NEW, CALL_QUEUED, CALL_RUNNING, CALL_PARKED, CALL_DONE };

/* In place of an organization: operations of which one batch runs at a time; and the public calls of the operation INDEX
 * (TURN_PUBLIC - INDEX), or of a connection (lower numbers). */
enum { TURN_ONE_BATCH = -1, TURN_PUBLIC = -3 };

/* The waiting calls of a connection in a pool. Its provider repeats what is refused. */
enum { CONNECTION_WAITING_MAX = 128 };

/* The order of a waiting call: its organization takes turns with others, and its brand with others of the organization. */
struct turn {
    int64_t organization_id; /* 0: calls whose credential is not known yet; or a number in place of an organization */
    uint64_t brand;          /* identifies the brand within the organization; not the key of its row */
    int threads_max;         /* threads that serve the organization at a time; 0: the share of the executor alone */
    size_t waiting_max;      /* calls of the organization that wait; 0: the bound of the executor alone */
};

/* Dispatch's own part of a call, in the call's arena. */
struct call_state {
    struct call *call;
    struct call_state *next; /* in an executor's queue or the list of parked calls */
    struct turn turn;        /* in an executor's queue */
    bool runs_alone;         /* not part of a group commit or batch */
    bool must_read;          /* call->read_input is still to be called, so `op` is not final */
    bool has_principal;      /* call->who is filled: from the cache, or before the input was read */
    bool admitted;           /* passed the checks; they are not repeated when the call is queued again */
    enum call_phase phase;   /* guarded by api->calls_lock once submitted, like the next three */
    bool cancelled;
    bool by_caller;       /* cancelled by the caller, not by the server */
    struct db_conn *conn; /* while the call runs: the connection that api_cancel stops */
    int64_t started_us;   /* monotonic */
    int64_t job_id;       /* the job that a parked call waits for; 0: none */
    int64_t caller;       /* number of this call among the callers of jobs in this process */
    bool committed;       /* the job is committed, so the parked call may be completed */
    int64_t deadline_us;  /* monotonic; of a parked call */
    int64_t retry_at_us;  /* monotonic; when a parked call without a job is queued again */
    uint64_t round_trips;
    double progress_seen;
    int64_t brand_id;
    struct ledger_entry entry;
    unsigned char key_hash[SECRET_HASH_BYTES];
    unsigned char fingerprint[SECRET_HASH_BYTES];
};

struct op_counters {
    _Atomic uint64_t calls;
    _Atomic uint64_t failures;
    _Atomic uint64_t total_us;
};

struct api {
    struct api_config config;
    struct installation *installation;
    struct auth *auth;
    struct limits *limits;
    struct activity *activity;
    struct executor *reads;
    struct executor *writes;
    struct executor *slow;
    struct parked_calls *parked;
    struct in_flight_keys *in_flight;
    pthread_mutex_t calls_lock;
    struct op_counters *counters; /* by operation index */
    struct engine *engine;
};

/* ---- admission.c ---- */

/* Runs the checks that every call passes, in the contract's order. */
MUST_CHECK bool dispatch_admit(struct api *api, struct call_state *state, const struct work *work, struct error *err)
    NONNULL(1, 2, 3, 4);

/* Asks the transport for room for the answer. */
MUST_CHECK bool dispatch_has_room(struct call *call, struct error *err) NONNULL(1, 2);

/* ---- pools.c ---- */

/* Queues a call in its pool. Completes it with an error when the queue is full. */
void dispatch_queue(struct api *api, struct call_state *state) NONNULL(1, 2);

/* False when the organization of the call is not known before its credential is looked up in the database. */
bool dispatch_knows_caller(const struct call_state *state) NONNULL(1) PURE;

/* ---- execution.c ---- */

/* Returns the engine context for a call. */
struct work dispatch_work(struct api *api, const struct call_state *state, struct arena *arena, struct db_conn *conn) NONNULL(1, 2);

/* Fills the reply from a stored response: an idempotent replay, or a settled job. */
void dispatch_answer_stored(struct call *call, int status, const char *body, int64_t credit_cost) NONNULL(1);

/* Marks the call as running. False when the caller has cancelled it. `conn` is the connection that api_cancel stops. It is NULL
 * when the call shares a pipeline with other calls, which must not be stopped. */
MUST_CHECK bool dispatch_start(struct api *api, struct call_state *state, struct db_conn *conn, struct error *err) NONNULL(1, 2, 4);

/* Resets the reply before the handler runs. */
void dispatch_begin_reply(struct call *call) NONNULL(1);
/* Checks the reply after the handler has run. Errors: INTERNAL_ERROR when it is too large. */
MUST_CHECK bool dispatch_check_reply(const struct call *call, struct error *err) NONNULL(1, 2);

/* Checks the handler against its declaration (query budget, no open transaction). Active in checked builds only. */
MUST_CHECK bool dispatch_check_promises(const struct call_state *state, const struct db_conn *conn, struct error *err)
    NONNULL(1, 3);

/* Decodes the arguments, runs the operation's handler and checks its reply. */
MUST_CHECK bool dispatch_handle(struct api *api, struct call_state *state, struct op_context *ctx, struct error *err)
    NONNULL(1, 2, 3, 4);

/* ---- idempotency.c ---- */

/* True when the transport refused the input or the idempotency key is invalid; the error is in `err`. */
bool dispatch_refused_input(const struct call *call, struct error *err) NONNULL(1, 2);

/* Fills `state->entry`, the ledger's record of the call. Errors: INVALID_REQUEST for a bad idempotency key. */
MUST_CHECK bool dispatch_make_entry(struct call_state *state, struct arena *arena, struct error *err) NONNULL(1, 2, 3);

/* Refuses an empty or too long idempotency key, also on reads, where it has no effect. Errors: INVALID_REQUEST. */
MUST_CHECK bool dispatch_check_key(const struct call *call, struct error *err) NONNULL(1, 2);

/* Takes the idempotency key from the body, if the operation declares it there and the call has no other. */
void dispatch_take_body_key(struct call *call) NONNULL(1);

/* True when the call has an idempotency key and its operation honours it. */
bool dispatch_has_key(const struct call *call) NONNULL(1) PURE;

/* Removes the call's idempotency key, if it has one, from the keys in flight. Returns the duplicates that waited for it. */
struct call_state *dispatch_leave_key(struct api *api, const struct call_state *state) NONNULL(1, 2);

/* Queues the duplicates of a call again after that call has completed or was parked. */
void dispatch_queue_duplicates(struct api *api, struct call_state *parked) NONNULL(1);

/* ---- completion.c ---- */

/* Completes a call: updates the counters, writes the log line, calls `on_completed`. `err` is read only when ok is false. */
void dispatch_finish(struct api *api, struct call_state *state, bool ok, const struct error *err) NONNULL(1, 2);

/* The transport's name for the log and the audit row. */
const char *dispatch_transport_name(enum transport transport) RETURNS_NONNULL;

/* ---- write_call.c ---- */

/* Runs an OP_WRITE or OP_JOB call in a transaction, with retries on serialization failures and deadlocks. Sets *ret_parked when
 * the call now waits for a job or for its duplicate; such a call must not be completed by the caller. */
MUST_CHECK bool dispatch_write(struct api *api, struct call_state *state, struct db_conn *conn, bool *ret_parked, struct error *err)
    NONNULL(1, 2, 3, 4, 5);

/* Notifies the job workers of every process. Workers also poll once a second. */
void dispatch_wake_workers(struct db_conn *conn) NONNULL(1);

/* Notifies the steppers of runs in the brand of the work. They also look once a second. */
void dispatch_wake_steppers(const struct work *work) NONNULL(1);

/* ---- read_batch.c ---- */

/* Runs several single reads in one pipeline to completion (read_batch.c). */
void dispatch_run_reads(struct api *api, struct db_conn *conn, struct call_state *const *states, size_t count) NONNULL(1, 2, 3);

/* ---- group_commit.c ---- */

/* Runs single writes in one transaction to completion (group_commit.c). Writes that cannot share it are queued again to run
 * alone. */
void dispatch_run_writes(struct api *api, struct db_conn *conn, struct call_state *const *states, size_t count) NONNULL(1, 2, 3);

/* ---- run_alone.c ---- */

/* The word for a call in the error of base/guard.h about a passed bound of memory. */
#define DISPATCH_GUARDED "call"

/* Runs an OP_MEMORY or OP_READ call. `conn` is NULL for a call that needs no database. */
MUST_CHECK bool dispatch_read(struct api *api, struct call_state *state, struct db_conn *conn, struct error *err) NONNULL(1, 2, 4);

/* Reports progress to a caller that waits (reply->goes_on) and parks the call until it is run again. Once the call is parked,
 * another thread may run it. False: the call is complete. */
bool dispatch_park_waiting(struct api *api, struct call_state *state) NONNULL(1, 2);

/* Runs one call to completion. */
void dispatch_run_alone(struct api *api, struct call_state *state, struct db_conn *conn) NONNULL(1, 2, 3);

/* ---- dispatch.c ---- */

/* Runs calls to completion on an executor's connection. */
void dispatch_run(void *api, struct db_conn *conn, struct call_state *const *states, size_t count);
