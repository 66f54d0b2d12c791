#include "engine/quality/audits.h"
#include "api/op_context.h"
#include "catalogue/jobs.h"
#include "catalogue/operations.h"

static bool enqueue(struct op_context *ctx, struct audit_subject *subject, struct reply *reply, struct error *err)
{
    if (!audit_check(&ctx->work, subject, err))
        return false;
    struct audit_email_payload payload = {
        .email_id = subject->email_id,
        .version_id = subject->version_id,
        .is_accessibility = subject->kind == AUDIT_ACCESSIBILITY,
        .purpose = subject->purpose,
    };
    return op_context_enqueue(ctx, reply, audit_email_job(ctx->work.arena, &payload), ctx->work.now_us, err);
}

bool op_emails_audit(struct op_context *ctx, const struct emails_audit_args *args, struct reply *reply, struct error *err)
{
    struct audit_subject subject = {
        .email_id = args->email_id,
        .version_id = args->email_version_id,
        .purpose = args->sending_purpose != AUDIT_PURPOSE_ABSENT ? audit_purpose_names[args->sending_purpose - 1] : NULL,
    };
    return enqueue(ctx, &subject, reply, err);
}

bool op_emails_audit_accessibility(struct op_context *ctx, const struct emails_audit_accessibility_args *args, struct reply *reply,
                                   struct error *err)
{
    struct audit_subject subject = { .email_id = args->email_id, .kind = AUDIT_ACCESSIBILITY };
    return enqueue(ctx, &subject, reply, err);
}

bool op_emails_get_audit(struct op_context *ctx, const struct emails_get_audit_args *args, struct reply *reply, struct error *err)
{
    return audit_read(&ctx->work, args->audit_id, args->limit, args->cursor, &reply->json, err);
}

bool op_emails_audits(struct op_context *ctx, const struct emails_audits_args *args, struct reply *reply, struct error *err)
{
    return audit_list(&ctx->work, args->email_id, args->limit, args->cursor, &reply->json, err);
}
