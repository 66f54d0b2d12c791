/*
 * A request: what a handler sees of a call. Handlers turn arguments into engine
 * calls and the result into the reply; what was checked before they run
 * (credential, limits, brand, scope, idempotency, types) they need not check.
 */
#pragma once

#include "api/call.h"
#include "engine/core/work.h"
#include "engine/ledger/ledger.h"

enum { OP_CONTEXT_MAX_SUBJECTS = 8 };

struct op_context {
    struct work work; /* arena, connection, brand, time */
    const struct operation *op;
    const struct call *call;
    const struct ledger_entry *entry;              /* what the ledger will keep of this call */
    const char *subjects[OP_CONTEXT_MAX_SUBJECTS]; /* wire ids for the audit row */
    size_t subject_count;
};

/* Names an object that this write touched, for the audit row. Beyond OP_CONTEXT_MAX_SUBJECTS it is dropped. */
void op_context_subject(struct op_context *ctx, const char *wire_id) NONNULL(1, 2);

/* Enqueues a job in the call's transaction, to run from `run_after_us` on. In an operation of mode `job` it settles the
 * call and the caller is parked on it; in others the workers are told after the commit. */
MUST_CHECK bool op_context_enqueue(struct op_context *ctx, struct reply *reply, const char *kind, const char *payload_json,
                                   int64_t run_after_us, struct error *err) NONNULL(1, 2, 3, 4, 6);
