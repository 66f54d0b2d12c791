#include "types.h"
#include "words.h"

#include <string.h>

/* ---- Input ---- */

/* True when the tool shows this parameter of its operations. */
static bool is_shown(const struct tool_decl *tool, const char *name)
{
    const json_t *only = json_object_get(tool->json, "only");
    if (json_object_get(json_object_get(tool->json, "fixed"), name) != NULL) {
        return false;
    }
    return only == NULL || list_has(only, name);
}

/* Adds the values of `from` that are missing. */
static void merge_enum(json_t *into, const json_t *from)
{
    size_t i;
    json_t *value;
    json_array_foreach(from, i, value) {
        if (!list_has(into, json_string_value(value))) {
            json_array_append(into, value);
        }
    }
}

/* Merges an argument that two operations of one tool share; it must have one type. */
static void merge_property(const struct tool_decl *tool, json_t *known, json_t *other, const char *name)
{
    const char *type = member_text(known, "type");
    if (type == NULL || member_text(other, "type") == NULL || strcmp(type, member_text(other, "type")) != 0) {
        problem(tool->where, "%s has different types in its operations", name);
        return;
    }
    json_t *values = json_object_get(known, "enum");
    if (values != NULL) {
        merge_enum(values, json_object_get(other, "enum"));
    }
    json_t *preset = json_object_get(known, "default");
    if (preset != NULL && !json_equal(preset, json_object_get(other, "default"))) {
        json_object_del(known, "default");
    }
}

/* Arguments in `brief` have a description only: the members of an object cost every caller tokens. */
static void shorten_schema(const struct tool_decl *tool, json_t *schema, const char *name)
{
    if (list_has(json_object_get(tool->json, "brief"), name)) {
        json_t *object = json_object_get(schema, "items");
        object = object != NULL ? object : schema;
        json_object_del(object, "properties");
        json_object_del(object, "required");
    }
    if (json_is_false(json_object_get(schema, "default"))) {
        json_object_del(schema, "default");
    }
}

static void add_property(const struct tool_decl *tool, json_t *properties, const struct param *param)
{
    json_t *schema = param_schema(param, true);
    shorten_schema(tool, schema, param->name);
    json_t *known = json_object_get(properties, param->name);
    if (known != NULL) {
        merge_property(tool, known, schema, param->name);
        json_decref(schema);
        return;
    }
    /* Copied, because a merge extends enums. */
    json_object_set_new(properties, param->name, json_deep_copy(schema));
    json_decref(schema);
}

static bool is_required_by_all(const struct tool_decl *tool, const char *name)
{
    if (list_has(json_object_get(tool->json, "require"), name)) {
        return true; /* optional in an operation that accepts another form */
    }
    for (size_t i = 0; i < tool->op_count; i++) {
        if (!tool->ops[i]->built) {
            continue;
        }
        const struct param *param = find_param(tool->ops[i], name);
        if (param == NULL || !param->required) {
            return false;
        }
    }
    return json_object_get(json_object_get(tool->json, "default"), name) == NULL;
}

static json_t *chooser_property(const struct tool_decl *tool)
{
    json_t *values = json_array();
    for (size_t i = 0; i < tool->op_count; i++) {
        if (tool->ops[i]->built) {
            json_array_append_new(values, json_string(tool->choosers[i]));
        }
    }
    return json_pack("{s:s, s:o}", "type", "string", "enum", values);
}

static void apply_tool_overrides(const struct tool_decl *tool, json_t *properties)
{
    const char *name;
    json_t *value;
    json_object_foreach(json_object_get(tool->json, "describe"), name, value) {
        json_t *property = json_object_get(properties, name);
        if (property == NULL) {
            problem(tool->where, "describes %s, which is not one of its arguments", name);
            continue;
        }
        if (json_is_null(value)) {
            json_object_del(property, "description"); /* the name is enough */
        } else {
            json_object_set(property, "description", value);
        }
    }
    json_object_foreach(json_object_get(tool->json, "default"), name, value) {
        json_t *property = json_object_get(properties, name);
        if (property != NULL) {
            json_object_set(property, "default", value); /* absent: only an operation that is not built accepts it */
        }
    }
}

