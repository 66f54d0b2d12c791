#include "engine/integrations/integrations.h"

#include "api/op_context.h"
#include "catalogue/operations.h"

bool op_integrations_list(struct op_context *ctx, const struct integrations_list_args *args, struct reply *reply, struct error *err)
{
    return integration_list(&ctx->work, args->limit, args->cursor, &reply->json, err);
}
