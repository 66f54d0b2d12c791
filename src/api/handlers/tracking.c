#include "api/op_context.h"
#include "base/json_read.h"
#include "catalogue/operations.h"
#include "engine/hits/hits.h"
#include "engine/tracking/link_table.h"
#include "engine/tracking/link_token.h"

#include <arpa/inet.h>

/* The token is the credential: only the recipient received it. */
static bool open_token(const struct op_context *ctx, const char *text, struct link_token *ret_token, struct error *err)
{
    return link_token_open(ctx->work.engine, ctx->work.arena, text, ret_token) ||
           fail(err, ERR_NOT_FOUND, "token", "This link is incomplete, or it is not a link of this installation.");
}

/* ---- tracking.links ---- */

static const char *target_of(const struct link_token *token, const struct link_table *table)
{
    const json_t *link = json_array_get(table->links, token->number);
    if (token->target != NULL || link == NULL || json_get_bool(link, "merged", false))
        return token->target;
    return json_get_text(link, "target");
}

bool op_tracking_links(struct op_context *ctx, const struct tracking_links_args *args, struct reply *reply, struct error *err)
{
    struct link_token token;
    struct link_table *table;
    if (!open_token(ctx, args->token, &token, err) || !link_table_find(&ctx->work, &token.owner, &table, err))
        return false;
    if (table == NULL)
        return fail(err, ERR_NOT_FOUND, "token", "The message of this link does not exist any more.");
    json_object_begin(&reply->json);
    json_member_int(&reply->json, "number", token.number);
    json_member_text(&reply->json, "target", target_of(&token, table));
    json_member_text(&reply->json, "domain", table->domain);
    json_member_raw(&reply->json, "links", json_compact(ctx->work.arena, table->links));
    json_object_end(&reply->json);
    return true;
}

/* ---- tracking.record, part of a group commit ---- */

/* The address, when it is one. It comes from a header that anybody can write. */
static const char *client_address(const char *text)
{
    unsigned char bytes[sizeof(struct in6_addr)];
    bool is_address = text != NULL && (inet_pton(AF_INET, text, bytes) == 1 || inet_pton(AF_INET6, text, bytes) == 1);
    return is_address ? text : NULL;
}

static const char *method_name(enum hit_method method)
{
    static const char *const names[] = { [HIT_METHOD_GET] = "GET", [HIT_METHOD_HEAD] = "HEAD", [HIT_METHOD_POST] = "POST" };
    return names[method];
}

static bool record_check(struct op_context *ctx, const void *raw_args, void **ret_kept, const char **ret_lock_key,
                         struct error *err)
{
    const struct tracking_record_args *args = raw_args;
    struct link_token token;
    if (!open_token(ctx, args->token, &token, err))
        return false;
    bool is_open = token.number == LINK_NUMBER_OPEN;
    struct hit *hit = arena_alloc(ctx->work.arena, sizeof(*hit));
    *hit = (struct hit){
        .id = args->id,
        .brand_id = token.owner.brand_id,
        .send_id = token.owner.send_id,
        .ordinal = token.owner.ordinal,
        .kind = is_open ? HIT_OPEN : HIT_CLICK,
        .link = is_open ? -1 : token.number,
        .method = method_name(args->method),
        .agent = args->agent != NULL ? args->agent : "",
        .address = client_address(args->address),
        .url = is_open ? NULL : token.target,
        .at_us = args->at.set ? args->at.value : ctx->work.now_us,
    };
    *ret_kept = hit;
    *ret_lock_key = arena_printf(ctx->work.arena, "%lld.%lld", (long long)hit->at_us, (long long)hit->id);
    return true;
}

static void record_ask(const struct single_write *writes, size_t count, struct db_batch *batch)
{
    const struct work *work = &writes[0].ctx->work;
    struct hit *hits = arena_array(work->arena, count, sizeof(*hits));
    for (size_t i = 0; i < count; i++)
        hits[i] = *(const struct hit *)writes[i].kept;
    hits_add(work, batch, hits, count);
}

static bool record_reply(struct op_context *ctx, void *hit, const struct db_batch *batch, struct reply *reply, struct error *err)
{
    (void)ctx;
    (void)hit;
    (void)batch;
    (void)err;
    json_object_begin(&reply->json);
    json_member_bool(&reply->json, "recorded", true);
    json_object_end(&reply->json);
    return true;
}

const struct op_single_write op_tracking_record_single = { .check = record_check, .ask = record_ask, .reply = record_reply };

const struct operation *const api_tracked_links[] = { &operations[OP_TRACKING_LINKS], NULL };
const struct operation *const api_tracked_request[] = { &operations[OP_TRACKING_RECORD], NULL };
