#include "api/decode.h"

#include "api/decode_values.h"
#include "base/json_read.h"

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

/* ---- Values ---- */

static bool decode_object_field(const struct decoder *decoder, const struct arg_field *field, const json_t *value, void *out,
                                struct error *err)
{
    if (!json_is_object(value))
        return decode_refuse_type(field, "an object", err);
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
        return decode_refuse_type(field, "a list of objects", err);
    size_t count = json_array_size(value);
    if (!decode_check_list_size(field, count, err))
        return false;

    char *items = arena_array(decoder->arena, count, field->object->size);
    const struct error **faults = NULL;
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(value, i);
        char path[ERROR_PARAM_MAX_BYTES];
        decode_item_path(path, field, i);
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

static bool decode_kind(const struct decoder *decoder, const struct arg_field *field, const json_t *value, void *out,
                        struct error *err)
{
    if (field->kind == ARG_OBJECT)
        return decode_object_field(decoder, field, value, out, err);
    if (field->kind == ARG_OBJECT_LIST)
        return decode_object_list(decoder, field, value, out, err);
    return decode_simple_value(decoder, field, value, out, err);
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
