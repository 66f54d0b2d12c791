#include "api/decode.h"

#include "api/decode_forms.h"
#include "base/clock.h"
#include "base/json_read.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool decode_object(const struct decoder *decoder, const struct arg_shape *shape, const json_t *object, void *out,
                          struct error *err);
static bool decode_members(const struct decoder *decoder, const struct arg_shape *shape, const json_t *object, void *out,
                           struct error *err);
static bool refuse_unknown_members(const struct decoder *decoder, const struct arg_shape *shape, const json_t *object,
                                   struct error *err);

static void *member(void *out, const struct arg_field *field)
{
    return (char *)out + field->offset;
}

static bool refuse_type(const struct arg_field *field, const char *wanted, struct error *err)
{
    return fail(err, ERR_INVALID_REQUEST, field->name, "%s must be %s.", field->name, wanted);
}

/* ---- Values ---- */

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
    if (!json_is_string(value))
        return refuse_type(field, "text", err);
    *ret_text = json_string_value(value);
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
        return refuse_type(field, "a whole number", err);
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
        return refuse_type(field, "a number", err);
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
        return refuse_type(field, "true or false", err);
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
                return refuse_type(field, "a list of texts", err);
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
        return refuse_type(field, "an ISO 8601 date-time with a zone, such as 2026-11-21T09:30:00Z", err);
    *(struct opt_int *)out = (struct opt_int){ .set = true, .value = time_us };
    return true;
}

static bool check_list_size(const struct arg_field *field, size_t count, struct error *err)
{
    if (count < field->min_size)
        return fail(err, ERR_INVALID_REQUEST, field->name, "%s must have at least %zu item%s.", field->name, field->min_size,
                    field->min_size == 1 ? "" : "s");
    if (count > field->max_size)
        return fail(err, ERR_INVALID_REQUEST, field->name, "%s has %zu items; at most %zu %s accepted.", field->name, count,
                    field->max_size, field->max_size == 1 ? "is" : "are");
    return true;
}

static void item_param_path(char path[ERROR_PARAM_MAX_BYTES], const struct arg_field *field, size_t index)
{
    snprintf(path, ERROR_PARAM_MAX_BYTES, "%s.%zu", field->name, index);
}

static bool decode_text_list(const struct decoder *decoder, const struct arg_field *field, const json_t *value, void *out,
                             struct error *err)
{
    bool bare = field->single && json_is_string(value);
    if (!bare && !json_is_array(value))
        return refuse_type(field, field->single ? "a text or a list of texts" : "a list of texts", err);
    size_t count = bare ? 1 : json_array_size(value);
    if (!check_list_size(field, count, err))
        return false;