/* The order for readers: the choosing argument first, then the order of `only`, or else that of the operations. */
static json_t *order_properties(const struct tool_decl *tool, json_t *properties)
{
    const json_t *only = json_object_get(tool->json, "only");
    if (only == NULL) {
        return properties;
    }
    json_t *ordered = json_object();
    if (tool->choose_by != NULL) {
        json_object_set(ordered, tool->choose_by, json_object_get(properties, tool->choose_by));
    }
    size_t i;
    const json_t *name;
    json_array_foreach(only, i, name) {
        json_t *property = json_object_get(properties, json_string_value(name));
        if (property != NULL) {
            json_object_set(ordered, json_string_value(name), property);
        }
    }
    json_decref(properties);
    return ordered;
}

static bool honours_key(const struct tool_decl *tool)
{
    for (size_t i = 0; i < tool->op_count; i++) {
        if (tool->ops[i]->built && member_true(tool->ops[i]->json, "idempotencyKey")) {
            return true;
        }
    }
    return false;
}

static bool any_op_asks_confirmation(const struct tool_decl *tool)
{
    for (size_t i = 0; i < tool->op_count; i++) {
        if (tool->ops[i]->built && member_text(tool->ops[i]->json, "confirmation") != NULL) {
            return true;
        }
    }
    return false;
}

static bool any_op_waits(const struct tool_decl *tool)
{
    for (size_t i = 0; i < tool->op_count; i++) {
        if (tool->ops[i]->built && member_true(tool->ops[i]->json, "waits")) {
            return true;
        }
    }
    return false;
}

/* The arguments that shape the answer of a tool; no operation takes them (src/api/tool_view.h). */
static void add_view_properties(const struct catalogue *all, const struct tool_decl *tool, json_t *properties)
{
    const char *member = member_text(json_object_get(tool->json, "long"), "member");
    if (member != NULL) {
        json_object_set_new(properties, text("%sFrom", member), json_pack("{s:s, s:i}", "type", "integer", "minimum", 0));
        json_object_set_new(properties, text("%sChars", member), json_pack("{s:s, s:i}", "type", "integer", "minimum", 1));
    }
    if (cuts_lists(all, tool) && json_object_get(properties, "limit") == NULL) {
        json_object_set_new(properties, "limit",
                            json_pack("{s:s, s:i, s:i, s:i}", "type", "integer", "minimum", 1, "maximum", 100, "default", 10));
    }
    if (takes_detail(all, tool)) {
        json_object_set_new(properties, "detail", json_pack("{s:s, s:[s]}", "type", "string", "enum", "full"));
    }
}

static json_t *input_schema(const struct catalogue *all, const struct tool_decl *tool)
{
    json_t *properties = json_object();
    if (tool->choose_by != NULL) {
        json_object_set_new(properties, tool->choose_by, chooser_property(tool));
    }
    for (size_t i = 0; i < tool->op_count; i++) {
        const struct op_decl *op = tool->ops[i];
        for (size_t at = 0; op->built && at < op->param_count; at++) {
            if (is_shown(tool, op->params[at].name)) {
                add_property(tool, properties, &op->params[at]);
            }
        }
    }
    properties = order_properties(tool, properties);
    apply_tool_overrides(tool, properties);
    json_t *required = json_array();
    const char *name;
    json_t *property;
    json_object_foreach(properties, name, property) {
        bool chooses = tool->choose_by != NULL && strcmp(name, tool->choose_by) == 0;
        if (is_required_by_all(tool, name) || (chooses && json_object_get(property, "default") == NULL)) {
            json_array_append_new(required, json_string(name));
        }
    }
    if (honours_key(tool)) {
        json_object_set_new(properties, "idempotencyKey", json_pack("{s:s}", "type", "string"));
    }
    if (any_op_asks_confirmation(tool)) {
        json_object_set_new(properties, "confirmationToken", json_pack("{s:s, s:s}", "type", "string", "description", "Of the preview."));
    }
    if (any_op_waits(tool)) {
        json_object_set_new(properties, "waitSeconds", json_pack("{s:s, s:i, s:i}", "type", "integer", "minimum", 0, "maximum", 50));
    }
    add_view_properties(all, tool, properties);
    json_t *schema = json_pack("{s:s, s:o}", "type", "object", "properties", properties);
    if (json_array_size(required) > 0) {
        json_object_set(schema, "required", required);
    }
    json_decref(required);
    json_object_set_new(schema, "additionalProperties", json_false());
    return schema;
}

/* ---- Output ---- */

/* The type of a top-level member; NULL when it has several types or a more complex schema. */
static const char *plain_type(const struct catalogue *all, json_t *schema)
{
    return member_text(without_reference(all, schema), "type");
}

