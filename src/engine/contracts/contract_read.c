/*
 * Reads the tree of fields of a contract or of a schema. The tree is bounded in
 * fields and depth before any of its nodes is used; the keys of a level are
 * sorted, so a repeated key and each look-up cost n log n.
 */
#include "engine/contracts/contract.h"

#include "base/json_read.h"
#include "base/nearest.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SCALAR_TYPES = CONTRACT_ENUM + 1,
    DECLARED_TYPES = CONTRACT_ARRAY + 1, /* without unknown, which nobody declares */
};

/* ---- Members of a field ---- */

struct tree_reader {
    struct arena *arena;
    bool is_stored;
    size_t count; /* of fields read so far */
};

/* Where a level stands in the tree. */
struct level {
    unsigned depth; /* from 1 */
    bool in_items;  /* below the items of an array */
};

struct field_list {
    const struct contract_field *fields;
    const struct contract_field *const *by_key;
    size_t count;
};

static bool read_fields(struct tree_reader *reader, const json_t *list, struct level level, struct field_list *ret_list,
                        struct error *err);

static bool refuse_unknown_names(const json_t *object, struct error *err)
{
    static const char *const names[] = { "key",      "type",       "required",    "fallbackValue", "children",
                                         "itemType", "enumValues", "description", "exampleValue" };
    const char *name;
    json_t *ignored;
    json_object_foreach (json_for_iteration(object), name, ignored) {
        bool is_known = false;
        for (size_t i = 0; i < ARRAY_COUNT(names); i++)
            is_known = is_known || strcmp(names[i], name) == 0;
        if (!is_known) {
            (void)fail(err, ERR_INVALID_REQUEST, NULL, "A field of a payload has no such member.");
            error_suggest_name(err, name, names, ARRAY_COUNT(names));
            return error_set_param(err, "%s", name);
        }
    }
    return true;
}

bool contract_key_fits(const char *key)
{
    for (const char *at = key; *at != '\0'; at++)
        if (*at == '.' || (unsigned char)*at < ' ')
            return false;
    return key[0] != '\0' && utf8_length(key) <= CONTRACT_KEY_MAX_CHARS && strcmp(key, "__proto__") != 0;
}

static bool read_key(const json_t *object, const char **ret_key, struct error *err)
{
    *ret_key = json_get_text(object, "key");
    if (*ret_key == NULL || (*ret_key)[0] == '\0')
        return fail(err, ERR_INVALID_REQUEST, "key", "key must be the name of the member, such as plan.");
    return contract_key_fits(*ret_key) ||
           fail(err, ERR_INVALID_REQUEST, "key",
                "key must have at most %d characters, without dots and control characters, and not be __proto__. Nest fields with "
                "children.",
                CONTRACT_KEY_MAX_CHARS);
}

static bool refuse_type(const char *given, const char *member, size_t type_count, struct error *err)
{
    const char *names[DECLARED_TYPES];
    for (size_t i = 0; i < type_count; i++)
        names[i] = contract_type_name((enum contract_type)i);
    const char *nearest = given != NULL ? name_nearest(given, names, type_count) : NULL;
    return fail(err, ERR_INVALID_REQUEST, member, "%s must be one of: string, int, float, boolean, date, enum%s.", member,
                type_count == SCALAR_TYPES ? "" : ", object, array") ||
           (nearest != NULL && error_suggest(err, "Use %s.", nearest));
}

static bool read_type(const json_t *object, const char *member, size_t type_count, enum contract_type *ret_type, struct error *err)
{
    const char *given = json_get_text(object, member);
    for (size_t i = 0; given != NULL && i < type_count; i++)
        if (strcmp(contract_type_name((enum contract_type)i), given) == 0) {
            *ret_type = (enum contract_type)i;
            return true;
        }
    return refuse_type(given, member, type_count, err);
}

static bool read_required(const json_t *object, bool *ret_required, struct error *err)
{
    const json_t *value = json_object_get(object, "required");
    *ret_required = json_is_true(value);
    return json_is_boolean(value) || fail(err, ERR_INVALID_REQUEST, "required", "required must be true or false.") ||
           error_suggest(err, "Set required to true or false.");
}

