#include "base/json_read.h"

#include "base/buf.h"
#include "base/json_write.h"
#include "base/text.h"

#include <string.h>

unsigned json_text_depth(const char *text, size_t size)
{
    unsigned depth = 0;
    unsigned deepest = 0;
    bool in_text = false;
    for (size_t i = 0; i < size; i++) {
        char byte = text[i];
        if (in_text) {
            if (byte == '\\')
                i++;
            else if (byte == '"')
                in_text = false;
        } else if (byte == '"') {
            in_text = true;
        } else if (byte == '{' || byte == '[') {
            if (++depth > deepest)
                deepest = depth;
        } else if ((byte == '}' || byte == ']') && depth > 0) {
            depth--;
        }
    }
    return deepest;
}

static void json_release(void *object)
{
    json_decref(object);
}

json_t *json_in_arena(struct arena *arena, json_t *json)
{
    if (json != NULL)
        arena_defer(arena, json_release, json);
    return json;
}

bool json_read(struct arena *arena, const char *text, size_t size, struct json_bounds bounds, const json_t **ret_json,
               struct error *err)
{
    unsigned max_depth = bounds.max_depth != 0 ? bounds.max_depth : (unsigned)JSON_READ_MAX_DEPTH;
    if (size > bounds.max_bytes)
        return fail(err, ERR_PAYLOAD_TOO_LARGE, NULL, "The body has %zu bytes; at most %zu are accepted.", size, bounds.max_bytes);
    if (json_text_depth(text, size) > max_depth)
        return fail(err, ERR_INVALID_REQUEST, NULL, "The JSON is nested deeper than %u levels.", max_depth);

    /* jansson ignores a NUL after a number. */
    if (size > 0 && memchr(text, '\0', size) != NULL)
        return fail(err, ERR_INVALID_REQUEST, NULL, "The body is not valid JSON: it contains a NUL byte.");

    json_error_t problem;
    size_t flags = JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | (bounds.allow_nul ? JSON_ALLOW_NUL : 0);
    json_t *json = json_loadb(text, size, flags, &problem);
    if (json == NULL && json_error_code(&problem) == json_error_null_character)
        return fail(err, ERR_INVALID_REQUEST, NULL,
                    "A text contains the character U+0000, which is not accepted, at line %d, column %d.", problem.line,
                    problem.column);
    if (json == NULL) {
        /* jansson's message quotes the input near the fault; only the position is reported. */
        char reason[sizeof(problem.text)];
        snprintf(reason, sizeof(reason), "%s", problem.text);
        char *near = strstr(reason, " near '");
        if (near != NULL)
            *near = '\0';
        if (!utf8_is_valid(reason, strlen(reason)))
            snprintf(reason, sizeof(reason), "invalid text");
        return fail(err, ERR_INVALID_REQUEST, NULL, "The body is not valid JSON: %s at line %d, column %d.", reason, problem.line,
                    problem.column);
    }
    *ret_json = json_in_arena(arena, json);
    return true;
}

const char *json_get_text(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

int64_t json_get_int(const json_t *object, const char *name, int64_t otherwise)
{
    const json_t *value = json_object_get(object, name);
    return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

bool json_get_bool(const json_t *object, const char *name, bool otherwise)
{
    const json_t *value = json_object_get(object, name);
    return json_is_boolean(value) ? json_is_true(value) : otherwise;
}

/* Adds a number in a form that is parsed as a real again: 1 as 1.0. */
static void add_json_real(struct buf *out, double value)
{
    char digits[JSON_NUMBER_MAX_CHARS];
    size_t size = json_digits(value, digits);
    buf_add(out, digits, size);
    if (strspn(digits, "-0123456789") == size)
        buf_add_text(out, ".0");
}

static void add_json_value(struct buf *out, const json_t *json);

static void add_json_members(struct buf *out, const json_t *object)
{
    const char *name;
    json_t *member;
    const char *before = "{";
    json_object_foreach (json_for_iteration(object), name, member) {
        buf_add_text(out, before);
        json_quote(out, name, strlen(name));
        buf_add_char(out, ':');
        add_json_value(out, member);
        before = ",";
    }
    buf_add_text(out, json_object_size(object) > 0 ? "}" : "{}");
}

static void add_json_items(struct buf *out, const json_t *list)
{
    size_t i;
    const json_t *item;
    buf_add_char(out, '[');
    json_array_foreach (list, i, item) {
        buf_add_text(out, i > 0 ? "," : "");
        add_json_value(out, item);
    }
    buf_add_char(out, ']');
}

static void add_json_value(struct buf *out, const json_t *json)
{
    switch (json_typeof(json)) {
    case JSON_OBJECT:
        add_json_members(out, json);
        return;
    case JSON_ARRAY:
        add_json_items(out, json);
        return;
    case JSON_STRING:
        json_quote(out, json_string_value(json), json_string_length(json));
        return;
    case JSON_INTEGER:
        buf_printf(out, "%lld", (long long)json_integer_value(json));
        return;
    case JSON_REAL:
        add_json_real(out, json_real_value(json));
        return;
    case JSON_TRUE:
        buf_add_text(out, "true");
        return;
    case JSON_FALSE:
        buf_add_text(out, "false");
        return;
    case JSON_NULL:
        buf_add_text(out, "null");
        return;
    }
}

char *json_canonical(struct arena *arena, const json_t *json)
{
    const size_t flags = JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS;
    size_t size = json_dumpb(json, NULL, 0, flags);
    char *text = arena_alloc(arena, size + 1);
    json_dumpb(json, text, size, flags);
    return text;
}

char *json_compact(struct arena *arena, const json_t *json)
{
    BUF_SCOPE text;
    buf_init(&text, SIZE_MAX - 1);
    add_json_value(&text, json); /* jansson would write 0.1 as 0.10000000000000001 */
    return arena_dup_bytes(arena, buf_text(&text), text.size);
}
