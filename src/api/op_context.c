#include "api/op_context.h"

void op_context_subject(struct op_context *ctx, const char *wire_id)
{
    if (ctx->subject_count < OP_CONTEXT_MAX_SUBJECTS)
        ctx->subjects[ctx->subject_count++] = wire_id;
}

bool op_context_enqueue(struct op_context *ctx, struct reply *reply, const char *kind, const char *payload_json,
                        int64_t run_after_us, struct error *err)
{
    const struct ledger_entry *settles = ctx->op->mode == OP_JOB ? ctx->entry : NULL;
    return ledger_enqueue(&ctx->work, kind, payload_json, run_after_us, settles, &reply->job_id, err);
}