    const char **items = arena_array(decoder->arena, count, sizeof(*items));
    for (size_t i = 0; i < count; i++) {
        char path[ERROR_PARAM_MAX_BYTES];
        item_param_path(path, field, i);
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

static bool decode_object_field(const struct decoder *decoder, const struct arg_field *field, const json_t *value, void *out,
                                struct error *err)
{
    if (!json_is_object(value))
        return refuse_type(field, "an object", err);
    void *object = arena_alloc(decoder->arena, field->object->size);
    if (!decode_object(decoder, field->object, value, object, err)) {
        error_param_prefix(err, field->name);
        return false;
    }
    *(void **)out = object;
    return true;
}

/* Items have no name of their own. */
static bool decode_item(const struct decoder *decoder, const struct arg_field *field, const json_t *item, void *out,
                        struct error *err)
{
    if (!json_is_object(item))
        return fail(err, ERR_INVALID_REQUEST, NULL, "Each item of %s must be an object.", field->name);
    return decode_members(decoder, field->object, item, out, err);
}

static const struct error *keep_fault(struct arena *arena, struct error *err)
{
    struct error *kept = arena_alloc(arena, sizeof(*kept));
    *kept = *err;
    error_clear(err);
    return kept;
}

enum { LISTED_ABSENCES = 10 };

/* Refuses a list whose item `first` lacks a required member. When other items lack some, too, all are told at once. */
static void refuse_absences(const struct decoder *decoder, const struct arg_field *field, const json_t *list, size_t first,
                            struct error *err)
{
    const char *listed = "";
    size_t count = 0;
    for (size_t i = first; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        if (!json_is_object(item))
            continue;
        item = decode_spelling(decoder, field->object, item);
        for (size_t j = 0; j < field->object->count; j++) {
            const struct arg_field *member = &field->object->fields[j];
            if (!member->required || json_object_get(item, member->name) != NULL)
                continue;
            if (count++ < LISTED_ABSENCES)
                listed = arena_printf(decoder->arena, "%s%s%s.%zu.%s", listed, count > 1 ? ", " : "", field->name, i, member->name);
        }
    }
    if (count < 2)
        return;
    const char *more = count > LISTED_ABSENCES ? arena_printf(decoder->arena, " and %zu more", count - LISTED_ABSENCES) : "";
    char param[ERROR_PARAM_MAX_BYTES];
    snprintf(param, sizeof(param), "%s", err->param);
    fail(err, ERR_INVALID_REQUEST, param, "These are required: %s%s.", listed, more);
}

static bool is_absent_in(const struct arg_shape *shape, const json_t *item, const char *name)
{
    const struct arg_field *member = arg_field_named(shape, name);
    return json_is_object(item) && member != NULL && member->required && json_object_get(item, name) == NULL;
}

static bool decode_object_list(const struct decoder *decoder, const struct arg_field *field, const json_t *value, void *out,
                               struct error *err)
{
    if (!json_is_array(value))
        return refuse_type(field, "a list of objects", err);
    size_t count = json_array_size(value);
    if (!check_list_size(field, count, err))
        return false;

    char *items = arena_array(decoder->arena, count, field->object->size);
    const struct error **faults = NULL;
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(value, i);
        char path[ERROR_PARAM_MAX_BYTES];
        item_param_path(path, field, i);
        if (json_is_object(item))
            item = decode_spelling(decoder, field->object, item);
        bool ok = !json_is_object(item) || refuse_unknown_members(decoder, field->object, item, err);
        if (ok && decode_item(decoder, field, item, items + i * field->object->size, err))
            continue;
        if (!ok || !field->rows) {
            bool is_absent = is_absent_in(field->object, item, err->param);
            error_param_prefix(err, path);
            if (is_absent)
                refuse_absences(decoder, field, value, i, err);
            return false;
        }
        if (faults == NULL)
            faults = arena_array(decoder->arena, count, sizeof(*faults));
        faults[i] = keep_fault(decoder->arena, err);
    }
    *(struct arg_list *)out = (struct arg_list){ .items = items, .count = count, .faults = faults };
    return true;
}

static bool decode_json(const struct arg_field *field, const json_t *value, void *out, struct error *err)
{
    json_type found = value != NULL ? json_typeof(value) : JSON_NULL;
    bool accepted = found == field->json_type || (field->list_too && found == JSON_ARRAY) || field->any_too;
    if (!accepted)
        return refuse_type(field, field->json_type == JSON_ARRAY ? "a list" : "an object", err);
    size_t size = found == JSON_ARRAY ? json_array_size(value) : json_object_size(value);
    if (!field->any_too && !check_list_size(field, size, err)) /* the engine judges any value, and so its size */
        return false;
    *(const json_t **)out = value;
    return true;
}

static bool decode_kind(const struct decoder *decoder, const struct arg_field *field, const json_t *value, void *out,
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
    case ARG_OBJECT:
        return decode_object_field(decoder, field, value, out, err);
    case ARG_OBJECT_LIST:
        return decode_object_list(decoder, field, value, out, err);
    case ARG_JSON:
        return decode_json(field, value, out, err);
    }
    return fail(err, ERR_INTERNAL_ERROR, field->name, "This argument has an unknown type.");
}

static bool decode_value(const struct decoder *decoder, const struct arg_field *field, const json_t *value, void *out,
                         struct error *err)
{
    if (json_is_null(value) && field->nullable) {
        if (field->kind == ARG_TEXT)
            *(struct opt_text *)out = (struct opt_text){ .set = true, .value = NULL };
        return true;
    }
    value = decode_form(decoder, field, value);
    return decode_kind(decoder, field, value, out, err) || decode_suggest_form(decoder, field, value, err);
}

