#include "designer/document.h"

#include "base/json_read.h"
#include "base/nearest.h"
#include "base/text.h"
#include "designer/document_read.h"
#include "designer/field_text.h"

#include <stdio.h>
#include <string.h>

#include "designer/document_data.h"
#include "designer/schema_data.h"

static const char *const own_block_members[] = { "type", "variant" };

struct reader {
    struct arena *arena;
    struct error *err;
};

static json_t *copy_field(struct reader *reader, const struct document_field *field, const json_t *value);

/* ---- Texts and numbers ---- */

static json_t *own(struct reader *reader, json_t *json)
{
    return json_in_arena(reader->arena, json);
}

static bool refuse(struct reader *reader, const char *message)
{
    return fail(reader->err, ERR_INVALID_REQUEST, NULL, "%s", message);
}

static json_t *copy_text(struct reader *reader, const struct document_field *field, const json_t *value)
{
    const char *text = json_string_value(value);
    if (text == NULL && !refuse(reader, "Give a text."))
        return NULL;
    const char *checked = field_text_check(reader->arena, field, text, reader->err);
    return checked != NULL ? own(reader, json_string(checked)) : NULL;
}

static bool is_one_of(const char *const *values, const char *text)
{
    for (; *values != NULL; values++)
        if (text_equal(*values, text))
            return true;
    return false;
}

static bool check_word(struct reader *reader, const char *const *values, const json_t *value)
{
    const char *text = json_string_value(value);
    size_t count = 0;
    if (text != NULL && is_one_of(values, text))
        return true;
    while (values[count] != NULL)
        count++;
    refuse(reader, "The value is not one of those that the member has.");
    return error_suggest_name(reader->err, text != NULL ? text : "", values, count);
}

static json_t *copy_integer(struct reader *reader, const struct document_field *field, const json_t *value)
{
    json_int_t number = json_integer_value(value);
    if (!json_is_integer(value) || number < field->min || number > field->max) {
        fail(reader->err, ERR_INVALID_REQUEST, NULL, "Give a whole number from %lld to %lld.", (long long)field->min,
             (long long)field->max);
        return NULL;
    }
    return own(reader, json_integer(number));
}

/* ---- Objects and lists ---- */

static const struct document_field *field_named(const struct document_field *fields, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (text_equal(fields[i].name, name))
            return &fields[i];
    return NULL;
}

static bool refuse_member(struct reader *reader, const char *name, const struct document_field *fields, size_t count)
{
    const char **names = arena_array(reader->arena, count + 1, sizeof(*names));
    for (size_t i = 0; i < count; i++)
        names[i] = fields[i].name;
    fail(reader->err, ERR_INVALID_REQUEST, name, "There is no such member here.");
    return error_suggest_name(reader->err, name, names, count);
}

/* Copies the members of one table in its order. A null and an empty object are members that are left out. */
static bool copy_members(struct reader *reader, const struct document_field *fields, size_t count, const json_t *given,
                         json_t *copy)
{
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_object_get(given, fields[i].name);
        if (value == NULL || json_is_null(value)) {
            if (fields[i].is_required)
                return fail(reader->err, ERR_INVALID_REQUEST, fields[i].name, "The member is missing.");
            continue;
        }
        json_t *checked = copy_field(reader, &fields[i], value);
        if (checked == NULL) {
            error_param_prefix(reader->err, fields[i].name);
            return false;
        }
        if (!json_is_object(checked) || json_object_size(checked) > 0)
            json_object_set(copy, fields[i].name, checked);
    }
    return true;
}

static json_t *copy_object(struct reader *reader, const struct document_field *fields, size_t count, const json_t *given)
{
    const char *name;
    json_t *value;
    if (!json_is_object(given) && !refuse(reader, "Give an object."))
        return NULL;
    json_object_foreach (json_for_iteration(given), name, value) {
        if (field_named(fields, count, name) == NULL && !refuse_member(reader, name, fields, count))
            return NULL;
    }
    json_t *copy = own(reader, json_object());
    return copy_members(reader, fields, count, given, copy) ? copy : NULL;
}

static json_t *copy_list(struct reader *reader, const struct document_field *field, const json_t *given)
{
    size_t count = json_array_size(given);
    if (!json_is_array(given) || count < (size_t)field->min || count > (size_t)field->max) {
        fail(reader->err, ERR_INVALID_REQUEST, NULL, "Give a list of %lld to %lld entries.", (long long)field->min,
             (long long)field->max);
        return NULL;
    }
    json_t *copy = own(reader, json_array());
    for (size_t i = 0; i < count; i++) {
        json_t *entry = copy_field(reader, field->fields, json_array_get(given, i));
        if (entry == NULL) {
            error_param_prefix(reader->err, arena_printf(reader->arena, "%zu", i));
            return NULL;
        }
        json_array_append(copy, entry);
    }
    return copy;
}

