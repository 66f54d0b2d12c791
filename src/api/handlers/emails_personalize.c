#include "api/op_context.h"
#include "catalogue/operations.h"
#include "engine/emails/personalize.h"

bool op_emails_personalize(struct op_context *ctx, const struct emails_personalize_args *args, struct reply *reply,
                           struct error *err)
{
    const struct email_personalization personalization = {
        .email_id = args->email_id,
        .version_id = args->email_version_id,
        .contact = args->contact,
        .sample = args->sample,
        .payload = args->payload,
        .with_html = (args->include & EMAILS_PERSONALIZE_INCLUDE_HTML) != 0,
    };
    return email_personalize(&ctx->work, &personalization, &reply->json, err);
}