/* The words of a required argument end with ", required". */
static bool refuse_absence(const struct arg_field *field, struct error *err)
{
    fail(err, ERR_INVALID_REQUEST, field->name, "%s is required.", field->name);
    const char *end = field->words != NULL ? strstr(field->words, ", required") : NULL;
    return end != NULL && error_suggest(err, "Add %s: %.*s.", field->name, (int)(end - field->words), field->words);
}

static bool decode_absent(const struct arg_field *field, void *out, struct error *err)
{
    if (field->required)
        return refuse_absence(field, err);
    if (!field->has_default)
        return true;
    if (field->kind == ARG_TEXT)
        *(const char **)out = field->default_text;
    else if (field->kind == ARG_INTEGER)
        *(int64_t *)out = (int64_t)field->default_number;
    else if (field->kind == ARG_NUMBER)
        *(double *)out = field->default_number;
    else if (field->kind == ARG_BOOLEAN)
        *(bool *)out = field->default_number != 0;
    else if (field->kind == ARG_ENUM)
        *(int *)out = (int)field->default_number;
    return true;
}

/* ---- Objects ---- */

static bool refuse_unknown_members(const struct decoder *decoder, const struct arg_shape *shape, const json_t *object,
                                   struct error *err)
{
    const char *name;
    json_t *ignored;
    json_object_foreach (json_for_iteration(object), name, ignored)
        if (arg_field_named(shape, name) == NULL)
            return decode_refuse_name(decoder, shape, name, err);
    return true;
}

static bool decode_object(const struct decoder *decoder, const struct arg_shape *shape, const json_t *object, void *out,
                          struct error *err)
{
    object = decode_spelling(decoder, shape, object);
    return refuse_unknown_members(decoder, shape, object, err) && decode_members(decoder, shape, object, out, err);
}

static bool decode_members(const struct decoder *decoder, const struct arg_shape *shape, const json_t *object, void *out,
                           struct error *err)
{
    for (size_t i = 0; i < shape->count; i++) {
        const struct arg_field *field = &shape->fields[i];
        const json_t *value = json_object_get(object, field->name);
        bool ok = value != NULL ? decode_value(decoder, field, value, member(out, field), err)
                                : decode_absent(field, member(out, field), err);
        if (!ok)
            return false;
    }
    return true;
}

/* ---- REST calls: every field has its place ---- */

static const char *value_named(struct name_value_list list, const char *name)
{
    for (size_t i = 0; i < list.count; i++)
        if (strcmp(list.items[i].name, name) == 0)
            return list.items[i].value;
    return NULL;
}

static const json_t *find_value(const struct decoder *decoder, const struct call_input *input, const struct arg_field *field)
{
    if (field->place == ARG_IN_BODY)
        return json_object_get(input->body, field->name);
    const char *text = value_named(field->place == ARG_IN_PATH ? input->path : input->query, field->name);
    return text != NULL ? json_in_arena(decoder->arena, json_string(text)) : NULL;
}

static bool refuse_unknown_query(const struct decoder *decoder, const struct arg_shape *shape, struct name_value_list query,
                                 struct error *err)
{
    for (size_t i = 0; i < query.count; i++) {
        const struct arg_field *field = arg_field_named(shape, query.items[i].name);
        if (field == NULL || field->place != ARG_IN_QUERY)
            return decode_refuse_name(decoder, shape, query.items[i].name, err);
    }
    return true;
}

static bool refuse_unknown_body(const struct decoder *decoder, const struct arg_shape *shape, const json_t *body, struct error *err)
{
    if (body != NULL && !json_is_object(body))
        return fail(err, ERR_INVALID_REQUEST, NULL, "The body must be a JSON object.");
    const char *name;
    json_t *ignored;
    json_object_foreach (json_for_iteration(body), name, ignored) {
        const struct arg_field *field = arg_field_named(shape, name);
        if (field == NULL || field->place != ARG_IN_BODY)
            return decode_refuse_name(decoder, shape, name, err);
    }
    return true;
}

static bool decode_placed(struct decoder *decoder, const struct arg_shape *shape, const struct call_input *input, void *args,
                          struct error *err)
{
    if (!refuse_unknown_query(decoder, shape, input->query, err) || !refuse_unknown_body(decoder, shape, input->body, err))
        return false;
    for (size_t i = 0; i < shape->count; i++) {
        const struct arg_field *field = &shape->fields[i];
        const json_t *value = find_value(decoder, input, field);
        /* Path and query are always text, whatever type the field has. */
        decoder->coerces = field->place != ARG_IN_BODY;
        bool ok = value != NULL ? decode_value(decoder, field, value, member(args, field), err)
                                : decode_absent(field, member(args, field), err);
        if (!ok)
            return false;
    }
    return true;
}

