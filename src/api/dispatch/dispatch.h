/*
 * Inside the service: what dispatch, the executors and the waiting room share.
 * Doors see call.h and service.h only.
 */
#pragma once

#include "api/auth.h"
#include "api/dispatch/executor.h"
#include "api/dispatch/in_flight_keys.h"
#include "api/dispatch/parked_calls.h"
#include "api/limits/limits.h"
#include "api/op_context.h"
#include "api/service.h"

#include <pthread.h>
#include <stdatomic.h>

enum call_phase { CALL_NEW, CALL_QUEUED, CALL_RUNNING, CALL_PARKED, CALL_DONE };

/* Dispatch's own part of a call, in the call's arena. */
struct call_state {
    struct call *call;
    struct call_state *next; /* in an executor's queue or the waiting room */
    uint64_t arrival;        /* among the calls of its executor */
    bool goes_alone;         /* its commit is not shared with others */
    bool has_principal;      /* call->who was found without the database */
    bool admitted;           /* passed the checks; a call that waited for a duplicate does not pass them twice */
    enum call_phase phase;   /* guarded by api->calls_lock once submitted, like the next two */
    bool cancelled;
    struct db_conn *conn; /* while running, so that it can be cancelled */
    int64_t started_us;   /* monotonic */
    int64_t job_id;       /* what a parked call waits for */
    bool committed;       /* its job is, so the waiting room may end it */
    int64_t deadline_us;  /* monotonic; of a parked call */
    int64_t again_us;     /* monotonic; when a parked call without a job is run again */
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
    struct executor *reads;
    struct executor *writes;
    struct executor *slow;
    struct parked_calls *parked;
    struct in_flight_keys *in_flight;
    pthread_mutex_t calls_lock;
    struct op_counters *counters; /* by operation index */
    struct engine *engine;
};

/* The steps every call passes, in the contract's order. */
MUST_CHECK bool dispatch_admit(struct api *api, struct call_state *state, const struct work *work, struct error *err)
    NONNULL(1, 2, 3, 4);

/* Queues a call on its lane, or ends it when the lane is full. */
void dispatch_queue(struct api *api, struct call_state *state) NONNULL(1, 2);

/* Ends a call: counters, log line, then the door's `done`. `err` is looked at when ok is false. */
void dispatch_finish(struct api *api, struct call_state *state, bool ok, const struct error *err) NONNULL(1, 2);

/* Runs calls to their end on an executor's connection. */
void dispatch_run(void *api, struct db_conn *conn, struct call_state *const *states, size_t count);

/* The context of a call's work. */
struct work dispatch_work(struct api *api, const struct call_state *state, struct arena *arena, struct db_conn *conn) NONNULL(1, 2);

/* The door's name in the log and the audit row. */
const char *dispatch_transport_name(enum transport transport) RETURNS_NONNULL;

/* Answers from a stored response: a replay, or a job that has settled. */
void dispatch_answer_stored(struct call *call, int status, const char *body, int64_t credit_cost) NONNULL(1);

/* Takes the call for running; false when its caller has gone meanwhile. `conn` is what api_cancel may stop; NULL when its
 * statements travel with those of others, which must not be stopped. */
MUST_CHECK bool dispatch_start(struct api *api, struct call_state *state, struct db_conn *conn, struct error *err) NONNULL(1, 2, 4);

/* An empty reply, and whether what a handler made of it may be sent. */
void dispatch_begin_reply(struct call *call) NONNULL(1);
MUST_CHECK bool dispatch_check_reply(const struct call *call, struct error *err) NONNULL(1, 2);

/* What a handler promised by its declaration; a broken promise is a fault of ours, seen in checked builds only. */
MUST_CHECK bool dispatch_check_promises(const struct call_state *state, const struct db_conn *conn, struct error *err)
    NONNULL(1, 3);

/* True, with the fault in `err`, when the input was refused before the call began, or a read came with an impossible key. */
bool dispatch_refused_input(const struct call *call, struct error *err) NONNULL(1, 2);

/* Hands the arguments to the operation's handler and checks what it may not do. */
MUST_CHECK bool dispatch_handle(struct api *api, struct call_state *state, struct op_context *ctx, struct error *err)
    NONNULL(1, 2, 3, 4);

/* An OP_WRITE or OP_JOB call in its transaction; retried when the database asks for it. Sets *ret_parked when the
 * call now waits for a job or for its duplicate and must not be finished. */
MUST_CHECK bool dispatch_write(struct api *api, struct call_state *state, struct db_conn *conn, bool *ret_parked, struct error *err)
    NONNULL(1, 2, 3, 4, 5);

/* What the ledger will keep of the call, in `state->entry`. Errors: INVALID_REQUEST for a bad idempotency key. */
MUST_CHECK bool dispatch_make_entry(struct call_state *state, struct arena *arena, struct error *err) NONNULL(1, 2, 3);

/* Refuses a key that is empty or too long, where keys are honoured or only read over. Errors: INVALID_REQUEST. */
MUST_CHECK bool dispatch_check_key(const struct call *call, struct error *err) NONNULL(1, 2);

/* Whether the call has an idempotency key that its operation honours. */
bool dispatch_has_key(const struct call *call) NONNULL(1) PURE;

/* Takes the call's idempotency key, if it has one, from the calls at work, and gives its duplicates. */
struct call_state *dispatch_leave_key(struct api *api, const struct call_state *state) NONNULL(1, 2);

/* Lets the duplicates of a call that has ended, or waits again, go on. */
void dispatch_queue_duplicates(struct api *api, struct call_state *parked) NONNULL(1);

/* Tells workers of every process that a job waits. They also look by themselves once a second. */
void dispatch_wake_workers(struct db_conn *conn) NONNULL(1);

/* Several single reads in one pipeline, to their end (read_batch.c). */
void dispatch_run_reads(struct api *api, struct db_conn *conn, struct call_state *const *states, size_t count) NONNULL(1, 2, 3);

/* Single writes in one transaction, to their end; those that cannot share it are queued again to go alone (write_batch.c). */
void dispatch_run_writes(struct api *api, struct db_conn *conn, struct call_state *const *states, size_t count) NONNULL(1, 2, 3);
