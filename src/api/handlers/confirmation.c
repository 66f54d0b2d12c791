#include "api/handlers/confirmation.h"

static void reply_unchanged(struct reply *reply)
{
    reply->status = 200;
    reply->keep_no_key = true;
}

void confirmation_reply(struct reply *reply, const char *token, const char *question)
{
    reply_unchanged(reply);
    reply->confirmation = token;
    reply->question = question;
}

bool confirmation_decline(struct op_context *ctx, const struct confirm_kind *kind, struct reply *reply, struct error *err)
{
    if (!confirm_token_decline(&ctx->work, kind, ctx->call->confirmation, ctx->call->who.key_id, err))
        return false;
    reply_unchanged(reply);
    confirm_write_declined(kind, &reply->json);
    return true;
}
