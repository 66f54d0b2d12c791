#include "api/call.h"
#include "base/text.h"
#include "crypto/keys.h"

static const char docs_base[] = POSTHORN_DOCS_URL "/errors#";

void api_write_error(struct json_writer *json, const struct error *err)
{
    const struct error_info *info = error_info(err->code);
    json_object_begin(json);
    json_key(json, "error");
    json_object_begin(json);
    json_member_text(json, "code", info->name);
    json_member_text(json, "type", info->type);
    json_member_text(json, "message", err->message);
    if (err->param[0] != '\0')
        json_member_text(json, "param", err->param);
    json_member_text(json, "suggestion", info->suggestion);
    json_key(json, "docs");
    BUF_SCOPE docs;
    buf_init(&docs, 256);
    buf_printf(&docs, "%s%s", docs_base, info->name);
    json_text(json, buf_text(&docs));
    if (err->retry_after_s > 0)
        json_member_int(json, "retryAfter", err->retry_after_s);
    if (err->details_json != NULL)
        json_member_raw(json, "details", err->details_json);
    json_object_end(json);
    json_object_end(json);
}

char *api_request_id(struct arena *arena)
{
    unsigned char bytes[16];
    random_bytes(bytes, sizeof(bytes));
    char hex[2 * sizeof(bytes) + 1];
    hex_encode(bytes, sizeof(bytes), hex);
    return arena_printf(arena, "req_%s", hex);
}
