#include "model.h"

#include <string.h>

static const char *operation_pointer(const json_t *row)
{
    return text("&operations[OP_%s]", upper_case(member_text(row, "run")));
}

static void emit_mcp_header(const char *folder)
{
    struct output out;
    output_open(&out, folder, "mcp_texts.h");
    put_origin(&out, "MCP instructions, prompts, resources and completions.");
    put(&out,
        "#pragma once\n\n#include \"api/catalogue.h\"\n\n"
        "extern const char mcp_instructions[];\n\n"
        "struct mcp_prompt_argument {\n    const char *name;\n    const char *description;\n    bool required;\n};\n"
        "struct mcp_prompt_message {\n    const char *role;\n    const char *text; /* placeholder {argument}: its value, or "
        "nothing when absent */\n};\n"
        "struct mcp_prompt {\n    const char *name;\n    const char *title;\n    const char *description;\n"
        "    const struct mcp_prompt_argument *arguments;\n    size_t argument_count;\n"
        "    const struct mcp_prompt_message *messages;\n    size_t message_count;\n"
        "    const char *list_json; /* its object in prompts/list */\n};\n"
        "extern const struct mcp_prompt mcp_prompts[];\nextern const size_t mcp_prompt_count;\n\n"
        "/* A resource is the answer of an operation under a URI. */\n"
        "struct mcp_resource {\n    const char *uri; /* of a template: with placeholders, one path segment each */\n    const char "
        "*name;\n"
        "    const char *mime_type;\n    const struct operation *operation;\n"
        "    const char *args_json; /* the arguments, an object; placeholder {parameter}: the parameter's value */\n"
        "    const char *pick;      /* the text member that is the content; NULL: the whole answer */\n"
        "    const char *list_json; /* its object in resources/list or resources/templates/list */\n};\n"
        "extern const struct mcp_resource mcp_resources[];\nextern const size_t mcp_resource_count;\n"
        "extern const struct mcp_resource mcp_resource_templates[];\nextern const size_t mcp_resource_template_count;\n\n"
        "/* Values for an argument or parameter: a member of each row of an operation's data. */\n"
        "struct mcp_completion {\n    const char *argument;\n    const struct operation *operation;\n    const char *args_json;\n"
        "    const char *pick;\n    const char *const *match; /* members that may contain what was typed, in place of `pick`; "
        "NULL-terminated */\n};\n"
        "extern const struct mcp_completion mcp_completions[];\nextern const size_t mcp_completion_count;\n");
    output_close(&out);
}

/* The members shown to a client, in the protocol's order. */
static const char *listed(const json_t *row, const char *const *members)
{
    json_t *object = keep(json_object());
    for (; *members != NULL; members++) {
        json_t *value = json_object_get(row, *members);
        if (value != NULL) {
            json_object_set(object, *members, value);
        }
    }
    return json_text(object);
}

static void put_strings(struct output *out, const json_t *row, const char *const *members)
{
    for (; *members != NULL; members++) {
        put(out, "      ");
        put_c_string(out, member_text(row, *members));
        put(out, ",\n");
    }
}

static void put_prompt_parts(struct output *out, const json_t *prompt)
{
    static const char *const argument_members[] = { "name", "description", NULL };
    static const char *const message_members[] = { "role", "text", NULL };
    const char *name = member_text(prompt, "name");
    size_t i;
    const json_t *row;
    put(out, "static const struct mcp_prompt_argument %s_arguments[] = {\n", name);
    json_array_foreach(json_object_get(prompt, "arguments"), i, row) {
        put(out, "    {\n");
        put_strings(out, row, argument_members);
        put(out, "      %s },\n", member_true(row, "required") ? "true" : "false");
    }
    put(out, "};\nstatic const struct mcp_prompt_message %s_messages[] = {\n", name);
    json_array_foreach(json_object_get(prompt, "messages"), i, row) {
        put(out, "    {\n");
        put_strings(out, row, message_members);
        put(out, "    },\n");
    }
    put(out, "};\n");
}

static void put_prompts(struct output *out, const json_t *prompts)
{
    static const char *const shown[] = { "name", "title", "description", "arguments", NULL };
    static const char *const members[] = { "name", "title", "description", NULL };
    size_t i;
    const json_t *prompt;
    json_array_foreach(prompts, i, prompt) {
        put_prompt_parts(out, prompt);
    }
    put(out, "const struct mcp_prompt mcp_prompts[] = {\n");
    json_array_foreach(prompts, i, prompt) {
        const char *name = member_text(prompt, "name");
        put(out, "    {\n");
        put_strings(out, prompt, members);
        put(out, "      %s_arguments, %zu, %s_messages, %zu,\n      ", name, json_array_size(json_object_get(prompt, "arguments")), name,
            json_array_size(json_object_get(prompt, "messages")));
        put_c_string(out, listed(prompt, shown));
        put(out, " },\n");
    }
    put(out, "};\nconst size_t mcp_prompt_count = %zu;\n\n", json_array_size(prompts));
}

static void put_resources(struct output *out, const json_t *rows, const char *table, const char *uri_member)
{
    const char *const shown[] = { uri_member, "name", "title", "description", "mimeType", NULL };
    const char *const members[] = { uri_member, "name", "mimeType", NULL };
    put(out, "const struct mcp_resource %ss[] = {\n", table);
    size_t i;
    const json_t *row;
    json_array_foreach(rows, i, row) {
        put(out, "    {\n");
        put_strings(out, row, members);
        put(out, "      %s,\n      ", operation_pointer(row));
        put_c_string(out, json_text(json_object_get(row, "args")));
        put(out, ",\n      ");
        put_c_string(out, member_text(row, "pick"));
        put(out, ",\n      ");
        put_c_string(out, listed(row, shown));
        put(out, " },\n");
    }
    put(out, "};\nconst size_t %s_count = %zu;\n\n", table, json_array_size(rows));
}

static void put_completions(struct output *out, json_t *completions)
{
    put(out, "const struct mcp_completion mcp_completions[] = {\n");
    const char *argument;
    json_t *row;
    json_object_foreach(completions, argument, row) {
        put(out, "    { \"%s\", %s, ", argument, operation_pointer(row));
        put_c_string(out, json_text(json_object_get(row, "args")));
        put(out, ", \"%s\", (const char *const[]){ ", member_text(row, "pick"));
        size_t i;
        const json_t *member;
        json_array_foreach(json_object_get(row, "match"), i, member) {
            put(out, "\"%s\", ", json_string_value(member));
        }
        put(out, "NULL } },\n");
    }
    put(out, "};\nconst size_t mcp_completion_count = %zu;\n", json_object_size(completions));
}

void emit_mcp(const struct catalogue *all, const char *folder)
{
    emit_mcp_header(folder);
    struct output out;
    output_open(&out, folder, "mcp_texts.c");
    put_origin(&out, "MCP instructions, prompts, resources and completions.");
    put(&out, "#include \"catalogue/mcp_texts.h\"\n\n#include \"catalogue/operations.h\"\n\nconst char mcp_instructions[] =\n    ");
    put_c_string(&out, member_text(all->mcp, "instructions"));
    put(&out, ";\n\n");
    put_prompts(&out, json_object_get(all->mcp, "prompts"));
    put_resources(&out, json_object_get(all->mcp, "resources"), "mcp_resource", "uri");
    put_resources(&out, json_object_get(all->mcp, "resourceTemplates"), "mcp_resource_template", "uriTemplate");
    put_completions(&out, json_object_get(all->mcp, "completions"));
    output_close(&out);
}
