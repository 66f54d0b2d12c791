#include "engine/api_keys/api_keys.h"

#include "api/key_scopes.h"
#include "api/op_context.h"
#include "catalogue/operations.h"
#include "engine/core/page.h"

/* Writes the members of the resource "apiKey" into an open object. */
static void write_key_members(const struct op_context *ctx, const struct api_key_row *key, struct json_writer *json)
{
    api_key_write_members(&ctx->work, key, json);
    json_key(json, "permissions");
    key_scopes_write(json, (uint32_t)key->scopes);
}

bool op_api_keys_list(struct op_context *ctx, const struct api_keys_list_args *args, struct reply *reply, struct error *err)
{
    static const char binding[] = "apiKeys.list";
    struct page_cursor cursor_at;
    if (!page_cursor_read(&ctx->work, binding, args->cursor, &cursor_at, err))
        return false;
    struct api_key_page_params params = {
        .organization_id = ctx->work.organization_id,
        .before_id = cursor_at.id,
        .limit = args->limit + 1,
    };
    struct api_key_row *keys;
    struct db_page found;
    if (!sql_api_key_page(ctx->work.conn, ctx->work.arena, &params, &keys, &found, err))
        return false;

    struct json_writer *json = &reply->json;
    struct page page = page_begin(json, args->limit, found);
    while (page_next_row(&page)) {
        json_object_begin(json);
        write_key_members(ctx, &keys[page.shown - 1], json);
        json_object_end(json);
    }
    struct page_cursor end = { .id = page.shown > 0 ? keys[page.shown - 1].id : 0 };
    page_end(&page, &ctx->work, binding, end);
    json_object_end(json);
    return true;
}

bool op_api_keys_create(struct op_context *ctx, const struct api_keys_create_args *args, struct reply *reply, struct error *err)
{
    struct api_key_fields fields = {
        .organization_id = ctx->work.organization_id,
        .brand_id = args->brand_id,
        .name = args->name,
        .rate_multiplier = 1,
    };
    struct api_key_row *key;
    const char *secret;
    if (!key_scopes_read(args->permissions.items, args->permissions.count, "permissions", &fields.scopes, err) ||
        !api_key_create(&ctx->work, &fields, &key, &secret, err))
        return false;
    op_context_subject(ctx, work_id(&ctx->work, ID_KEY, key->id));
    struct json_writer *json = &reply->json;
    json_object_begin(json);
    json_member_text(json, "key", secret);
    json_member_text(json, "message", "Save this key now; it is not shown again.");
    write_key_members(ctx, key, json);
    json_object_end(json);
    return true;
}

bool op_api_keys_revoke(struct op_context *ctx, const struct api_keys_revoke_args *args, struct reply *reply, struct error *err)
{
    bool revoked;
    struct opt_int revoked_at;
    if (!api_key_revoke(&ctx->work, args->key_id, false, &revoked, &revoked_at, err))
        return false;
    if (revoked)
        op_context_subject(ctx, args->key_id);
    reply->changes_credentials = revoked;
    struct json_writer *json = &reply->json;
    json_object_begin(json);
    json_member_text(json, "keyId", args->key_id);
    json_member_bool(json, "deleted", revoked);
    json_member_time_if(json, "revokedAt", revoked_at);
    json_object_end(json);
    return true;
}
