/*
 * Operation context: the part of a call that a handler sees. Handlers turn
 * arguments into engine calls and the result into the reply. The checks of
 * credential, limits, brand, scope, idempotency and types have passed before a
 * handler runs.
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
    const struct ledger_entry *entry;              /* the ledger's record of this call */
    const char *subjects[OP_CONTEXT_MAX_SUBJECTS]; /* wire ids for the audit row */
    size_t subject_count;
    int64_t items; /* of PRICE_PER_ITEM: the job holds the price of so many; 0: of one */
};

/* Adds the id of an object that this write changed to the audit row. Ids beyond OP_CONTEXT_MAX_SUBJECTS are dropped. */
void op_context_subject(struct op_context *ctx, const char *wire_id) NONNULL(1, 2);

/* Refuses a text of an assistant that is not an id of this kind, such as a title, and advises it as `advice` does. Other callers
 * get the contract's answer to an id that does not exist. Errors: INVALID_REQUEST with this param. */
MUST_CHECK bool op_context_check_id(const struct op_context *ctx, enum id_kind kind, const char *param, const char *text,
                                    enum error_code advice, struct error *err) NONNULL(1, 3, 4, 6);

/* Enqueues the job that the operation declares in the call's transaction, to run from `run_after_us` on. In an operation of mode
 * `job` the caller is parked until the job settles. In other modes the workers are notified after the commit. */
MUST_CHECK bool op_context_enqueue(struct op_context *ctx, struct reply *reply, struct new_job job, int64_t run_after_us,
                                   struct error *err) NONNULL(1, 2, 5);
