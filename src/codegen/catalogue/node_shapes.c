/* The wire shape of the configs of nodes, made from schemas/nodes. */
#include "nodes.h"

static json_t *wire_shape(const struct catalogue *all, const json_t *shape);

static void copy_members(json_t *target, const json_t *field, const char *const *names)
{
    for (; *names != NULL; names++) {
        if (json_object_get(field, *names) != NULL) {
            json_object_set(target, *names, json_object_get(field, *names));
        }
    }
}

static json_t *wire_field(const struct catalogue *all, const json_t *field)
{
    static const char *const bounds[] = { "description", "type", "enum", "minLength", "maxLength", "minimum", "maximum", "minItems",
                                          "maxItems", NULL };
    json_t *wire = json_object();
    copy_members(wire, field, bounds);
    switch (node_kind_of(field)) {
    case NODE_KIND_CONST:
        json_object_set_new(wire, "enum", json_pack("[O]", json_object_get(field, "const")));
        break;
    case NODE_KIND_ID:
        json_object_set_new(wire, "minLength", json_integer(1));
        break;
    case NODE_KIND_LOCAL_TIME:
        json_object_set_new(wire, "pattern", json_string("^([01][0-9]|2[0-3]):[0-5][0-9]$"));
        break;
    case NODE_KIND_SET:
        json_object_set_new(wire, "items", wire_field(all, json_object_get(field, "items")));
        break;
    case NODE_KIND_LIST:
        json_object_set_new(wire, "items", wire_shape(all, node_shape_of(all, field)));
        break;
    case NODE_KIND_OBJECT:
        json_decref(wire);
        wire = wire_shape(all, node_shape_of(all, field));
        copy_members(wire, field, bounds);
        break;
    case NODE_KIND_VALUE:
        json_object_set_new(wire, "type", json_pack("[s,s,s,s]", "string", "number", "boolean", "array"));
        json_object_set_new(wire, "items", json_object());
        break;
    case NODE_KIND_NONE:
    case NODE_KIND_TEXT:
    case NODE_KIND_ENUM:
    case NODE_KIND_INTEGER:
    case NODE_KIND_NUMBER:
    case NODE_KIND_BOOLEAN:
        break;
    }
    return wire;
}

static json_t *wire_shape(const struct catalogue *all, const json_t *shape)
{
    json_t *fields = json_object();
    const char *name;
    json_t *field;
    json_object_foreach(json_object_get(shape, "properties"), name, field) {
        json_object_set_new(fields, name, wire_field(all, field));
    }
    json_t *wire = json_pack("{s:s, s:b, s:o}", "type", "object", "additionalProperties", 0, "properties", fields);
    if (json_object_get(shape, "required") != NULL) {
        json_object_set(wire, "required", json_object_get(shape, "required"));
    }
    return wire;
}

static json_t *wire_form(const struct catalogue *all, const json_t *form)
{
    json_t *wire = wire_shape(all, form);
    json_object_set(wire, "title", json_object_get(form, "title"));
    return wire;
}

/* The decisions that the declarations follow, each once. */
static json_t *decisions_of(const struct catalogue *all)
{
    json_t *decisions = json_array();
    size_t i;
    const json_t *node;
    json_array_foreach(all->nodes, i, node) {
        size_t at;
        json_t *decision;
        json_array_foreach(json_object_get(node, "open"), at, decision) {
            if (json_is_string(decision) && !list_has(decisions, json_string_value(decision))) {
                json_array_append(decisions, decision);
            }
        }
    }
    return decisions;
}

/* The lint reports unusable declarations; they are left out of the shape. */
void add_node_resource(struct catalogue *all)
{
    json_t *forms = json_array();
    size_t i;
    const json_t *node;
    json_array_foreach(all->nodes, i, node) {
        size_t at;
        const json_t *form;
        json_array_foreach(json_object_get(node, "forms"), at, form) {
            json_array_append_new(forms, wire_form(all, form));
        }
    }
    json_t *example = json_pack("{s:i, s:s}", "duration", 1, "unit", "days");
    json_t *shape = json_pack("{s:s, s:s, s:[o], s:o, s:o}", "description", "Configuration of a node, by its type.", "type", "object",
                              "examples", example, "anyOf", forms, "open", decisions_of(all));
    json_object_set_new(all->resources, "automationNodeConfig", shape);
}
