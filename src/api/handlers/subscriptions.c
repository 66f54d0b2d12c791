#include "engine/subscriptions/subscriptions.h"
#include "api/op_context.h"
#include "catalogue/operations.h"

/* The token is the credential: only the recipient received it. It names the brand. */
static bool open_link(struct op_context *ctx, const char *token, struct unsubscribe_link *ret_link,
                      struct subscription *ret_subscription, struct error *err)
{
    if (!unsubscribe_token_open(ctx->work.engine, ctx->work.arena, token, ret_link))
        return fail(err, ERR_NOT_FOUND, "token", "This link is incomplete, or it is not a link of this installation.");
    if (!subscription_find(&ctx->work, ret_link, ret_subscription, err))
        return false;
    ctx->work.organization_id = ret_subscription->organization_id;
    ctx->work.brand_id = ret_link->brand_id;
    return true;
}

static bool write_subscription(const struct unsubscribe_link *link, const struct subscription *subscription, struct reply *reply)
{
    bool is_test = link->send_id == 0;
    json_object_begin(&reply->json);
    json_member_text(&reply->json, "brandName", subscription->brand_name);
    json_member_bool(&reply->json, "unsubscribed", subscription->has_left && !is_test);
    json_member_bool(&reply->json, "test", is_test);
    json_object_end(&reply->json);
    return true;
}

bool op_subscriptions_read(struct op_context *ctx, const struct subscriptions_read_args *args, struct reply *reply,
                           struct error *err)
{
    struct unsubscribe_link link;
    struct subscription subscription;
    return open_link(ctx, args->token, &link, &subscription, err) && write_subscription(&link, &subscription, reply);
}

bool op_subscriptions_leave(struct op_context *ctx, const struct subscriptions_leave_args *args, struct reply *reply,
                            struct error *err)
{
    struct unsubscribe_link link;
    struct subscription subscription;
    if (!open_link(ctx, args->token, &link, &subscription, err) || !subscription_leave(&ctx->work, &link, err))
        return false;
    if (link.send_id != 0)
        op_context_subject(ctx, work_id(&ctx->work, ID_SEND, link.send_id));
    subscription.has_left = true;
    return write_subscription(&link, &subscription, reply);
}

const struct operation *const api_subscription[] = { &operations[OP_SUBSCRIPTIONS_READ], NULL };
const struct operation *const api_unsubscribe[] = { &operations[OP_SUBSCRIPTIONS_LEAVE], NULL };
