#include "cli/rest.h"

#include "api/call.h"
#include "base/buf.h"
#include "base/json_read.h"
#include "base/text.h"
#include "cli/http.h"

#include <string.h>

static void add_target_path(struct buf *target, struct arena *arena, const struct arguments *arguments)
{
    for (const char *at = arguments->op->path; *at != '\0';) {
        size_t plain = strcspn(at, "{");
        buf_add(target, at, plain);
        at += plain;
        if (*at == '\0')
            return;
        size_t size = strcspn(++at, "}");
        buf_add_text(target, percent_encode(arena, json_string_value(json_object_getn(arguments->path, at, size))));
        at += size + 1;
    }
}

static const char *query_value(struct arena *arena, const json_t *value)
{
    if (json_is_string(value))
        return json_string_value(value);
    if (!json_is_array(value))
        return json_compact(arena, value);
    const char *words = "";
    for (size_t i = 0; i < json_array_size(value); i++)
        words = arena_printf(arena, "%s%s%s", words, i > 0 ? "," : "", json_string_value(json_array_get(value, i)));
    return words;
}

static const char *make_target(const struct rest *rest, struct arena *arena, const struct arguments *arguments)
{
    struct buf *target = buf_in_arena(arena, HTTP_ANSWER_MAX_BYTES);
    add_target_path(target, arena, arguments);
    char separator = '?';
    const char *name;
    json_t *value;
    json_object_foreach (arguments->query, name, value) {
        if (json_is_null(value))
            continue;
        buf_printf(target, "%c%s=%s", separator, name, percent_encode(arena, query_value(arena, value)));
        separator = '&';
    }
    return http_url(arena, rest->url, buf_text(target));
}

/* A POST without a body sends an empty one. */
static const char *make_body(struct arena *arena, const struct arguments *arguments)
{
    const char *method = arguments->op->method;
    if (strcmp(method, "GET") == 0 || strcmp(method, "DELETE") == 0)
        return NULL;
    return arguments->has_body ? json_compact(arena, arguments->body) : "";
}

/* A write whose answer was lost may have taken effect. */
static const char *unknown_effect_note(struct arena *arena, const struct operation *op, const char *key)
{
    if (op->mode == OP_READ || op->mode == OP_MEMORY)
        return NULL;
    if (!op->idempotent_key || key == NULL)
        return " It is unknown whether the call took effect.";
    return arena_printf(
        arena, " It is unknown whether the call took effect; repeat it with --idempotency-key '%s' to execute it only once.", key);
}

bool rest_call(const struct rest *rest, struct arena *arena, const struct arguments *arguments, struct rest_answer *ret_answer,
               struct error *err)
{
    const struct operation *op = arguments->op;
    bool has_key = op->idempotent_key && strcmp(op->method, "POST") == 0;
    const char *own = op->key_in_body ? json_get_text(arguments->body, "idempotencyKey") : NULL;
    bool makes_key = has_key && rest->idempotency_key == NULL && own == NULL;
    const char *key = makes_key ? api_request_id(arena) : rest->idempotency_key;
    /* A blank key would give a header without a value. libcurl does not send it, so a retry would have no key. */
    if (key != NULL && key[strspn(key, " \t")] == '\0')
        return fail(err, ERR_INVALID_REQUEST, "idempotencyKey", "An idempotency key must have 1 to 100 characters.");
    struct http_request request = {
        .server = rest->url,
        .method = op->method,
        .url = make_target(rest, arena, arguments),
        .headers = {
            "Content-Type: application/json",
            "Accept: application/json",
            "Expect:",
            rest->key != NULL ? arena_printf(arena, "X-API-Key: %s", rest->key) : NULL,
            rest->brand != NULL ? arena_printf(arena, "X-Brand-Id: %s", rest->brand) : NULL,
            key != NULL ? arena_printf(arena, "Idempotency-Key: %s", key) : NULL,
        },
        .body = make_body(arena, arguments),
        .doubt = unknown_effect_note(arena, op, key),
        .may_repeat = has_key || op->mode == OP_READ || op->mode == OP_MEMORY,
    };
    struct http_answer answer;
    if (!http_send(arena, &request, &answer, err))
        return false;
    *ret_answer = (struct rest_answer){ answer.status, buf_text(answer.body), answer.retry_after_s };
    struct json_bounds bounds = { .max_bytes = HTTP_ANSWER_MAX_BYTES };
    struct error not_json = { .code = ERR_NONE };
    const json_t *json;
    if (json_read(arena, ret_answer->body, answer.body->size, bounds, &json, &not_json) && json_is_object(json))
        return true;
    return fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "%.200s does not answer like a Posthorn server (HTTP %d).", rest->url,
                ret_answer->status);
}
