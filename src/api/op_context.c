#include "api/op_context.h"

void op_context_subject(struct op_context *ctx, const char *wire_id)
{
    if (ctx->subject_count < OP_CONTEXT_MAX_SUBJECTS)
        ctx->subjects[ctx->subject_count++] = wire_id;
}

bool op_context_check_id(const struct op_context *ctx, enum id_kind kind, const char *param, const char *text,
                         enum error_code advice, struct error *err)
{
    if (!work_is_for_assistant(&ctx->work) || id_has_form(kind, text))
        return true;
    return fail(err, ERR_INVALID_REQUEST, param, "%.64s is no %s, so nothing was deleted.", text, param) ||
           error_advise(err, advice, ERR_NONE);
}

bool op_context_enqueue(struct op_context *ctx, struct reply *reply, struct new_job job, int64_t run_after_us, struct error *err)
{
    struct ledger_entry entry = { .operation = NULL };
    bool settles_call = ctx->op->mode == OP_JOB;
    bool has_entry = settles_call || ctx->op->job_charges;
    if (job.type != ctx->op->job)
        return fail(err, ERR_INTERNAL_ERROR, NULL, "%s does not declare the job %s.", ctx->op->id, job.type->name);
    if (has_entry) {
        entry = *ctx->entry;
        entry.hold = entry.credits * (ctx->items > 0 ? ctx->items : 1);
    }
    /* The call itself stores its response. */
    if (!settles_call)
        entry.idempotency_key = entry.fingerprint = NULL;
    return ledger_enqueue(&ctx->work, job, run_after_us, has_entry ? &entry : NULL, &reply->job_id, err);
}
