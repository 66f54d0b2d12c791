/*
 * Exports a contract as JSON Schema (draft 2020-12). A field that is not
 * required also accepts null.
 */
#include "engine/contracts/contract_export.h"

#include "base/json_read.h"
#include "base/json_write.h"

static void add_fields(const struct contract_field *fields, size_t count, enum contract_enforcement enforcement,
                       struct json_writer *json);

static void add_type(const char *type, bool is_nullable, struct json_writer *json)
{
    json_key(json, "type");
    if (!is_nullable) {
        json_text(json, type);
        return;
    }
    json_array_begin(json);
    json_text(json, type);
    json_text(json, "null");
    json_array_end(json);
}

static void add_enum(const struct text_list *values, bool is_nullable, struct json_writer *json)
{
    json_key(json, "enum");
    json_array_begin(json);
    for (size_t i = 0; i < values->count; i++)
        json_text(json, values->items[i]);
    if (is_nullable)
        json_null_value(json);
    json_array_end(json);
}

static void add_scalar(enum contract_type type, const struct text_list *enum_values, bool is_nullable, struct json_writer *json)
{
    static const char *const types[] = {
        [CONTRACT_STRING] = "string",   [CONTRACT_INT] = "integer", [CONTRACT_FLOAT] = "number",
        [CONTRACT_BOOLEAN] = "boolean", [CONTRACT_DATE] = "string", [CONTRACT_ENUM] = "string",
    };
    add_type(types[type], is_nullable, json);
    if (type == CONTRACT_ENUM)
        add_enum(enum_values, is_nullable, json);
    if (type == CONTRACT_DATE) {
        json_member_text(json, "format", "date-time");
        json_member_text(json, "pattern", contract_date_pattern);
    }
}

static void add_items(const struct contract_field *field, enum contract_enforcement enforcement, struct json_writer *json)
{
    json_key(json, "items");
    json_object_begin(json);
    if (field->item_type != CONTRACT_UNKNOWN) {
        add_scalar(field->item_type, &field->enum_values, false, json);
    } else {
        add_type("object", false, json);
        add_fields(field->children, field->child_count, enforcement, json);
    }
    json_object_end(json);
}

static void add_notes(const struct contract_field *field, struct json_writer *json)
{
    json_member_text_if(json, "description", field->description);
    if (field->fallback != NULL) {
        json_key(json, "default");
        contract_write_scalar(field->fallback, json);
    }
    if (field->example != NULL) {
        json_key(json, "examples");
        json_array_begin(json);
        contract_write_scalar(field->example, json);
        json_array_end(json);
    }
}

static void add_field(const struct contract_field *field, enum contract_enforcement enforcement, struct json_writer *json)
{
    enum contract_type type = field->type == CONTRACT_UNKNOWN ? field->container : field->type;
    json_object_begin(json);
    if (type < CONTRACT_OBJECT)
        add_scalar(type, &field->enum_values, !field->is_required, json);
    else
        add_type(type == CONTRACT_OBJECT ? "object" : "array", !field->is_required, json);
    if (field->type == CONTRACT_OBJECT)
        add_fields(field->children, field->child_count, enforcement, json);
    else if (field->type == CONTRACT_ARRAY)
        add_items(field, enforcement, json);
    add_notes(field, json);
    json_object_end(json);
}

static void add_required(const struct contract_field *fields, size_t count, struct json_writer *json)
{
    json_key(json, "required");
    json_array_begin(json);
    for (size_t i = 0; i < count; i++)
        if (fields[i].is_required)
            json_text(json, fields[i].key);
    json_array_end(json);
}

static void add_fields(const struct contract_field *fields, size_t count, enum contract_enforcement enforcement,
                       struct json_writer *json)
{
    json_key(json, "properties");
    json_object_begin(json);
    for (size_t i = 0; i < count; i++) {
        json_key(json, fields[i].key);
        add_field(&fields[i], enforcement, json);
    }
    json_object_end(json);
    add_required(fields, count, json);
    if (enforcement == CONTRACT_STRICT)
        json_member_bool(json, "additionalProperties", false);
}

void contract_add_json_schema(const struct work *work, const struct contract *contract, const struct contract_subject *subject,
                              struct buf *out)
{
    struct json_writer json;
    json_writer_init(&json, out);
    json_object_begin(&json);
    json_member_text(&json, "$schema", "https://json-schema.org/draft/2020-12/schema");
    json_member_text(&json, "title", contract_payload_name(work, subject->title));
    json_member_text_if(&json, "description", subject->description);
    add_type("object", false, &json);
    add_fields(contract->fields, contract->count, contract->enforcement, &json);
    json_object_end(&json);
}
