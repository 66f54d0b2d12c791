/*
 * The names of types and modes, and trees of fields as JSON: in their wire
 * form, as they are stored, and as the text that the hash of a contract covers.
 */
#include "engine/contracts/contract.h"

#include "base/json_read.h"

#include <string.h>

/* A tree of CONTRACT_FIELDS_MAX fields with all texts at their bounds is larger than any body, which bounds it as well. */
enum { FIELDS_JSON_MAX_BYTES = 16 * 1024 * 1024 };

/* ---- Names ---- */

static const char *const type_names[] = {
    [CONTRACT_STRING] = "string",   [CONTRACT_INT] = "int",     [CONTRACT_FLOAT] = "float",
    [CONTRACT_BOOLEAN] = "boolean", [CONTRACT_DATE] = "date",   [CONTRACT_ENUM] = "enum",
    [CONTRACT_OBJECT] = "object",   [CONTRACT_ARRAY] = "array", [CONTRACT_UNKNOWN] = "unknown",
};
static const char *const enforcement_names[] = { [CONTRACT_OFF] = "off", [CONTRACT_PRUNE] = "prune", [CONTRACT_STRICT] = "strict" };

const char *contract_type_name(enum contract_type type)
{
    return type_names[type];
}

const char *contract_enforcement_name(enum contract_enforcement enforcement)
{
    return enforcement_names[enforcement];
}

enum contract_enforcement contract_enforcement_from_name(const char *name)
{
    if (strcmp(name, enforcement_names[CONTRACT_STRICT]) == 0)
        return CONTRACT_STRICT;
    return strcmp(name, enforcement_names[CONTRACT_PRUNE]) == 0 ? CONTRACT_PRUNE : CONTRACT_OFF;
}

/* ---- Fields ---- */

void contract_write_scalar(const json_t *value, struct json_writer *json)
{
    if (json_is_string(value))
        json_bytes(json, json_string_value(value), json_string_length(value));
    else if (json_is_integer(value))
        json_int(json, json_integer_value(value));
    else if (json_is_real(value))
        json_number(json, json_real_value(value));
    else
        json_bool(json, json_is_true(value));
}

static void write_member(struct json_writer *json, const char *name, const json_t *value)
{
    if (value == NULL)
        return;
    json_key(json, name);
    contract_write_scalar(value, json);
}

static void write_fields(const struct contract_field *fields, size_t count, bool as_schema, struct json_writer *json);

static void write_enum_values(const struct contract_field *field, struct json_writer *json)
{
    json_member_texts(json, "enumValues", field->enum_values);
}

static void write_type(const struct contract_field *field, bool as_schema, struct json_writer *json)
{
    enum contract_type type = as_schema && field->type == CONTRACT_UNKNOWN ? field->container : field->type;
    json_member_text(json, "key", field->key);
    json_member_text(json, "type", contract_type_name(type));
    json_member_bool(json, "required", field->is_required);
    if (field->type == CONTRACT_ARRAY && field->item_type != CONTRACT_UNKNOWN)
        json_member_text(json, "itemType", contract_type_name(field->item_type));
    if (field->enum_values.count > 0)
        write_enum_values(field, json);
}

static void write_field(const struct contract_field *field, bool as_schema, struct json_writer *json)
{
    json_object_begin(json);
    write_type(field, as_schema, json);
    write_member(json, "fallbackValue", field->fallback);
    json_member_text_if(json, "description", field->description);
    write_member(json, "exampleValue", field->example);
    if (field->child_count > 0) {
        json_key(json, "children");
        write_fields(field->children, field->child_count, as_schema, json);
    }
    json_object_end(json);
}

static void write_fields(const struct contract_field *fields, size_t count, bool as_schema, struct json_writer *json)
{
    json_array_begin(json);
    for (size_t i = 0; i < count; i++)
        write_field(&fields[i], as_schema, json);
    json_array_end(json);
}

void contract_write_fields(const struct contract *contract, bool as_schema, struct json_writer *json)
{
    write_fields(contract->fields, contract->count, as_schema, json);
}

const char *contract_fields_json(const struct work *work, const struct contract *contract, bool as_schema)
{
    struct json_writer json;
    struct buf *text = buf_in_arena(work->arena, FIELDS_JSON_MAX_BYTES);
    json_writer_init(&json, text);
    contract_write_fields(contract, as_schema, &json);
    return buf_text(text);
}

/* ---- Findings ---- */

void contract_write_findings(const struct contract_finding *findings, size_t count, struct json_writer *json)
{
    json_array_begin(json);
    for (size_t i = 0; i < count; i++) {
        json_object_begin(json);
        json_member_text(json, "code", findings[i].code);
        json_member_text(json, "field", findings[i].field);
        json_member_text(json, "message", findings[i].message);
        json_member_text_if(json, "expectedType", findings[i].expected_type);
        json_member_text_if(json, "actualType", findings[i].actual_type);
        json_object_end(json);
    }
    json_array_end(json);
}

/* ---- Hash ---- */

static void write_shape(const struct contract_field *const *by_key, size_t count, struct json_writer *json)
{
    json_array_begin(json);
    for (size_t i = 0; i < count; i++) {
        json_object_begin(json);
        write_type(by_key[i], true, json);
        write_member(json, "fallbackValue", by_key[i]->fallback);
        json_key(json, "children");
        write_shape(by_key[i]->children_by_key, by_key[i]->child_count, json);
        json_object_end(json);
    }
    json_array_end(json);
}

void contract_hash(const struct work *work, const struct contract *contract, unsigned char ret_hash[CONTRACT_HASH_BYTES])
{
    struct json_writer json;
    struct buf *text = buf_in_arena(work->arena, FIELDS_JSON_MAX_BYTES);
    json_writer_init(&json, text);
    write_shape(contract->fields_by_key, contract->count, &json);
    sha256(buf_text(text), text->size, ret_hash);
}
