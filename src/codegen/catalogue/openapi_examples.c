#include "openapi.h"

#include "types.h"

#include <string.h>

/* ---- Plain values ---- */

static bool fits_type(const json_t *value, const char *type)
{
    return (strcmp(type, "string") == 0 && json_is_string(value)) || (strcmp(type, "boolean") == 0 && json_is_boolean(value)) ||
           (strcmp(type, "integer") == 0 && json_is_integer(value)) || (strcmp(type, "number") == 0 && json_is_number(value)) ||
           (strcmp(type, "array") == 0 && json_is_array(value)) || (strcmp(type, "object") == 0 && json_is_object(value));
}

/* The type of a schema; the first non-null one of several. */
static const char *schema_type(const json_t *schema)
{
    const json_t *type = json_object_get(schema, "type");
    size_t i;
    const json_t *one;
    json_array_foreach(type, i, one)
    {
        if (strcmp(json_string_value(one), "null") != 0) {
            return json_string_value(one);
        }
    }
    return json_is_string(type) ? json_string_value(type) : "object";
}

static bool list_has_value(const json_t *values, const json_t *wanted)
{
    return json_is_string(wanted) && list_has(values, json_string_value(wanted));
}

/* The example in the declaration itself; NULL when there is none. */
static json_t *declared_value(const json_t *schema)
{
    const char *const lists[] = { "examples", "enum" };
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        json_t *first = json_array_get(json_object_get(schema, lists[i]), 0);
        if (first != NULL) {
            return json_incref(first);
        }
    }
    json_t *fixed = json_object_get(schema, "const");
    return fixed != NULL ? json_incref(fixed) : NULL;
}

static bool ends_with_id(const char *name)
{
    size_t length = strlen(name);
    return length > 2 && strcmp(name + length - 2, "Id") == 0;
}

static json_t *example_text(const json_t *schema, const char *name)
{
    const char *format = member_text(schema, "format");
    if (format != NULL && strcmp(format, "date-time") == 0) {
        return json_string("2026-03-02T09:30:00Z");
    }
    if (format != NULL && strcmp(format, "email") == 0) {
        return json_string("ada@example.com");
    }
    if (format != NULL && strcmp(format, "uri") == 0) {
        return json_string("https://example.com/spring");
    }
    return json_string(ends_with_id(name) ? text("%.3s_0f5j8x2m4qk7t", name) : "example");
}

static json_t *example_scalar(const json_t *schema, const char *name, const char *type)
{
    if (strcmp(type, "string") == 0) {
        return example_text(schema, name);
    }
    if (strcmp(type, "integer") == 0) {
        double least = member_number(schema, "minimum", 0);
        return json_integer((json_int_t)least);
    }
    if (strcmp(type, "number") == 0) {
        return json_real(member_number(schema, "minimum", 0));
    }
    return json_boolean(strcmp(type, "boolean") == 0);
}

/* ---- Values of schemas ---- */

/* The required members and those with an example; all members when none is required. */
static json_t *example_object(const struct catalogue *all, const json_t *schema)
{
    json_t *made = json_object();
    const json_t *required = json_object_get(schema, "required");
    const char *name;
    json_t *member;
    json_object_foreach(json_object_get(schema, "properties"), name, member)
    {
        if (json_array_size(required) == 0 || list_has(required, name) || json_object_get(member, "examples") != NULL) {
            json_object_set_new(made, name, example_of_schema(all, name, member));
        }
    }
    return made;
}

json_t *example_of_schema(const struct catalogue *all, const char *name, json_t *schema)
{
    json_t *whole = without_reference(all, schema);
    const char *type = schema_type(whole);
    json_t *usual = json_object_get(json_object_get(all->interface, "examples"), name);
    const json_t *choice = json_object_get(whole, "enum");
    bool has_own = json_object_get(whole, "examples") != NULL || (choice != NULL && !list_has_value(choice, usual));
    json_t *declared = usual == NULL || has_own || !fits_type(usual, type) ? declared_value(whole) : NULL;
    if (declared != NULL) {
        return declared;
    }
    json_t *any_of = json_object_get(whole, "anyOf");
    json_t *forms = any_of != NULL ? any_of : json_object_get(whole, "oneOf");
    if (forms != NULL) {
        return example_of_schema(all, name, json_array_get(forms, 0));
    }
    if (usual != NULL && fits_type(usual, type)) {
        return json_incref(usual);
    }
    json_t *preset = json_object_get(whole, "default");
    if (preset != NULL && fits_type(preset, type)) {
        return json_incref(preset);
    }
    if (strcmp(type, "object") == 0) {
        return example_object(all, whole);
    }
    if (strcmp(type, "array") == 0) {
        json_t *items = json_object_get(whole, "items");
        return items != NULL ? json_pack("[o]", example_of_schema(all, name, items)) : json_array();
    }
    return example_scalar(whole, name, type);
}

json_t *example_of_param(const struct catalogue *all, const struct param *param)
{
    json_t *schema = keep(param_schema(param, false));
    return example_of_schema(all, param->name, schema);
}

/* ---- Whole messages ---- */

static json_t *declared_message(const struct op_decl *op, const char *member)
{
    return json_object_get(json_object_get(op->json, "example"), member);
}

json_t *example_request(const struct catalogue *all, const struct op_decl *op)
{
    json_t *declared = declared_message(op, "request");
    if (declared != NULL) {
        return json_incref(declared);
    }
    const json_t *when = json_object_get(op->json, "when");
    const char *present = member_text(when, "present");
    json_t *equals = json_object_get(when, "equals");
    json_t *made = json_object();
    for (size_t i = 0; i < op->param_count; i++) {
        const struct param *param = &op->params[i];
        bool is_condition = present != NULL && strcmp(present, param->name) == 0;
        if (param->place == PLACE_BODY && (param->required || is_condition || json_object_get(param->schema, "example") != NULL)) {
            json_object_set_new(made, param->name, example_of_param(all, param));
        }
    }
    for (size_t i = 0; json_object_size(made) == 0 && i < op->param_count; i++) {
        if (op->params[i].place == PLACE_BODY) {
            json_object_set_new(made, op->params[i].name, example_of_param(all, &op->params[i]));
        }
    }
    json_object_update(made, equals);
    return made;
}

json_t *example_response(const struct catalogue *all, const struct op_decl *op)
{
    json_t *declared = declared_message(op, "response");
    json_t *result = result_schema(all, op);
    if (declared != NULL) {
        return json_incref(declared);
    }
    return result != NULL ? example_of_schema(all, op->domain, result) : json_object();
}