static bool text_is_bounded(const json_t *value)
{
    return !json_is_string(value) || utf8_length(json_string_value(value)) <= CONTRACT_TEXT_MAX_CHARS;
}

/* The database and callers read a larger number in other ways than it is written. */
static bool number_is_bounded(const json_t *value)
{
    static const double max_number = 9e15;
    return !json_is_number(value) || fabs(json_number_value(value)) <= max_number;
}

/* Reads a scalar; null is none. */
static bool read_scalar(const json_t *object, const char *member, const json_t **ret_value, struct error *err)
{
    const json_t *value = json_object_get(object, member);
    if (json_is_object(value) || json_is_array(value))
        return fail(err, ERR_INVALID_REQUEST, member, "%s must be a text, a number, true or false.", member);
    if (!text_is_bounded(value))
        return fail(err, ERR_INVALID_REQUEST, member, "%s can have at most %d characters.", member, CONTRACT_TEXT_MAX_CHARS);
    if (!number_is_bounded(value))
        return fail(err, ERR_INVALID_REQUEST, member, "%s must be between -9e15 and 9e15.", member);
    *ret_value = json_is_null(value) ? NULL : value;
    return true;
}

static bool read_description(const json_t *object, const char **ret_text, struct error *err)
{
    const json_t *value = json_object_get(object, "description");
    if (value != NULL && (!json_is_string(value) || !text_is_bounded(value)))
        return fail(err, ERR_INVALID_REQUEST, "description", "description must be a text of at most %d characters.",
                    CONTRACT_TEXT_MAX_CHARS);
    *ret_text = json_string_value(value);
    return true;
}

/* ---- Values of an enum ---- */

static int compare_texts(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static bool has_repeated_text(struct tree_reader *reader, const char *const *texts, size_t count)
{
    const char **sorted = arena_array(reader->arena, count, sizeof(*sorted));
    memcpy(sorted, texts, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), compare_texts);
    for (size_t i = 1; i < count; i++)
        if (strcmp(sorted[i - 1], sorted[i]) == 0)
            return true;
    return false;
}

static bool read_enum_values(struct tree_reader *reader, const json_t *object, struct text_list *ret_values, struct error *err)
{
    const json_t *list = json_object_get(object, "enumValues");
    size_t count = json_array_size(list);
    if (count == 0 || count > CONTRACT_ENUM_MAX_VALUES)
        return fail(err, ERR_INVALID_REQUEST, "enumValues", "enumValues must list the 1 to %d values of the enum.",
                    CONTRACT_ENUM_MAX_VALUES) ||
               error_suggest(err, "Add enumValues: list of 1 to %d texts.", CONTRACT_ENUM_MAX_VALUES);
    const char **values = arena_array(reader->arena, count, sizeof(*values));
    for (size_t i = 0; i < count; i++) {
        values[i] = json_string_value(json_array_get(list, i));
        if (values[i] == NULL || utf8_length(values[i]) > CONTRACT_ENUM_MAX_CHARS)
            return fail(err, ERR_INVALID_REQUEST, "enumValues", "enumValues must be texts of at most %d characters.",
                        CONTRACT_ENUM_MAX_CHARS);
    }
    *ret_values = (struct text_list){ .items = values, .count = count };
    return !has_repeated_text(reader, values, count) ||
           fail(err, ERR_INVALID_REQUEST, "enumValues", "enumValues must not repeat a value.");
}

static bool needs_enum_values(const struct contract_field *field)
{
    return field->type == CONTRACT_ENUM || (field->type == CONTRACT_ARRAY && field->item_type == CONTRACT_ENUM);
}

/* ---- Fallbacks ---- */

static bool read_fallback(const json_t *object, struct level level, struct contract_field *field, struct error *err)
{
    if (!read_scalar(object, "fallbackValue", &field->fallback, err))
        return false;
    if (field->fallback == NULL)
        return true;
    if (level.in_items)
        return fail(err, ERR_INVALID_REQUEST, "fallbackValue",
                    "A field of the items of an array cannot have a fallbackValue. Use the filter default in the design.");
    if (!contract_scalar_fits(field->type, &field->enum_values, field->fallback))
        return fail(err, ERR_INVALID_REQUEST, "fallbackValue", "fallbackValue must fit the type %s of the field.",
                    contract_type_name(field->type));
    return true;
}

