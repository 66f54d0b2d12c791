/*
 * Inside the service: what dispatch, the executors and the waiting room share.
 * Doors see call.h and service.h only.
 */
#pragma once

#include "api/auth.h"
#include "api/duplicates.h"
#include "api/executor.h"
#include "api/limits.h"
#include "api/request.h"
#include "api/service.h"
#include "api/waiting.h"

#include <pthread.h>
#include <stdatomic.h>

enum call_phase { CALL_NEW, CALL_QUEUED, CALL_RUNNING, CALL_PARKED, CALL_DONE };

/* Dispatch's own part of a call, in the call's arena. */
struct call_state {
    struct call *call;
    struct call_state *next; /* in an executor's queue or the waiting room */
    bool is_single;
    bool has_principal;      /* call->who was found without the database */
    bool admitted;           /* passed the checks; a call that waited for a duplicate does not pass them twice */
    enum call_phase phase;   /* guarded by api->calls_lock once submitted, like the next two */
    bool cancelled;
    struct db_conn *conn;    /* while running, so that it can be cancelled */
    int64_t started_us;      /* monotonic */
    int64_t job_id;          /* what a parked call waits for */
    bool committed;          /* its job is, so the waiting room may end it */
    int64_t deadline_us;     /* monotonic; of a parked call */
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
    struct waiting *waiting;
    struct duplicates *duplicates;
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
const char *dispatch_door_name(enum door door) RETURNS_NONNULL;

/* Answers from a stored response: a replay, or a job that has settled. */
void dispatch_answer_stored(struct call *call, int status, const char *body, int64_t credit_cost) NONNULL(1);

/* Hands the arguments to the operation's handler and checks what it may not do. */
MUST_CHECK bool dispatch_handle(struct api *api, struct call_state *state, struct request *rq, struct error *err) NONNULL(1, 2, 3, 4);

/* An OP_WRITE or OP_JOB call in its transaction; retried when the database asks for it. Sets *ret_parked when the
 * call now waits for a job or for its duplicate and must not be finished. */
MUST_CHECK bool dispatch_write(struct api *api, struct call_state *state, struct db_conn *conn, bool *ret_parked, struct error *err)
    NONNULL(1, 2, 3, 4, 5);
