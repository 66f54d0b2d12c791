/*
 * Views: what tools may leave out of a result. The shape of the result declares
 * it as `view`: its technical members, the lists that obey a tool's limit, the
 * members that stay when they are empty, and the lists of faulty rows that are
 * grouped by code.
 */
#include "lint.h"

#include <string.h>

enum { SHAPE_MAX_DEPTH = 8 };

static json_t *view_of(json_t *shape)
{
    return json_object_get(shape, "view");
}

/* Adds the paths of technical members below `path`. Items of a list have the path of the list. */
static void add_technical(const struct catalogue *all, json_t *schema, const char *path, unsigned depth, json_t *paths)
{
    json_t *shape = without_reference(all, schema);
    if (shape == NULL || depth > SHAPE_MAX_DEPTH) {
        return;
    }
    size_t i;
    const json_t *technical;
    json_array_foreach (json_object_get(view_of(shape), "technical"), i, technical) {
        json_array_append_new(paths, json_string(text("%s%s", path, json_string_value(technical))));
    }
    const char *name;
    json_t *member;
    json_object_foreach (json_object_get(shape, "properties"), name, member) {
        add_technical(all, member, text("%s%s.", path, name), depth + 1, paths);
    }
    if (json_object_get(shape, "items") != NULL) {
        add_technical(all, json_object_get(shape, "items"), path, depth + 1, paths);
    }
}

static json_t *technical_paths(const struct catalogue *all, const struct op_decl *op)
{
    json_t *paths = keep(json_array());
    json_t *result = result_schema(all, op);
    if (result != NULL) {
        add_technical(all, result, "", 0, paths);
    }
    return paths;
}

bool has_view(const struct catalogue *all, const struct op_decl *op)
{
    return view_of(result_schema(all, op)) != NULL || json_array_size(technical_paths(all, op)) > 0;
}

bool takes_detail(const struct catalogue *all, const struct tool_decl *tool)
{
    bool takes = member_true(json_object_get(tool->json, "hints"), "readOnly");
    for (size_t i = 0; i < tool->op_count; i++) {
        bool is_grouped = json_object_get(view_of(result_schema(all, tool->ops[i])), "grouped") != NULL;
        takes = takes || (tool->ops[i]->built && is_grouped);
    }
    return takes && tool->built;
}

bool cuts_lists(const struct catalogue *all, const struct tool_decl *tool)
{
    bool cuts = false;
    bool reads = member_true(json_object_get(tool->json, "hints"), "readOnly");
    for (size_t i = 0; reads && i < tool->op_count; i++) {
        const struct op_decl *op = tool->ops[i];
        bool is_cut = json_object_get(view_of(result_schema(all, op)), "cut") != NULL;
        cuts = cuts || (op->built && is_cut && find_param(op, "limit") == NULL);
    }
    return cuts;
}

/* ---- The constant ---- */

static void put_words(struct output *out, const char *member, const json_t *words)
{
    if (json_array_size(words) == 0) {
        return;
    }
    put(out, "    .%s = (const char *const[]){ ", member);
    size_t i;
    const json_t *word;
    json_array_foreach (words, i, word) {
        put(out, "\"%s\", ", json_string_value(word));
    }
    put(out, "NULL },\n");
}

static void put_groups(struct output *out, json_t *grouped)
{
    static const char *const members[] = { "row", "counts", "uri", NULL };
    if (grouped == NULL) {
        return;
    }
    put(out, "    .groups = (const struct result_group[]){\n");
    const char *name;
    json_t *group;
    json_object_foreach (grouped, name, group) {
        put(out, "        { .member = \"%s\"", name);
        for (const char *const *member = members; *member != NULL; member++) {
            if (member_text(group, *member) != NULL) {
                put(out, ", .%s = \"%s\"", *member, member_text(group, *member));
            }
        }
        put(out, " },\n");
    }
    put(out, "        { .member = NULL },\n    },\n");
}

void put_view(struct output *out, const struct catalogue *all, const struct op_decl *op)
{
    json_t *view = view_of(result_schema(all, op));
    put(out, "static const struct result_view %s_view = {\n", op->c_name);
    put_words(out, "technical", technical_paths(all, op));
    put_words(out, "cut", json_object_get(view, "cut"));
    put_words(out, "kept", json_object_get(view, "kept"));
    put_groups(out, json_object_get(view, "grouped"));
    if (member_true(view, "always")) {
        put(out, "    .is_always_short = true,\n");
    }
    put(out, "};\n\n");
}

/* ---- Checks ---- */

static bool is_list(const json_t *property)
{
    const char *type = member_text(property, "type");
    return type != NULL && strcmp(type, "array") == 0;
}

static void lint_names(json_t *shape, const char *list, const char *place)
{
    size_t i;
    const json_t *name;
    json_array_foreach (json_object_get(view_of(shape), list), i, name) {
        const char *wanted = json_is_string(name) ? json_string_value(name) : "";
        if (json_object_get(json_object_get(shape, "properties"), wanted) == NULL) {
            problem(place, "view.%s names %s, which is not among its properties", list, wanted);
        }
    }
}

static void lint_groups(const struct catalogue *all, json_t *shape, const char *place)
{
    static const char *const known[] = { "row=s", "counts=s", "uri=s", NULL };
    json_t *properties = json_object_get(shape, "properties");
    const char *name;
    json_t *group;
    json_object_foreach (json_object_get(view_of(shape), "grouped"), name, group) {
        json_t *list = json_object_get(properties, name);
        json_t *items = json_object_get(list, "items");
        json_t *members = items != NULL ? json_object_get(without_reference(all, items), "properties") : NULL;
        const char *row = member_text(group, "row");
        const char *counts = member_text(group, "counts");
        lint_members(group, known, place);
        if (!is_list(list) || json_object_get(members, "code") == NULL || (row != NULL && json_object_get(members, row) == NULL)) {
            problem(place, "view.grouped.%s needs a list of objects with code and the member that row names", name);
        }
        if (counts != NULL && json_object_get(properties, counts) == NULL) {
            problem(place, "view.grouped.%s counts by %s, which is not among its properties", name, counts);
        }
    }
}

void lint_views(const struct catalogue *all)
{
    static const char *const known[] = { "technical=t", "cut=t", "kept=t", "grouped=o", "always=b", NULL };
    const char *name;
    json_t *shape;
    json_object_foreach (all->resources, name, shape) {
        if (view_of(shape) == NULL) {
            continue;
        }
        const char *place = text("schemas/resources/%s.json", name);
        lint_members(view_of(shape), known, place);
        lint_names(shape, "technical", place);
        lint_names(shape, "cut", place);
        lint_names(shape, "kept", place);
        lint_groups(all, shape, place);
    }
}