static json_t *copy_field(struct reader *reader, const struct document_field *field, const json_t *value)
{
    switch (field->kind) {
    case DOCUMENT_GROUP:
        return copy_object(reader, field->fields, field->field_count, value);
    case DOCUMENT_LIST:
        return copy_list(reader, field, value);
    case DOCUMENT_INTEGER:
        return copy_integer(reader, field, value);
    case DOCUMENT_ENUM:
        return check_word(reader, field->values, value) ? own(reader, json_string(json_string_value(value))) : NULL;
    case DOCUMENT_INLINE:
    case DOCUMENT_PLAIN:
    case DOCUMENT_NAME:
    case DOCUMENT_LINK:
    case DOCUMENT_SOURCE:
    case DOCUMENT_COLOUR:
    case DOCUMENT_MOMENT:
    case DOCUMENT_HTML:
    case DOCUMENT_CONDITION:
    case DOCUMENT_PATH:
    case DOCUMENT_ID:
        return copy_text(reader, field, value);
    }
    return NULL;
}

/* ---- Blocks ---- */

const struct document_block_type *document_block_type(const char *type)
{
    for (size_t i = 0; i < sizeof(block_types) / sizeof(block_types[0]); i++)
        if (text_equal(block_types[i].type, type))
            return &block_types[i];
    return NULL;
}

static const struct document_block_type *type_of(struct reader *reader, const json_t *given)
{
    const char *names[sizeof(block_types) / sizeof(block_types[0])];
    const char *name = json_get_text(given, "type");
    const struct document_block_type *type = document_block_type(name);
    if (type != NULL)
        return type;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        names[i] = block_types[i].type;
    fail(reader->err, ERR_INVALID_REQUEST, "type", "There is no such type of block.");
    error_suggest_name(reader->err, name != NULL ? name : "", names, sizeof(names) / sizeof(names[0]));
    return NULL;
}

static bool is_own_member(const char *name)
{
    for (size_t i = 0; i < sizeof(own_block_members) / sizeof(own_block_members[0]); i++)
        if (text_equal(name, own_block_members[i]))
            return true;
    return false;
}

static bool check_members(struct reader *reader, const struct document_block_type *type, const json_t *given)
{
    const char *name;
    json_t *value;
    json_object_foreach (json_for_iteration(given), name, value) {
        bool is_known = is_own_member(name) || field_named(block_fields, BLOCK_FIELD_COUNT, name) != NULL ||
                        field_named(type->fields, type->field_count, name) != NULL;
        if (!is_known)
            return refuse_member(reader, name, type->fields, type->field_count);
    }
    return true;
}

static bool copy_variant(struct reader *reader, const struct document_block_type *type, const json_t *given, json_t *copy)
{
    const json_t *variant = json_object_get(given, "variant");
    if (variant == NULL || json_is_null(variant)) {
        json_object_set_new(copy, "variant", json_string(type->variants[0]));
        return true;
    }
    if (!check_word(reader, type->variants, variant))
        return error_set_param(reader->err, "variant");
    json_object_set(copy, "variant", json_for_iteration(variant));
    return true;
}

static bool has_id(const json_t *given)
{
    const json_t *id = json_object_get(given, "id");
    return id != NULL && !json_is_null(id);
}

static bool copy_id(struct reader *reader, const json_t *given, enum block_ids ids, int64_t *serial, json_t *copy)
{
    if (ids == BLOCK_IDS_NEW && has_id(given))
        return fail(reader->err, ERR_INVALID_REQUEST, "id", "The service gives ids to new blocks. Leave id out.");
    const char *id = has_id(given) ? json_get_text(given, "id") : arena_printf(reader->arena, "b%lld", (long long)++*serial);
    json_object_set_new(copy, "id", json_string(id));
    return true;
}

/* A row has a cell for each column. */
static bool check_rows(struct reader *reader, const json_t *block)
{
    size_t columns = json_array_size(json_object_get(block, "columns"));
    const json_t *rows = json_object_get(block, "rows");
    for (size_t i = 0; i < json_array_size(rows); i++)
        if (json_array_size(json_array_get(rows, i)) != columns) {
            fail(reader->err, ERR_INVALID_REQUEST, NULL, "The row has not as many cells as the table has columns.");
            return error_set_param(reader->err, "rows.%zu", i);
        }
    return true;
}

