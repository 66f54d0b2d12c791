#include "base/json_read.h"

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

    /* jansson passes over a NUL behind a number. */
    if (size > 0 && memchr(text, '\0', size) != NULL)
        return fail(err, ERR_INVALID_REQUEST, NULL, "The body is not valid JSON: it holds a NUL byte.");

    json_error_t problem;
    size_t flags = JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | (bounds.allow_nul ? JSON_ALLOW_NUL : 0);
    json_t *json = json_loadb(text, size, flags, &problem);
    if (json == NULL && json_error_code(&problem) == json_error_null_character)
        return fail(err, ERR_INVALID_REQUEST, NULL,
                    "A text holds the character U+0000, which is not accepted, at line %d, column %d.", problem.line,
                    problem.column);
    if (json == NULL) {
        /* jansson quotes the input near the fault; only the place is passed on. */
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

static char *dump_in_arena(struct arena *arena, const json_t *json, size_t flags)
{
    flags |= JSON_COMPACT | JSON_ENCODE_ANY;
    size_t size = json_dumpb(json, NULL, 0, flags);
    char *text = arena_alloc(arena, size + 1);
    json_dumpb(json, text, size, flags);
    return text;
}

char *json_canonical(struct arena *arena, const json_t *json)
{
    return dump_in_arena(arena, json, JSON_SORT_KEYS);
}

char *json_compact(struct arena *arena, const json_t *json)
{
    return dump_in_arena(arena, json, 0);
}
