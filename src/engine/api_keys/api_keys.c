#include "engine/api_keys/api_keys.h"

#include "base/text.h"

#include <string.h>

enum { PREVIEW_CHARS = 8 };

static bool check_key_name(const char *name, struct error *err)
{
    return utf8_has_length(name, 1, API_KEY_NAME_MAX_CHARS) ||
           fail(err, ERR_INVALID_REQUEST, "name", "name must have 1 to %d characters.", API_KEY_NAME_MAX_CHARS);
}

static bool check_key_brand(const struct work *work, const struct api_key_fields *fields, struct error *err)
{
    if (fields->brand_id == 0)
        return true;
    struct api_key_brand_params params = { .organization_id = fields->organization_id, .brand_id = fields->brand_id };
    struct api_key_brand_row *row;
    if (!sql_api_key_brand(work->conn, work->arena, &params, &row, err))
        return false;
    return row != NULL || fail(err, ERR_BRAND_NOT_FOUND, "brandId", "No brand with this id in the organization.");
}

bool api_key_create(const struct work *work, const struct api_key_fields *fields, struct api_key_row **ret_key,
                    const char **ret_secret, struct error *err)
{
    const char *name = fields->name != NULL ? fields->name : "API key";
    if (!check_key_name(name, err) || !check_key_brand(work, fields, err))
        return false;
    const char *secret = api_key_new(work->arena);
    unsigned char hash[SECRET_HASH_BYTES];
    secret_hash(secret, hash);
    struct api_key_insert_params params = {
        .organization_id = fields->organization_id,
        .brand_id = { .set = fields->brand_id != 0, .value = fields->brand_id },
        .name = name,
        .secret_hash = { hash, sizeof(hash) },
        .preview = arena_printf(work->arena, "%.*s…", PREVIEW_CHARS, secret),
        .scopes = fields->scopes,
        .rate_multiplier = fields->rate_multiplier,
        .now = work->now_us,
    };
    *ret_secret = secret;
    return sql_api_key_insert(work->conn, work->arena, &params, ret_key, err);
}

bool api_key_revoke(const struct work *work, const char *wire_id, bool any_organization, bool *ret_revoked,
                    struct opt_int *ret_revoked_at, struct error *err)
{
    struct api_key_revoke_params params = {
        .organization_id = any_organization ? 0 : work->organization_id,
        .id = id_decode(&work->engine->ids, ID_KEY, wire_id),
        .now = work->now_us,
    };
    struct api_key_revoke_row *row;
    if (!sql_api_key_revoke(work->conn, work->arena, &params, &row, err))
        return false;
    *ret_revoked = row != NULL && row->revoked_now;
    *ret_revoked_at = (struct opt_int){ .set = row != NULL, .value = row != NULL ? row->revoked_at : 0 };
    return true;
}

void api_key_write_members(const struct work *work, const struct api_key_row *key, struct json_writer *json)
{
    json_member_id(json, work, "keyId", ID_KEY, key->id);
    json_member_text(json, "name", key->name);
    json_member_text(json, "keyPreview", key->preview);
    json_member_text(json, "status", key->revoked_at.set ? "revoked" : "active");
    json_member_id_if(json, work, "brandId", ID_BRAND, key->brand_id);
    json_member_time(json, "createdAt", key->created_at);
    json_member_time_if(json, "lastUsedAt", key->last_used_at);
    json_member_time_if(json, "revokedAt", key->revoked_at);
}
