#include "types.h"

#include <string.h>

/* Parameters have more members than JSON Schema. These are copied, in this order. */
static const char *const passed_to_all[] = { "minimum", "maximum", "default", NULL };
static const char *const passed_to_openapi[] = { "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", NULL };

static void copy_members(json_t *to, const json_t *from, const char *const *names)
{
    for (; *names != NULL; names++) {
        json_t *value = json_object_get(from, *names);
        if (value != NULL) {
            json_object_set(to, *names, value);
        }
    }
}

static json_t *object_schema(const struct param *fields, size_t count, bool for_tool)
{
    json_t *schema = json_pack("{s:s, s:{}}", "type", "object", "properties");
    json_t *required = json_array();
    for (size_t i = 0; i < count; i++) {
        json_object_set_new(json_object_get(schema, "properties"), fields[i].name, param_schema(&fields[i], for_tool));
        if (fields[i].required) {
            json_array_append_new(required, json_string(fields[i].name));
        }
    }
    if (json_array_size(required) > 0) {
        json_object_set(schema, "required", required);
    }
    json_decref(required);
    if (!for_tool) {
        json_object_set_new(schema, "additionalProperties", json_false());
    }
    return schema;
}

static json_t *array_schema(json_t *items)
{
    return json_pack("{s:s, s:o}", "type", "array", "items", items);
}

static json_t *text_items(const struct param *param, bool for_tool)
{
    json_t *items = json_pack("{s:s}", "type", "string");
    if (!for_tool) {
        copy_members(items, json_object_get(param->schema, "items"), passed_to_openapi);
    }
    return items;
}

static json_t *text_schema(const struct param *param, bool for_tool)
{
    json_t *schema = json_pack("{s:s}", "type", "string");
    if (is_nullable(param) && !for_tool) {
        json_object_set_new(schema, "type", json_pack("[s, s]", "string", "null"));
    }
    const char *format = member_text(param->schema, "format");
    bool is_email = format != NULL && strcmp(format, "email") == 0;
    if (param->kind == PARAM_TIME || (is_email && !for_tool)) {
        json_object_set_new(schema, "format", json_string(format));
    }
    return schema;
}

/* A single text is accepted as a list of one. Tool schemas omit this, so that assistants use one form. */
static json_t *text_list_schema(const struct param *param, bool for_tool)
{
    json_t *schema = array_schema(text_items(param, for_tool));
    if (!for_tool && member_true(param->schema, "single")) {
        json_object_set_new(schema, "type", json_pack("[s, s]", "array", "string"));
    }
    return schema;
}

/* The schema of a free value: any shape, or the shape of a resource. */
static json_t *free_schema(const struct param *param, bool for_tool)
{
    const char *shape = for_tool ? NULL : member_text(param->schema, "shape");
    json_t *value = shape != NULL ? json_pack("{s:s}", "$ref", text("%s.json", shape)) : json_pack("{s:s}", "type", "object");
    if (strcmp(member_text(param->schema, "type"), "array") == 0) {
        return array_schema(value);
    }
    if (!for_tool && member_true(param->schema, "listToo")) {
        json_object_set_new(value, "type", json_pack("[s, s]", "object", "array"));
    }
    if (!for_tool && member_true(param->schema, "anyToo")) {
        json_object_del(value, "type");
    }
    return value;
}

static json_t *schema_of_kind(const struct param *param, bool for_tool)
{
    switch (param->kind) {
    case PARAM_TEXT:
    case PARAM_ID:
    case PARAM_TIME:
        return text_schema(param, for_tool);
    case PARAM_INTEGER:
        return json_pack("{s:s}", "type", "integer");
    case PARAM_NUMBER:
        return json_pack("{s:s}", "type", "number");
    case PARAM_BOOLEAN:
        return json_pack("{s:s}", "type", "boolean");
    case PARAM_ENUM:
        return json_pack("{s:s, s:O}", "type", "string", "enum", enum_values(param));
    case PARAM_TOKENS:
        return array_schema(json_pack("{s:s, s:O}", "type", "string", "enum", enum_values(param)));
    case PARAM_TEXT_LIST:
        return text_list_schema(param, for_tool);
    case PARAM_OBJECT:
        return object_schema(param->fields, param->field_count, for_tool);
    case PARAM_OBJECT_LIST:
        return array_schema(object_schema(param->fields, param->field_count, for_tool));
    case PARAM_JSON:
        return free_schema(param, for_tool);
    }
    return json_object();
}

json_t *param_schema(const struct param *param, bool for_tool)
{
    json_t *schema = schema_of_kind(param, for_tool);
    const char *description = member_text(param->schema, "description");
    if (description != NULL) {
        json_object_set_new(schema, "description", json_string(description));
    }
    copy_members(schema, param->schema, passed_to_all);
    if (!for_tool) {
        copy_members(schema, param->schema, passed_to_openapi);
        json_t *example = json_object_get(param->schema, "example");
        if (example != NULL) {
            json_object_set_new(schema, "examples", json_pack("[O]", example));
        }
    }
    return schema;
}

json_t *without_reference(const struct catalogue *all, json_t *schema)
{
    const char *reference = member_text(schema, "$ref");
    if (reference == NULL) {
        return schema;
    }
    size_t length = strlen(reference);
    size_t suffix = strlen(".json");
    if (length <= suffix) {
        return NULL;
    }
    return json_object_get(all->resources, text("%.*s", (int)(length - suffix), reference));
}

json_t *result_schema(const struct catalogue *all, const struct op_decl *op)
{
    json_t *result = json_object_get(op->json, "result");
    return json_is_string(result) ? json_object_get(all->resources, json_string_value(result)) : result;
}

json_t *assistant_result_schema(const struct catalogue *all, const struct op_decl *op)
{
    const char *report = member_text(op->json, "assistantResult");
    return report != NULL ? json_object_get(all->resources, report) : result_schema(all, op);
}
