#include "engine/core/job_payload.h"

#include "base/json_read.h"
#include "base/json_write.h"

#include <string.h>

/* The JSON writer takes room for the escapes of a text before it writes the text. */
enum { WRITER_ROOM_BYTES = 4096 };

/* ---- Encoding ---- */

static void write_integer(const struct payload_member *member, const void *value, struct json_writer *json)
{
    const struct opt_int *optional = value;
    if (!member->optional)
        json_member_int(json, member->name, *(const int64_t *)value);
    else if (optional->set)
        json_member_int(json, member->name, optional->value);
}

static void write_boolean(const struct payload_member *member, const void *value, struct json_writer *json)
{
    const struct opt_bool *optional = value;
    if (!member->optional)
        json_member_bool(json, member->name, *(const bool *)value);
    else if (optional->set)
        json_member_bool(json, member->name, optional->value);
}

static void write_text(const struct payload_member *member, const void *value, struct json_writer *json)
{
    const char *text = *(const char *const *)value;
    if (!member->optional || text != NULL)
        json_member_text(json, member->name, text);
}

static void write_texts(const struct payload_member *member, const void *value, struct json_writer *json)
{
    const struct text_list *list = value;
    if (member->optional && list->items == NULL)
        return;
    json_member_texts(json, member->name, *list);
}

static void write_list(struct arena *arena, const struct payload_member *member, const void *value, struct json_writer *json)
{
    const json_t *list = *(const json_t *const *)value;
    if (!member->optional || list != NULL)
        json_member_raw(json, member->name, list != NULL ? json_compact(arena, list) : NULL);
}

static void write_member(struct arena *arena, const struct payload_member *member, const void *payload, struct json_writer *json)
{
    const void *value = (const char *)payload + member->offset;
    switch (member->kind) {
    case PAYLOAD_INTEGER:
        write_integer(member, value, json);
        break;
    case PAYLOAD_BOOLEAN:
        write_boolean(member, value, json);
        break;
    case PAYLOAD_TEXT:
        write_text(member, value, json);
        break;
    case PAYLOAD_TEXTS:
        write_texts(member, value, json);
        break;
    case PAYLOAD_LIST:
        write_list(arena, member, value, json);
        break;
    }
}

const char *job_pool_name(const struct job_declaration *type)
{
    return type->pool;
}

struct new_job job_payload_encode(struct arena *arena, const struct job_declaration *type, const void *payload)
{
    struct buf *out = buf_in_arena(arena, type->max_bytes + WRITER_ROOM_BYTES);
    struct json_writer json;
    json_writer_init(&json, out);
    json_object_begin(&json);
    for (size_t i = 0; i < type->member_count; i++)
        write_member(arena, &type->members[i], payload, &json);
    json_object_end(&json);
    bool fits = !out->overflowed && out->size <= type->max_bytes;
    return (struct new_job){ .type = type, .payload = fits ? buf_text(out) : NULL };
}

/* ---- Decoding ---- */

static bool refuse(const struct job_declaration *type, const char *what, const char *name, struct error *err)
{
    return fail(err, ERR_INTERNAL_ERROR, NULL, "The payload of the job %s %s %s.", type->name, what, name);
}

static bool check_names(const struct job_declaration *type, const json_t *json, struct error *err)
{
    const char *name;
    json_t *value;
    json_object_foreach (json_for_iteration(json), name, value) {
        size_t at = 0;
        while (at < type->member_count && strcmp(type->members[at].name, name) != 0)
            at++;
        if (at == type->member_count)
            return refuse(type, "has the unknown member", name, err);
    }
    return true;
}

static void read_absent(const struct payload_member *member, void *value)
{
    if (!member->has_default)
        return; /* the struct is zeroed */
    if (member->kind == PAYLOAD_INTEGER)
        *(int64_t *)value = member->default_number;
    else if (member->kind == PAYLOAD_BOOLEAN)
        *(bool *)value = member->default_number != 0;
    else
        *(const char **)value = member->default_text;
}

static bool read_integer(const struct payload_member *member, const json_t *json, void *value)
{
    int64_t integer = json_integer_value(json);
    if (member->optional)
        *(struct opt_int *)value = (struct opt_int){ .set = true, .value = integer };
    else
        *(int64_t *)value = integer;
    return json_is_integer(json);
}

static bool read_boolean(const struct payload_member *member, const json_t *json, void *value)
{
    bool truth = json_is_true(json);
    if (member->optional)
        *(struct opt_bool *)value = (struct opt_bool){ .set = true, .value = truth };
    else
        *(bool *)value = truth;
    return json_is_boolean(json);
}

static bool read_texts(struct arena *arena, const json_t *json, struct text_list *ret_list)
{
    size_t count = json_array_size(json);
    const char **items = arena_array(arena, count, sizeof(*items));
    bool all_texts = json_is_array(json);
    for (size_t i = 0; i < count; i++) {
        items[i] = json_string_value(json_array_get(json, i));
        all_texts = all_texts && items[i] != NULL;
    }
    *ret_list = (struct text_list){ items, count };
    return all_texts;
}

/* False when the value has another type. */
static bool read_value(struct arena *arena, const struct payload_member *member, const json_t *json, void *value)
{
    switch (member->kind) {
    case PAYLOAD_INTEGER:
        return read_integer(member, json, value);
    case PAYLOAD_BOOLEAN:
        return read_boolean(member, json, value);
    case PAYLOAD_TEXT:
        *(const char **)value = json_string_value(json);
        return json_is_string(json);
    case PAYLOAD_TEXTS:
        return read_texts(arena, json, value);
    case PAYLOAD_LIST:
        *(const json_t **)value = json;
        return json_is_array(json);
    }
    return false;
}

bool job_payload_decode(struct arena *arena, const struct job_declaration *type, const char *json, const void **ret_payload,
                        struct error *err)
{
    /* PostgreSQL adds a space after each comma and colon, so its text may have up to twice the bytes. */
    struct json_bounds bounds = { .max_bytes = 2 * type->max_bytes };
    const json_t *object;
    if (!json_read(arena, json, strlen(json), bounds, &object, err))
        return false;
    if (!json_is_object(object))
        return refuse(type, "is not", "an object", err);
    if (!check_names(type, object, err))
        return false;
    char *payload = arena_alloc(arena, type->payload_size);
    for (size_t i = 0; i < type->member_count; i++) {
        const struct payload_member *member = &type->members[i];
        const json_t *value = json_object_get(object, member->name);
        bool may_be_absent = member->optional || member->has_default;
        if (value == NULL && !may_be_absent)
            return refuse(type, "has no member", member->name, err);
        if (value == NULL || (json_is_null(value) && may_be_absent))
            read_absent(member, payload + member->offset);
        else if (!read_value(arena, member, value, payload + member->offset))
            return refuse(type, "has a wrong type in the member", member->name, err);
    }
    *ret_payload = payload;
    return true;
}