/* ---- Nested fields ---- */

static bool refuse_member(const json_t *object, const char *member, const char *sentence, struct error *err)
{
    return json_object_get(object, member) == NULL || fail(err, ERR_INVALID_REQUEST, member, "%s", sentence);
}

static bool read_children(struct tree_reader *reader, const json_t *object, struct level level, struct contract_field *field,
                          struct error *err)
{
    struct level below = { .depth = level.depth + 1, .in_items = level.in_items || field->type == CONTRACT_ARRAY };
    struct field_list list;
    if (!read_fields(reader, json_object_get(object, "children"), below, &list, err)) {
        error_param_prefix(err, "children");
        return false;
    }
    field->children = list.fields;
    field->children_by_key = list.by_key;
    field->child_count = list.count;
    return true;
}

/* Without members a type is unknown, which only a schema may have. */
static bool read_unknown(struct tree_reader *reader, struct contract_field *field, struct error *err)
{
    field->container = field->type;
    field->type = CONTRACT_UNKNOWN;
    if (!reader->is_stored)
        return true;
    return fail(
        err, ERR_INVALID_REQUEST, "children", "%s needs %s.", field->container == CONTRACT_OBJECT ? "An object" : "An array",
        field->container == CONTRACT_OBJECT ? "children, at least one field" : "children for objects, or itemType for scalars");
}

static bool read_members(struct tree_reader *reader, const json_t *object, struct level level, struct contract_field *field,
                         struct error *err)
{
    bool has_children = json_array_size(json_object_get(object, "children")) > 0;
    bool has_items = json_object_get(object, "itemType") != NULL;
    if (json_object_get(object, "children") != NULL && !json_is_array(json_object_get(object, "children")))
        return fail(err, ERR_INVALID_REQUEST, "children", "children must be a list of fields.");
    if (field->type < CONTRACT_OBJECT && has_children)
        return fail(err, ERR_INVALID_REQUEST, "children", "Only objects and arrays of objects have children.");
    if (field->type != CONTRACT_ARRAY && has_items)
        return fail(err, ERR_INVALID_REQUEST, "itemType", "Only arrays have an itemType.");
    if (has_children && has_items)
        return fail(err, ERR_INVALID_REQUEST, "itemType", "An array has children or itemType, not both.");
    if (has_items)
        return read_type(object, "itemType", SCALAR_TYPES, &field->item_type, err);
    if (has_children)
        return read_children(reader, object, level, field, err);
    return field->type < CONTRACT_OBJECT || read_unknown(reader, field, err);
}

static bool read_field(struct tree_reader *reader, const json_t *object, struct level level, struct contract_field *field,
                       struct error *err)
{
    if (!json_is_object(object))
        return fail(err, ERR_INVALID_REQUEST, NULL, "A field must be an object with key, type and required.");
    field->item_type = CONTRACT_UNKNOWN;
    if (!refuse_unknown_names(object, err) || !read_key(object, &field->key, err) ||
        !read_type(object, "type", DECLARED_TYPES, &field->type, err) || !read_required(object, &field->is_required, err) ||
        !read_members(reader, object, level, field, err))
        return false;
    bool values_fit = needs_enum_values(field) ? read_enum_values(reader, object, &field->enum_values, err)
                                               : refuse_member(object, "enumValues", "Only an enum has enumValues.", err);
    return values_fit && read_fallback(object, level, field, err) && read_description(object, &field->description, err) &&
           read_scalar(object, "exampleValue", &field->example, err);
}

/* ---- A level ---- */

static int compare_keys(const void *left, const void *right)
{
    return strcmp((*(const struct contract_field *const *)left)->key, (*(const struct contract_field *const *)right)->key);
}

static bool sort_fields(struct tree_reader *reader, struct field_list *list, struct error *err)
{
    const struct contract_field **by_key = arena_array(reader->arena, list->count, sizeof(*by_key));
    for (size_t i = 0; i < list->count; i++)
        by_key[i] = &list->fields[i];
    qsort(by_key, list->count, sizeof(*by_key), compare_keys);
    list->by_key = by_key;
    for (size_t i = 1; i < list->count; i++) {
        if (strcmp(by_key[i - 1]->key, by_key[i]->key) != 0)
            continue;
        const struct contract_field *later = by_key[i - 1] > by_key[i] ? by_key[i - 1] : by_key[i];
        (void)fail(err, ERR_INVALID_REQUEST, NULL, "Another field of this level has the same key.");
        return error_set_param(err, "%zu.key", (size_t)(later - list->fields));
    }
    return true;
}

