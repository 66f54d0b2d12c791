#include "api/op_context.h"

void op_context_subject(struct op_context *ctx, const char *wire_id)
{
    if (ctx->subject_count < OP_CONTEXT_MAX_SUBJECTS)
        ctx->subjects[ctx->subject_count++] = wire_id;
}

bool op_context_enqueue(struct op_context *ctx, struct reply *reply, struct new_job job, int64_t run_after_us, struct error *err)
{
    const struct ledger_entry *settles = ctx->op->mode == OP_JOB ? ctx->entry : NULL;
    if (job.type != ctx->op->job)
        return fail(err, ERR_INTERNAL_ERROR, NULL, "%s does not declare the job %s.", ctx->op->id, job.type->name);
    return ledger_enqueue(&ctx->work, job, run_after_us, settles, &reply->job_id, err);
}
