#include "engine/subscriptions/subscriptions.h"
#include "api/op_context.h"
#include "catalogue/jobs.h"
#include "catalogue/operations.h"
#include "engine/preferences/preferences.h"
#include "engine/sends/link_mail.h"

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

static void write_groups(const struct preference_row *groups, size_t count, struct json_writer *json)
{
    if (count == 0)
        return;
    json_key(json, "groups");
    json_array_begin(json);
    for (size_t i = 0; i < count; i++) {
        json_object_begin(json);
        json_member_text(json, "id", groups[i].name);
        json_member_text(json, "title", groups[i].title);
        json_member_bool(json, "chosen", groups[i].is_chosen);
        json_object_end(json);
    }
    json_array_end(json);
}

static bool write_subscription(struct op_context *ctx, const struct unsubscribe_link *link, const struct subscription *subscription,
                               struct reply *reply, struct error *err)
{
    bool is_test = unsubscribe_link_is_test(link);
    struct preference_row *groups;
    size_t count;
    if (!preferences_find(&ctx->work, link, &groups, &count, err))
        return false;
    json_object_begin(&reply->json);
    json_member_text(&reply->json, "brandName", subscription->brand_name);
    json_member_bool(&reply->json, "unsubscribed", subscription->has_left && !is_test);
    json_member_bool(&reply->json, "test", is_test);
    write_groups(groups, count, &reply->json);
    json_object_end(&reply->json);
    return true;
}

bool op_subscriptions_read(struct op_context *ctx, const struct subscriptions_read_args *args, struct reply *reply,
                           struct error *err)
{
    struct unsubscribe_link link;
    struct subscription subscription;
    return open_link(ctx, args->token, &link, &subscription, err) && write_subscription(ctx, &link, &subscription, reply, err);
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
    return write_subscription(ctx, &link, &subscription, reply, err);
}

bool op_subscriptions_choose(struct op_context *ctx, const struct subscriptions_choose_args *args, struct reply *reply,
                             struct error *err)
{
    struct unsubscribe_link link;
    struct subscription subscription;
    struct preference_choice choice = { .groups = args->groups, .subscribes = args->subscribe };
    if (!open_link(ctx, args->token, &link, &subscription, err) || !preferences_choose(&ctx->work, &link, &choice, err) ||
        !subscription_find(&ctx->work, &link, &subscription, err))
        return false;
    if (link.send_id != 0)
        op_context_subject(ctx, work_id(&ctx->work, ID_SEND, link.send_id));
    return write_subscription(ctx, &link, &subscription, reply, err);
}

/* ---- Asking for a link ---- */

static bool open_form(struct op_context *ctx, int64_t brand_id, struct link_form *ret_form, struct error *err)
{
    if (!link_form_find(&ctx->work, brand_id, ret_form, err))
        return false;
    ctx->work.organization_id = ret_form->organization_id;
    ctx->work.brand_id = brand_id;
    return true;
}

static void write_form(const struct link_form *form, struct reply *reply)
{
    json_object_begin(&reply->json);
    json_member_text(&reply->json, "brandName", form->brand_name);
    json_member_bool(&reply->json, "available", form->is_available);
    json_object_end(&reply->json);
}

bool op_subscriptions_form(struct op_context *ctx, const struct subscriptions_form_args *args, struct reply *reply,
                           struct error *err)
{
    struct link_form form;
    if (!open_form(ctx, args->brand, &form, err))
        return false;
    write_form(&form, reply);
    return true;
}

/* Nothing here depends on whether the brand knows the address: neither the answer nor the work. The job finds out. */
bool op_subscriptions_request(struct op_context *ctx, const struct subscriptions_request_args *args, struct reply *reply,
                              struct error *err)
{
    struct link_form form;
    struct send_link_payload payload = { .public_url = ctx->work.engine->public_url };
    if (!link_mail_read_address(&ctx->work, args->email, &payload.email_key, err) || !open_form(ctx, args->brand, &form, err))
        return false;
    write_form(&form, reply);
    return !form.is_available || op_context_enqueue(ctx, reply, send_link_job(ctx->work.arena, &payload), ctx->work.now_us, err);
}

const struct operation *const api_subscription[] = { &operations[OP_SUBSCRIPTIONS_READ], NULL };
const struct operation *const api_unsubscribe[] = { &operations[OP_SUBSCRIPTIONS_LEAVE], NULL };
const struct operation *const api_preferences[] = { &operations[OP_SUBSCRIPTIONS_CHOOSE], NULL };
const struct operation *const api_link_form[] = { &operations[OP_SUBSCRIPTIONS_FORM], NULL };
const struct operation *const api_link_request[] = { &operations[OP_SUBSCRIPTIONS_REQUEST], NULL };
