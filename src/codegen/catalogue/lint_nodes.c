#include "lint.h"
#include "nodes.h"

#include <string.h>

/* The members that a field of each kind may have, beside type and description. */
static void lint_field_members(json_t *field, const char *place)
{
    static const char *const known[] = { "type=s", "description=s", "shared=s", "const=s", "format=s", "enum=t", "enumName=s",
                                         "minLength=i", "maxLength=i", "minimum=n", "maximum=n", "minItems=i", "maxItems=i", "items=o",
                                         "properties=o", "required=t", NULL };
    lint_members(field, known, place);
    lint_text(field, "description", place);
}

static void lint_bounds(const json_t *field, const char *least, const char *most, const char *place)
{
    if (json_object_get(field, least) == NULL || json_object_get(field, most) == NULL) {
        problem(place, "needs %s and %s", least, most);
    }
}

/* An enum is one C type, so the same name means the same words. */
static void lint_words(json_t *seen, const json_t *field, const char *place)
{
    const json_t *words = node_words_of(field);
    const char *name = member_text(words, "enumName");
    if (name == NULL || json_array_size(json_object_get(words, "enum")) == 0) {
        problem(place, "needs enum and enumName");
        return;
    }
    json_t *before = json_object_get(seen, name);
    if (before != NULL && !json_equal(before, json_object_get(words, "enum"))) {
        problem(place, "gives %s other words than another field does", name);
    }
    json_object_set(seen, name, json_object_get(words, "enum"));
}

static void lint_node_shape(const struct catalogue *all, json_t *seen, json_t *shape, const char *place);

static void lint_field(const struct catalogue *all, json_t *seen, json_t *field, const char *place)
{
    lint_field_members(field, place);
    switch (node_kind_of(field)) {
    case NODE_KIND_NONE:
        problem(place, "is of a kind that cannot be decoded");
        return;
    case NODE_KIND_ID:
        if (!is_one_of(member_text(field, "format") + strlen("id:"), id_kinds)) {
            problem(place, "is an id of an unknown kind");
        }
        return;
    case NODE_KIND_TEXT:
        lint_bounds(field, "minLength", "maxLength", place);
        return;
    case NODE_KIND_INTEGER:
    case NODE_KIND_NUMBER:
        lint_bounds(field, "minimum", "maximum", place);
        return;
    case NODE_KIND_SET:
    case NODE_KIND_ENUM:
        lint_words(seen, field, place);
        return;
    case NODE_KIND_LIST:
        lint_bounds(field, "minItems", "maxItems", place);
        return;
    case NODE_KIND_OBJECT:
        if (node_shape_of(all, field) == NULL) {
            problem(place, "refers to %s, which is not in schemas/nodes/shared.json", member_text(field, "shared"));
        } else if (member_text(field, "shared") == NULL) {
            lint_node_shape(all, seen, field, place);
        }
        return;
    case NODE_KIND_CONST:
    case NODE_KIND_LOCAL_TIME:
    case NODE_KIND_BOOLEAN:
    case NODE_KIND_VALUE:
        return;
    }
}

static void lint_node_shape(const struct catalogue *all, json_t *seen, json_t *shape, const char *place)
{
    json_t *fields = json_object_get(shape, "properties");
    const char *name;
    json_t *field;
    if (json_object_size(fields) == 0) {
        problem(place, "has no properties");
    }
    json_object_foreach(fields, name, field) {
        if (!is_camel_case(name)) {
            problem(place, "%s is not in camelCase", name);
        }
        lint_field(all, seen, field, text("%s: %s", place, name));
    }
    size_t i;
    const json_t *required;
    json_array_foreach(json_object_get(shape, "required"), i, required) {
        if (!json_is_string(required) || json_object_get(fields, json_string_value(required)) == NULL) {
            problem(place, "requires %s, which is not among its properties", json_is_string(required) ? json_string_value(required) : "");
        }
    }
}

/* All forms of a type fill one struct, so a member of two forms has one kind. */
static void lint_same_members(const json_t *forms, const json_t *form, const char *place)
{
    size_t i;
    const json_t *other;
    json_array_foreach(forms, i, other) {
        const char *name;
        json_t *field;
        json_object_foreach(json_object_get(form, "properties"), name, field) {
            const json_t *twin = json_object_get(json_object_get(other, "properties"), name);
            if (twin != NULL && node_kind_of(twin) != node_kind_of(field)) {
                problem(place, "%s has another kind in another form", name);
            }
        }
    }
}

static void lint_form(const struct catalogue *all, json_t *seen, const json_t *node, json_t *form, const char *place)
{
    static const char *const known[] = { "name=s", "title=s", "summary=s", "member=s", "value=s", "required=t", "properties=o",
                                         "branches=t", "branchesFrom=s", NULL };
    const json_t *forms = json_object_get(node, "forms");
    lint_members(form, known, place);
    lint_text(form, "name", place);
    lint_text(form, "title", place);
    lint_text(form, "summary", place);
    lint_node_shape(all, seen, form, place);
    lint_same_members(forms, form, place);
    const char *member = member_text(form, "member");
    if (json_array_size(forms) > 1 && (member == NULL || json_object_get(json_object_get(form, "properties"), member) == NULL)) {
        problem(place, "needs the member that distinguishes it from the other forms");
    }
}

static void lint_node(const struct catalogue *all, json_t *seen, json_t *node)
{
    static const char *const known[] = { "type=s", "alias=s", "summary=s", "decides=s", "payload=b", "open=t", "forms=a", NULL };
    const char *place = text("schemas/nodes/%s.json", member_text(node, "type") != NULL ? member_text(node, "type") : "");
    lint_members(node, known, place);
    lint_text(node, "type", place);
    lint_text(node, "summary", place);
    lint_text(node, "decides", place);
    size_t i;
    json_t *form;
    json_array_foreach(json_object_get(node, "forms"), i, form) {
        lint_form(all, seen, node, form, text("%s: form %zu", place, i + 1));
    }
    if (i == 0) {
        problem(place, "has no forms");
    }
}

/* The operations name the types, too. */
static void lint_type_words(const struct catalogue *all, const struct op_decl *op)
{
    const struct param *nodes = find_param(op, "nodes");
    for (size_t i = 0; nodes != NULL && i < nodes->field_count; i++) {
        const json_t *words = json_object_get(nodes->fields[i].schema, "enum");
        if (strcmp(nodes->fields[i].name, "type") != 0 || words == NULL) {
            continue;
        }
        size_t at;
        const json_t *node;
        json_array_foreach(all->nodes, at, node) {
            if (!list_has(words, member_text(node, "type"))) {
                problem(nodes->fields[i].where, "lacks the type %s of schemas/nodes", member_text(node, "type"));
            }
        }
        if (json_array_size(words) != json_array_size(all->nodes)) {
            problem(nodes->fields[i].where, "names types that are not in schemas/nodes");
        }
    }
}

void lint_nodes(const struct catalogue *all)
{
    json_t *seen = keep(json_object());
    const char *name;
    json_t *shape;
    json_object_foreach(all->node_shapes, name, shape) {
        lint_node_shape(all, seen, shape, text("schemas/nodes/shared.json: %s", name));
    }
    size_t i;
    json_t *node;
    json_array_foreach(all->nodes, i, node) {
        lint_node(all, seen, node);
    }
    for (i = 0; i < all->op_count; i++) {
        if (json_array_size(all->nodes) > 0) {
            lint_type_words(all, &all->ops[i]);
        }
    }
}
