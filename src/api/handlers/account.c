#include "engine/account/account.h"

#include "api/op_context.h"
#include "catalogue/operations.h"

bool op_usage_read(struct op_context *ctx, const struct usage_read_args *args, struct reply *reply, struct error *err)
{
    (void)args;
    struct usage_row *usage;
    if (!account_usage(&ctx->work, &usage, err))
        return false;
    account_write_usage(usage, &reply->json);
    return true;
}

bool op_capabilities_account(struct op_context *ctx, const struct capabilities_account_args *args, struct reply *reply,
                             struct error *err)
{
    (void)args;
    return account_write_facts(&ctx->work, &reply->json, err);
}