static bool read_fields(struct tree_reader *reader, const json_t *list, struct level level, struct field_list *ret_list,
                        struct error *err)
{
    size_t count = json_array_size(list);
    reader->count += count;
    if (level.depth > CONTRACT_MAX_DEPTH)
        return fail(err, ERR_INVALID_REQUEST, NULL, "Fields can be nested %d levels deep.", CONTRACT_MAX_DEPTH);
    if (reader->count > CONTRACT_FIELDS_MAX)
        return fail(err, ERR_INVALID_REQUEST, NULL, "A payload can have at most %d fields with all levels.", CONTRACT_FIELDS_MAX);
    struct contract_field *fields = arena_array(reader->arena, count, sizeof(*fields));
    for (size_t i = 0; i < count; i++)
        if (!read_field(reader, json_array_get(list, i), level, &fields[i], err)) {
            char number[24];
            snprintf(number, sizeof(number), "%zu", i);
            error_param_prefix(err, number);
            return false;
        }
    *ret_list = (struct field_list){ .fields = fields, .count = count };
    return sort_fields(reader, ret_list, err);
}

static const struct contract_field *find_key(const struct contract_field *const *by_key, size_t count, const char *key)
{
    struct contract_field wanted = { .key = key };
    const struct contract_field *wanted_at = &wanted;
    const struct contract_field *const *found =
        count == 0 ? NULL : bsearch(&wanted_at, by_key, count, sizeof(*by_key), compare_keys);
    return found == NULL ? NULL : *found;
}

static bool has_email(const struct contract *contract)
{
    const struct contract_field *email = find_key(contract->fields_by_key, contract->count, "email");
    return email != NULL && email->type == CONTRACT_STRING && email->is_required;
}

bool contract_read(const struct work *work, const json_t *fields, const char *param, bool is_stored, struct contract *ret_contract,
                   struct error *err)
{
    struct tree_reader reader = { .arena = work->arena, .is_stored = is_stored };
    struct field_list list = { 0 };
    if (fields != NULL && !json_is_array(fields))
        return fail(err, ERR_INVALID_REQUEST, param, "The fields must be a list.");
    if (!read_fields(&reader, fields, (struct level){ .depth = 1 }, &list, err)) {
        error_param_prefix(err, param);
        return false;
    }
    *ret_contract = (struct contract){ .fields = list.fields, .fields_by_key = list.by_key, .count = list.count };
    return has_email(ret_contract) || fail(err, ERR_PAYLOAD_SCHEMA_EMAIL_REQUIRED, param,
                                           "The fields must include {key: email, type: string, required: true}.");
}

/* ---- Look-ups ---- */

const struct contract_field *contract_find(const struct contract *contract, const char *path, bool *ret_is_open)
{
    const struct contract_field *const *by_key = contract->fields_by_key;
    size_t count = contract->count;
    *ret_is_open = false;
    for (const char *at = path;;) {
        size_t size = strcspn(at, ".");
        char key[CONTRACT_KEY_MAX_CHARS * 4 + 1];
        if (size >= sizeof(key))
            return NULL;
        memcpy(key, at, size);
        key[size] = '\0';
        const struct contract_field *field = find_key(by_key, count, key);
        if (field == NULL || at[size] == '\0')
            return field;
        if (field->type == CONTRACT_UNKNOWN) {
            *ret_is_open = true;
            return field;
        }
        if (field->type != CONTRACT_OBJECT)
            return NULL;
        by_key = field->children_by_key;
        count = field->child_count;
        at += size + 1;
    }
}

static bool fields_have_unknown(const struct contract_field *fields, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (fields[i].type == CONTRACT_UNKNOWN || fields_have_unknown(fields[i].children, fields[i].child_count))
            return true;
    return false;
}

bool contract_has_unknown(const struct contract *contract)
{
    return fields_have_unknown(contract->fields, contract->count);
}
