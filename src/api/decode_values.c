#include "api/decode_values.h"

#include "base/clock.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool decode_refuse_type(const struct arg_field *field, const char *wanted, struct error *err)
{
    return fail(err, ERR_INVALID_REQUEST, field->name, "%s must be %s.", field->name, wanted);
}

/* ---- Scalars ---- */

static bool check_text_size(const struct arg_field *field, const char *text, size_t max_size, struct error *err)
{
    size_t points = utf8_length(text);
    if (points < field->min_size && field->min_size == 1)
        return fail(err, ERR_INVALID_REQUEST, field->name, "%s must not be empty.", field->name);
    if (points < field->min_size)
        return fail(err, ERR_INVALID_REQUEST, field->name, "%s must have at least %zu characters.", field->name, field->min_size);
    if (points > max_size)
        return fail(err, ERR_INVALID_REQUEST, field->name, "%s has %zu characters; at most %zu are accepted.", field->name, points,
                    max_size);
    return true;
}

/* jansson accepts U+0000 inside a text; C code would take it as the end. */
static bool plain_text(const struct arg_field *field, const json_t *value, const char **ret_text, struct error *err)
{
    *ret_text = json_string_value(value);
    if (*ret_text == NULL)
        return decode_refuse_type(field, "text", err);
    if (strlen(*ret_text) != json_string_length(value))
        return fail(err, ERR_INVALID_REQUEST, field->name, "%s must not contain the character U+0000.", field->name);
    return true;
}

static bool decode_text(const struct arg_field *field, const json_t *value, void *out, struct error *err)
{
    const char *text;
    if (!plain_text(field, value, &text, err) || !check_text_size(field, text, field->max_size, err))
        return false;
    if (field->nullable)
        *(struct opt_text *)out = (struct opt_text){ .set = true, .value = text };
    else
        *(const char **)out = text;
    return true;
}

static bool decode_id(const struct decoder *decoder, const struct arg_field *field, const json_t *value, void *out,
                      struct error *err)
{
    const char *text;
    if (!plain_text(field, value, &text, err))
        return false;
    int64_t id = id_decode(decoder->ids, (enum id_kind)field->id_kind, text);
    /* An invalid id matches no row. 0 means absent, so it becomes -1. */
    *(int64_t *)out = id != 0 ? id : -1;
    return true;
}

static bool check_number_range(const struct arg_field *field, double value, struct error *err)
{
    if (value >= field->minimum && value <= field->maximum)
        return true;
    if (isinf(field->maximum))
        return fail(err, ERR_INVALID_REQUEST, field->name, "%s must be at least %.15g.", field->name, field->minimum);
    if (isinf(field->minimum))
        return fail(err, ERR_INVALID_REQUEST, field->name, "%s must be at most %.15g.", field->name, field->maximum);
    return fail(err, ERR_INVALID_REQUEST, field->name, "%s must be between %.15g and %.15g.", field->name, field->minimum,
                field->maximum);
}

static bool decode_integer(const struct arg_field *field, const json_t *value, void *out, struct error *err)
{
    /* 5.0 is the integer 5 in JSON Schema. */
    bool whole =
        json_is_real(value) && floor(json_real_value(value)) == json_real_value(value) && fabs(json_real_value(value)) < 9e15;
    if (!json_is_integer(value) && !whole)
        return decode_refuse_type(field, "a whole number", err);
    int64_t number = whole ? (int64_t)json_real_value(value) : json_integer_value(value);
    if (!check_number_range(field, (double)number, err))
        return false;
    if (field->required || field->has_default)
        *(int64_t *)out = number;
    else
        *(struct opt_int *)out = (struct opt_int){ .set = true, .value = number };
    return true;
}

static bool decode_number(const struct arg_field *field, const json_t *value, void *out, struct error *err)
{
    if (!json_is_number(value))
        return decode_refuse_type(field, "a number", err);
    double number = json_number_value(value);
    if (!check_number_range(field, number, err))
        return false;
    if (field->required || field->has_default)
        *(double *)out = number;
    else
        *(struct opt_number *)out = (struct opt_number){ .set = true, .value = number };
    return true;
}

static bool decode_boolean(const struct arg_field *field, const json_t *value, void *out, struct error *err)
{
    if (!json_is_boolean(value))
        return decode_refuse_type(field, "true or false", err);
    if (field->required || field->has_default)
        *(bool *)out = json_is_true(value);
    else
        *(struct opt_bool *)out = (struct opt_bool){ .set = true, .value = json_is_true(value) };
    return true;
}

/* The index of a text among the allowed ones, from 1; 0 when it is not one of them. */
static int enum_index(const struct arg_field *field, const char *text, size_t size)
{
    for (int i = 0; field->enum_values[i] != NULL; i++)
        if (strlen(field->enum_values[i]) == size && memcmp(field->enum_values[i], text, size) == 0)
            return i + 1;
    return 0;
}

static bool decode_enum(const struct arg_field *field, const json_t *value, void *out, struct error *err)
{
    const char *text;
    if (!plain_text(field, value, &text, err))
        return false;
    int index = enum_index(field, text, strlen(text));
    if (index == 0)
        return decode_refuse_value(field, text, strlen(text), err);
    *(int *)out = index;
    return true;
}