/* A result with required members always has these. A result without them may omit any member. */
static bool is_reliable_member(const json_t *result, const char *name)
{
    const json_t *required = json_object_get(result, "required");
    return json_array_size(required) == 0 || list_has(required, name);
}

static bool is_common_key(const struct catalogue *all, const struct tool_decl *tool, const char *name, const char *type)
{
    for (size_t i = 0; i < tool->op_count; i++) {
        if (!tool->ops[i]->built) {
            continue;
        }
        const json_t *result = assistant_result_schema(all, tool->ops[i]);
        const char *other = plain_type(all, json_object_get(json_object_get(result, "properties"), name));
        if (!is_reliable_member(result, name) || other == NULL || strcmp(other, type) != 0) {
            return false;
        }
    }
    const json_t *chosen = json_object_get(tool->json, "output");
    return chosen == NULL || list_has(chosen, name);
}

static json_t *output_property(const struct catalogue *all, json_t *schema, const char *type)
{
    json_t *property = json_pack("{s:s}", "type", type);
    if (strcmp(type, "array") == 0) {
        const char *item_type = plain_type(all, json_object_get(without_reference(all, schema), "items"));
        json_object_set_new(property, "items", json_pack("{s:s}", "type", item_type != NULL ? item_type : "object"));
    }
    return property;
}

static const struct op_decl *first_built(const struct tool_decl *tool)
{
    for (size_t i = 0; i < tool->op_count; i++) {
        if (tool->ops[i]->built) {
            return tool->ops[i];
        }
    }
    return NULL;
}

/* The top-level keys that every built operation returns. None is required, so that no projection can violate the schema. */
static json_t *output_schema(const struct catalogue *all, const struct tool_decl *tool)
{
    json_t *properties = json_object();
    const char *name;
    json_t *schema;
    json_object_foreach(json_object_get(assistant_result_schema(all, first_built(tool)), "properties"), name, schema) {
        const char *type = plain_type(all, schema);
        if (type != NULL && is_common_key(all, tool, name, type)) {
            json_object_set_new(properties, name, output_property(all, schema, type));
        }
    }
    return json_pack("{s:s, s:o}", "type", "object", "properties", properties);
}

/* ---- The tool ---- */

static json_t *annotations(const struct tool_decl *tool)
{
    const json_t *hints = json_object_get(tool->json, "hints");
    return json_pack("{s:b, s:b, s:b, s:b}", "readOnlyHint", member_true(hints, "readOnly"), "destructiveHint",
                     member_true(hints, "destructive"), "idempotentHint", member_true(hints, "idempotent"), "openWorldHint",
                     member_true(hints, "openWorld"));
}

static bool works_in_a_brand(const struct tool_decl *tool)
{
    for (size_t i = 0; i < tool->op_count; i++) {
        const char *reach = member_text(tool->ops[i]->json, "reach");
        if (tool->ops[i]->built && reach != NULL && strcmp(reach, "brand") == 0) {
            return true;
        }
    }
    return false;
}

/* A connection that is bound to no brand names one in each call. */
static json_t *with_brand_argument(json_t *list_object)
{
    json_t *object = json_deep_copy(list_object);
    json_t *properties = json_object_get(json_object_get(object, "inputSchema"), "properties");
    json_object_set_new(properties, "brandId", json_pack("{s:s}", "type", "string"));
    return object;
}

void make_tool_schemas(struct catalogue *all)
{
    for (size_t i = 0; i < all->tool_count; i++) {
        struct tool_decl *tool = &all->tools[i];
        const char *sentence = member_text(tool->json, "description");
        tool->description = text("%s %s", sentence != NULL ? sentence : "", tool_cost(all, tool));
        if (!tool->built) {
            continue;
        }
        tool->input_schema = keep(input_schema(all, tool));
        tool->output_schema = keep(output_schema(all, tool));
        tool->list_object = keep(json_pack("{s:s, s:s, s:s, s:O, s:O, s:o}", "name", tool->name, "title",
                                           member_text(tool->json, "title"), "description", tool->description, "inputSchema",
                                           tool->input_schema, "outputSchema", tool->output_schema, "annotations",
                                           annotations(tool)));
        if (works_in_a_brand(tool)) {
            tool->organization_object = keep(with_brand_argument(tool->list_object));
        }
    }
}