/* A wrong choice is refused first: the arguments of the operation that was meant are unknown to this one. */
static bool check_chooser(const struct decoder *decoder, const struct arg_shape *shape, const struct call_input *input, void *args,
                          struct error *err)
{
    const struct arg_field *field = shape->chooser != NULL ? arg_field_named(shape, shape->chooser) : NULL;
    if (field == NULL)
        return true;
    const json_t *value = input->flat ? json_object_get(input->body, field->name) : find_value(decoder, input, field);
    return value == NULL || decode_value(decoder, field, value, member(args, field), err);
}

static bool decode_input(struct decoder *decoder, const struct arg_shape *shape, const struct call_input *input, void *args,
                         struct error *err)
{
    if (!check_chooser(decoder, shape, input, args, err))
        return false;
    if (!input->flat)
        return decode_placed(decoder, shape, input, args, err);
    if (input->body != NULL && !json_is_object(input->body))
        return fail(err, ERR_INVALID_REQUEST, NULL, "The arguments must be an object.");
    return decode_object(decoder, shape, input->body, args, err);
}

bool decode_arguments(struct arena *arena, const struct id_codec *ids, const struct arg_shape *shape,
                      const struct call_input *input, void *args, struct error *err)
{
    struct inner_trees inner = { .arguments = input->body };
    struct decoder decoder = {
        .arena = arena,
        .ids = ids,
        .inner = &inner,
        .coerces = input->flat && input->reading != INPUT_EXACT,
        .heals = input->flat && input->reading == INPUT_HEALED,
        .root = input->flat ? shape : NULL,
        .shown = input->shown,
    };
    bool ok = decode_input(&decoder, shape, input, args, err);
    if (inner.exceeded && input->flat && decoder.coerces)
        return fail(
            err, ERR_PAYLOAD_TOO_LARGE, NULL,
            "The JSON in texts of the arguments has too many values: with the arguments it would take more than %d bytes of "
            "memory. Send it in smaller parts.",
            JSON_CALLER_TREE_MAX_BYTES);
    return ok;
}

/* True when the canonical JSON text of a condition equals a text. In path and query, "true" also equals true. */
static bool text_equals_canonical(const char *text, const char *canonical, bool coerces)
{
    size_t size = strlen(text);
    bool same_text = canonical[0] == '"' && strlen(canonical) == size + 2 && memcmp(canonical + 1, text, size) == 0;
    return same_text || (coerces && strcmp(canonical, text) == 0);
}

static bool equals_canonical(const json_t *value, const char *canonical, bool flat)
{
    if (json_is_boolean(value))
        return strcmp(json_is_true(value) ? "true" : "false", canonical) == 0;
    return json_is_string(value) && text_equals_canonical(json_string_value(value), canonical, flat);
}

/* A null counts, so that the operation that it chooses says what is wrong with it. */
static bool is_given(const struct call_input *input, const char *name)
{
    return json_object_get(input->body, name) != NULL || value_named(input->query, name) != NULL;
}

bool decode_is_given(const struct call_input *input, const char *path)
{
    const char *point = strchr(path, '.');
    if (point == NULL)
        return is_given(input, path);
    const json_t *object = json_object_getn(input->body, path, (size_t)(point - path));
    const json_t *member = json_object_get(object, point + 1);
    return member != NULL && !json_is_null(member);
}

bool decode_when_holds(const struct op_when *when, const struct call_input *input)
{
    if (when->kind == WHEN_ALWAYS)
        return true;
    if (when->kind == WHEN_PRESENT)
        return is_given(input, when->argument);
    if (when->beside != NULL && !is_given(input, when->beside))
        return false;
    const json_t *value = json_object_get(input->body, when->argument);
    if (value != NULL)
        return equals_canonical(value, when->value, input->flat);
    const char *text = value_named(input->query, when->argument);
    return text != NULL && text_equals_canonical(text, when->value, true);
}