static bool add_token(const struct arg_field *field, const char *text, size_t size, uint32_t *bits, struct error *err)
{
    int index = enum_index(field, text, size);
    if (index == 0)
        return decode_refuse_value(field, text, size, err);
    *bits |= UINT32_C(1) << (index - 1);
    return true;
}

static bool decode_tokens(const struct arg_field *field, const json_t *value, void *out, struct error *err)
{
    uint32_t *bits = out;
    if (json_is_array(value)) {
        size_t index;
        const json_t *item;
        json_array_foreach (value, index, item) {
            if (!json_is_string(item))
                return decode_refuse_type(field, "a list of texts", err);
            if (!add_token(field, json_string_value(item), json_string_length(item), bits, err))
                return false;
        }
        return true;
    }
    const char *text;
    if (!plain_text(field, value, &text, err))
        return false;
    for (;;) {
        size_t size = strcspn(text, ",");
        if (!add_token(field, text, size, bits, err))
            return false;
        if (text[size] == '\0')
            return true;
        text += size + 1;
    }
}

static bool decode_time(const struct arg_field *field, const json_t *value, void *out, struct error *err)
{
    const char *text;
    if (!plain_text(field, value, &text, err))
        return false;
    int64_t time_us;
    if (!clock_parse_iso(text, &time_us))
        return decode_refuse_type(field, "an ISO 8601 date-time with a zone, such as 2026-11-21T09:30:00Z", err);
    *(struct opt_int *)out = (struct opt_int){ .set = true, .value = time_us };
    return true;
}

/* ---- Lists and JSON ---- */

bool decode_check_list_size(const struct arg_field *field, size_t count, struct error *err)
{
    if (count < field->min_size)
        return fail(err, ERR_INVALID_REQUEST, field->name, "%s must have at least %zu item%s.", field->name, field->min_size,
                    field->min_size == 1 ? "" : "s");
    if (count > field->max_size)
        return fail(err, ERR_INVALID_REQUEST, field->name, "%s has %zu items; at most %zu %s accepted.", field->name, count,
                    field->max_size, field->max_size == 1 ? "is" : "are");
    return true;
}

void decode_item_path(char path[ERROR_PARAM_MAX_BYTES], const struct arg_field *field, size_t index)
{
    snprintf(path, ERROR_PARAM_MAX_BYTES, "%s.%zu", field->name, index);
}

static bool decode_text_list(const struct decoder *decoder, const struct arg_field *field, const json_t *value, void *out,
                             struct error *err)
{
    bool bare = field->single && json_is_string(value);
    if (!bare && !json_is_array(value))
        return decode_refuse_type(field, field->single ? "a text or a list of texts" : "a list of texts", err);
    size_t count = bare ? 1 : json_array_size(value);
    if (!decode_check_list_size(field, count, err))
        return false;

    const char **items = arena_array(decoder->arena, count, sizeof(*items));
    for (size_t i = 0; i < count; i++) {
        char path[ERROR_PARAM_MAX_BYTES];
        decode_item_path(path, field, i);
        struct arg_field item = { .name = bare ? field->name : path, .min_size = 1, .max_size = field->max_item_size };
        if (plain_text(&item, bare ? value : json_array_get(value, i), &items[i], err) &&
            check_text_size(&item, items[i], item.max_size, err))
            continue;
        if (!field->rows)
            return false;
        error_clear(err);
        items[i] = NULL;
    }
    *(struct text_list *)out = (struct text_list){ .items = items, .count = count };
    return true;
}

static bool decode_json(const struct arg_field *field, const json_t *value, void *out, struct error *err)
{
    json_type found = value != NULL ? json_typeof(value) : JSON_NULL;
    bool accepted = found == field->json_type || (field->list_too && found == JSON_ARRAY) || field->any_too;
    if (!accepted)
        return decode_refuse_type(field, field->json_type == JSON_ARRAY ? "a list" : "an object", err);
    size_t size = found == JSON_ARRAY ? json_array_size(value) : json_object_size(value);
    if (!field->any_too && !decode_check_list_size(field, size, err)) /* the engine judges any value, and so its size */
        return false;
    *(const json_t **)out = value;
    return true;
}

bool decode_simple_value(const struct decoder *decoder, const struct arg_field *field, const json_t *value, void *out,
                         struct error *err)
{
    switch (field->kind) {
    case ARG_TEXT:
        return decode_text(field, value, out, err);
    case ARG_ID:
        return decode_id(decoder, field, value, out, err);
    case ARG_INTEGER:
        return decode_integer(field, value, out, err);
    case ARG_NUMBER:
        return decode_number(field, value, out, err);
    case ARG_BOOLEAN:
        return decode_boolean(field, value, out, err);
    case ARG_ENUM:
        return decode_enum(field, value, out, err);
    case ARG_TOKENS:
        return decode_tokens(field, value, out, err);
    case ARG_TIME:
        return decode_time(field, value, out, err);
    case ARG_TEXT_LIST:
        return decode_text_list(decoder, field, value, out, err);
    case ARG_JSON:
        return decode_json(field, value, out, err);
    case ARG_OBJECT:
    case ARG_OBJECT_LIST:
        break;
    }
    return fail(err, ERR_INTERNAL_ERROR, field->name, "This argument has an unknown type.");
}
