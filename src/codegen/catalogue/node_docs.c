/* Texts about the types of nodes: the list in the help, and the reference page. */
#include "nodes.h"
#include "words.h"

#include <string.h>

/* The members of a shape; those of objects in braces, ? behind those that may be absent. */
static const char *member_list(const struct catalogue *all, const json_t *shape)
{
    const char *list = "";
    const char *name;
    json_t *field;
    json_object_foreach(json_object_get(shape, "properties"), name, field) {
        enum node_kind kind = node_kind_of(field);
        const char *inner = "";
        if (kind == NODE_KIND_OBJECT) {
            inner = text(": {%s}", member_list(all, node_shape_of(all, field)));
        } else if (kind == NODE_KIND_LIST) {
            inner = text(": [{%s}]", member_list(all, node_shape_of(all, field)));
        } else if (kind == NODE_KIND_CONST) {
            inner = text(": \"%s\"", member_text(field, "const"));
        }
        bool required = list_has(json_object_get(shape, "required"), name);
        list = text("%s%s%s%s%s", list, list[0] != '\0' ? ", " : "", name, required ? "" : "?", inner);
    }
    return list;
}

static const char *branch_words(const json_t *form)
{
    const json_t *branches = json_object_get(form, "branches");
    return json_array_size(branches) > 0 ? text(" Branches: %s.", words_of(branches)) : "";
}

const char *node_list(const struct catalogue *all)
{
    const char *list = "";
    size_t i;
    const json_t *node;
    json_array_foreach(all->nodes, i, node) {
        list = text("%s\n## %s\n\n%s %s\n\n", list, member_text(node, "type"), member_text(node, "summary"), member_text(node, "decides"));
        size_t at;
        const json_t *form;
        json_array_foreach(json_object_get(node, "forms"), at, form) {
            list = text("%s- {%s}: %s%s\n", list, member_list(all, form), member_text(form, "summary"), branch_words(form));
        }
    }
    return list;
}

/* ---- The page ---- */

static const char *form_words(const struct catalogue *all, const json_t *field)
{
    switch (node_kind_of(field)) {
    case NODE_KIND_ENUM:
    case NODE_KIND_SET:
        return text("%s%s", node_kind_of(field) == NODE_KIND_SET ? "list of " : "", words_of(json_object_get(node_words_of(field), "enum")));
    case NODE_KIND_INTEGER:
    case NODE_KIND_NUMBER:
        return text("%s, %.0f to %.0f", member_text(field, "type"), member_number(field, "minimum", 0), member_number(field, "maximum", 0));
    case NODE_KIND_TEXT:
        return text("text, at most %.0f characters", member_number(field, "maxLength", 0));
    case NODE_KIND_ID:
        return "id";
    case NODE_KIND_CONST:
        return member_text(field, "const");
    case NODE_KIND_LOCAL_TIME:
        return "text";
    case NODE_KIND_BOOLEAN:
        return "true or false";
    case NODE_KIND_OBJECT:
        return text("{%s}", member_list(all, node_shape_of(all, field)));
    case NODE_KIND_LIST:
        return text("list of {%s}, at most %.0f", member_list(all, node_shape_of(all, field)), member_number(field, "maxItems", 0));
    case NODE_KIND_VALUE:
    case NODE_KIND_NONE:
        break;
    }
    return "any value";
}

static void put_rows(struct output *out, const struct catalogue *all, const char *prefix, const json_t *shape)
{
    const char *name;
    json_t *field;
    json_object_foreach(json_object_get(shape, "properties"), name, field) {
        put(out, "| `%s%s` | %s%s | %s |\n", prefix, name, form_words(all, field),
            list_has(json_object_get(shape, "required"), name) ? "; required" : "", member_text(field, "description"));
        if (json_object_get(field, "properties") != NULL) {
            put_rows(out, all, text("%s%s.", prefix, name), field);
        }
    }
}

static void put_node(struct output *out, const struct catalogue *all, const json_t *node)
{
    put(out, "\n## %s\n\n%s %s\n", member_text(node, "type"), member_text(node, "summary"), member_text(node, "decides"));
    if (member_text(node, "alias") != NULL) {
        put(out, "`%s` is accepted as another name of the type.\n", member_text(node, "alias"));
    }
    size_t i;
    const json_t *form;
    json_array_foreach(json_object_get(node, "forms"), i, form) {
        put(out, "\n### %s: %s\n\n%s%s\n\n| Member | Form | Meaning |\n| --- | --- | --- |\n", member_text(node, "type"),
            member_text(form, "name"), member_text(form, "summary"), branch_words(form));
        put_rows(out, all, "", form);
    }
}

static void put_shared(struct output *out, const struct catalogue *all)
{
    const char *name;
    json_t *shape;
    json_object_foreach(all->node_shapes, name, shape) {
        put(out, "\n## %s\n\n%s\n\n| Member | Form | Meaning |\n| --- | --- | --- |\n", name, member_text(shape, "description"));
        put_rows(out, all, "", shape);
    }
}

void emit_node_docs(const struct catalogue *all, const char *folder)
{
    struct output out;
    output_open(&out, folder, "nodes.md");
    put(&out, "# Nodes of automations\n\nGenerated from `schemas/nodes`. [The module](../modules/automations.md) describes how nodes "
              "decide. A config has exactly the members of one form of its type.\n");
    size_t i;
    const json_t *node;
    json_array_foreach(all->nodes, i, node) {
        put_node(&out, all, node);
    }
    put_shared(&out, all);
    output_close(&out);
}
