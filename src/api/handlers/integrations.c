#include "engine/integrations/integrations.h"
#include "api/op_context.h"
#include "catalogue/operations.h"
#include "engine/integrations/receive.h"

bool op_integrations_list(struct op_context *ctx, const struct integrations_list_args *args, struct reply *reply, struct error *err)
{
    return integration_list(&ctx->work, args->limit, args->cursor, &reply->json, err);
}

/* The provider proves itself by a header; the connection names the brand. */
bool op_integrations_receive(struct op_context *ctx, const struct integrations_receive_args *args, struct reply *reply,
                             struct error *err)
{
    struct integration_delivery delivery = {
        .provider = args->provider,
        .connection = args->connection,
        .body = args->content,
        .headers = args->headers,
    };
    enum integration_outcome outcome;
    int64_t instance_id;
    if (!integration_delivery_check(&ctx->work, &delivery, err))
        return false;
    ctx->work.organization_id = delivery.organization_id;
    ctx->work.brand_id = delivery.brand_id;
    if (!integration_delivery_apply(&ctx->work, &delivery, &outcome, &instance_id, err))
        return false;
    reply->starts_runs = outcome == INTEGRATION_FIRED;
    op_context_subject(ctx, args->connection);
    json_object_begin(&reply->json);
    json_member_text(&reply->json, "outcome", integration_outcome_name(outcome));
    if (instance_id != 0)
        json_member_id(&reply->json, &ctx->work, "triggerInstanceId", ID_INSTANCE, instance_id);
    json_object_end(&reply->json);
    return true;
}

const struct operation *const api_integration_event[] = { &operations[OP_INTEGRATIONS_RECEIVE], NULL };
