#include "words.h"

#include <string.h>

static const char *true_or_false(bool value)
{
    return value ? "true" : "false";
}

static void put_member(struct output *out, const char *name, const char *value)
{
    if (value != NULL) {
        put(out, "      .%s = ", name);
        put_c_string(out, value);
        put(out, ",\n");
    }
}

static void put_candidates(struct output *out, const struct tool_decl *tool)
{
    put(out, "      .candidates = CANDIDATES(");
    for (size_t i = 0; i < tool->op_count; i++) {
        put(out, "%s&operations[OP_%s]", i > 0 ? ", " : "", upper_case(tool->ops[i]->id));
    }
    put(out, "),\n");
    if (tool->choose_by != NULL) {
        put(out, "      .choose_by = \"%s\",\n      .choose_values = WORDS(", tool->choose_by);
        for (size_t i = 0; i < tool->op_count; i++) {
            put(out, "\"%s\", ", tool->choosers[i]);
        }
        put(out, "NULL),\n");
    } else if (json_object_get(tool->json, "chooseBy") != NULL) {
        put(out, "      .present = WORDS(");
        for (size_t i = 0; i < tool->op_count; i++) {
            put(out, "\"%s\", ", tool->choosers[i] != NULL ? tool->choosers[i] : "");
        }
        put(out, "NULL),\n");
    }
}

/* The arguments of the tool; a tool that is not built has no schema and no arguments. */
static void put_arguments(struct output *out, const struct tool_decl *tool)
{
    put(out, "      .arguments = WORDS(");
    const char *name;
    json_t *value;
    json_object_foreach(json_object_get(tool->input_schema, "properties"), name, value) {
        put(out, "\"%s\", ", name);
    }
    put(out, "NULL),\n");
}

static void put_aliases(struct output *out, const struct tool_decl *tool)
{
    json_t *aliases = json_object_get(tool->json, "aliases");
    const char *alias;
    json_t *argument;
    if (aliases == NULL) {
        return;
    }
    put(out, "      .aliases = WORDS(");
    json_object_foreach (aliases, alias, argument) {
        put(out, "\"%s\", \"%s\", ", alias, json_string_value(argument));
    }
    put(out, "NULL),\n");
}

static void put_tool(struct output *out, const struct catalogue *all, size_t at)
{
    const struct tool_decl *tool = &all->tools[at];
    const json_t *hints = json_object_get(tool->json, "hints");
    put(out, "    {\n      .name = \"%s\", .index = %zu, .toolset = \"%s\", .built = %s, .listed = %s,\n", tool->name, at,
        member_text(tool->json, "toolset"), true_or_false(tool->built), true_or_false(tool->listed));
    put(out, "      .read_only = %s, .destructive = %s, .idempotent = %s, .open_world = %s, .organization = %s,\n",
        true_or_false(member_true(hints, "readOnly")), true_or_false(member_true(hints, "destructive")),
        true_or_false(member_true(hints, "idempotent")), true_or_false(member_true(hints, "openWorld")),
        true_or_false(member_true(tool->json, "organization")));
    put_member(out, "title", member_text(tool->json, "title"));
    put_member(out, "description", tool->description);
    put_member(out, "cost", tool_cost(all, tool));
    if (tool->built) {
        put_member(out, "list_json", json_text(tool->list_object));
        put_member(out, "organization_json", tool->organization_object != NULL ? json_text(tool->organization_object) : NULL);
        put_member(out, "input_schema_json", json_text(tool->input_schema));
    }
    put_arguments(out, tool);
    put_aliases(out, tool);
    put_candidates(out, tool);
    const json_t *fixed = json_object_get(tool->json, "fixed");
    const json_t *preset = json_object_get(tool->json, "default");
    put_member(out, "fixed_json", fixed != NULL ? json_text(fixed) : NULL);
    put_member(out, "default_json", preset != NULL ? json_text(preset) : NULL);
    put(out, "      .takes_detail = %s,\n", true_or_false(takes_detail(all, tool)));
    put_member(out, "long_member", member_text(json_object_get(tool->json, "long"), "member"));
    put_member(out, "long_uri", member_text(json_object_get(tool->json, "long"), "uri"));
    put_member(out, "picture_member", member_text(json_object_get(tool->json, "picture"), "member"));
    put_member(out, "picture_type", member_text(json_object_get(tool->json, "picture"), "mimeType"));
    put_member(out, "picture_uri", member_text(json_object_get(tool->json, "picture"), "uri"));
    put_member(out, "help", tool_help(all, tool));
    put_member(out, "instead", member_text(json_object_get(tool->json, "instead"), "text"));
    put(out, "    },\n");
}

void emit_tools(const struct catalogue *all, const char *folder)
{
    struct output out;
    output_open(&out, folder, "tools.c");
    put_origin(&out, "The tools, in the order of tools/list.");
    put(&out, "#include \"catalogue/operations.h\"\n\n"
              "#define CANDIDATES(...) (const struct operation *const[]){ __VA_ARGS__, NULL }\n"
              "#define WORDS(...) (const char *const[]){ __VA_ARGS__ }\n\nconst struct tool tools[] = {\n");
    for (size_t i = 0; i < all->tool_count; i++) {
        put_tool(&out, all, i);
    }
    put(&out, "};\nconst size_t tool_count = sizeof(tools) / sizeof(tools[0]);\n");
    output_close(&out);
}