json_t *document_read_block(struct arena *arena, const json_t *given, enum block_ids ids, int64_t *serial, struct error *err)
{
    struct reader reader = { .arena = arena, .err = err };
    if (!json_is_object(given) && !refuse(&reader, "Give an object."))
        return NULL;
    const struct document_block_type *type = type_of(&reader, given);
    if (type == NULL || !check_members(&reader, type, given))
        return NULL;
    json_t *copy = own(&reader, json_object());
    /* The table of members common to all blocks begins with the id, which copy_id has set. */
    bool is_read = copy_id(&reader, given, ids, serial, copy) && json_object_set_new(copy, "type", json_string(type->type)) == 0 &&
                   copy_variant(&reader, type, given, copy) &&
                   copy_members(&reader, block_fields + 1, BLOCK_FIELD_COUNT - 1, given, copy) &&
                   copy_members(&reader, type->fields, type->field_count, given, copy) && check_rows(&reader, copy);
    return is_read ? copy : NULL;
}

/* ---- Documents ---- */

static const struct document_field *document_field(const char *name)
{
    return field_named(document_fields, DOCUMENT_FIELD_COUNT, name);
}

json_t *document_read_theme(struct arena *arena, const json_t *given, struct error *err)
{
    struct reader reader = { .arena = arena, .err = err };
    return copy_field(&reader, document_field("theme"), given);
}

json_t *document_read_members(struct arena *arena, const json_t *given, struct error *err)
{
    struct reader reader = { .arena = arena, .err = err };
    const char *name;
    json_t *value;
    json_t *copy = own(&reader, json_object());
    json_object_foreach (json_for_iteration(given), name, value) {
        if (document_field(name) == NULL && !refuse_member(&reader, name, document_fields, DOCUMENT_FIELD_COUNT))
            return NULL;
    }
    /* The blocks are the last field. */
    if (!copy_members(&reader, document_fields, DOCUMENT_FIELD_COUNT - 1, given, copy))
        return NULL;
    json_object_set(copy, "blocks", json_object_get(given, "blocks"));
    return copy;
}

static json_t *read_blocks(struct arena *arena, const json_t *given, int64_t *serial, struct error *err)
{
    size_t count = json_array_size(given);
    if (!json_is_array(given) || count < 1 || count > DOCUMENT_BLOCKS_MAX) {
        fail(err, ERR_INVALID_REQUEST, NULL, "Give 1 to %d blocks.", DOCUMENT_BLOCKS_MAX);
        return NULL;
    }
    json_t *blocks = json_in_arena(arena, json_array());
    for (size_t i = 0; i < count; i++) {
        json_t *block = document_read_block(arena, json_array_get(given, i), BLOCK_IDS_NEW, serial, err);
        if (block == NULL) {
            error_param_prefix(err, arena_printf(arena, "%zu", i));
            return NULL;
        }
        json_array_append(blocks, block);
    }
    return blocks;
}

static bool check_size(struct arena *arena, const json_t *document, struct error *err)
{
    if (strlen(json_compact(arena, document)) <= DOCUMENT_MAX_BYTES)
        return true;
    return fail(err, ERR_PAYLOAD_TOO_LARGE, NULL, "A document has at most %d bytes.", DOCUMENT_MAX_BYTES);
}

bool document_read(struct arena *arena, const json_t *given, int64_t *serial, const json_t **ret_document, struct error *err)
{
    if (!json_is_object(given))
        return fail(err, ERR_INVALID_REQUEST, NULL, "Give an object.");
    json_t *document = document_read_members(arena, given, err);
    if (document == NULL)
        return false;
    json_t *blocks = read_blocks(arena, json_object_get(given, "blocks"), serial, err);
    if (blocks == NULL) {
        error_param_prefix(err, "blocks");
        return false;
    }
    json_object_set(document, "blocks", blocks);
    *ret_document = document;
    return check_size(arena, document, err);
}

bool document_find_block(const json_t *document, const char *id, size_t *ret_index)
{
    const json_t *blocks = json_object_get(document, "blocks");
    for (size_t i = 0; i < json_array_size(blocks); i++)
        if (text_equal(json_get_text(json_array_get(blocks, i), "id"), id)) {
            *ret_index = i;
            return true;
        }
    return false;
}

const char *document_schema(void)
{
    return full_schema;
}

const char *document_strict_schema(void)
{
    return strict_schema;
}

const char *document_help(void)
{
    return help_text;
}
