#include "lint.h"

#include <string.h>

enum { INSTRUCTIONS_MAX_BYTES = 2048 };

static const char where[] = "tools/mcp.json";

static bool names_argument(const json_t *arguments, const char *name)
{
    size_t i;
    const json_t *row;
    json_array_foreach(arguments, i, row) {
        const char *known = member_text(row, "name");
        if (known != NULL && strcmp(known, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Every placeholder {name} of a message is an argument of its prompt. */
static void lint_placeholders(const char *place, const char *message, const json_t *arguments)
{
    for (const char *open = strchr(message, '{'); open != NULL; open = strchr(open + 1, '{')) {
        const char *close = strchr(open, '}');
        const char *name = close != NULL ? text("%.*s", (int)(close - open - 1), open + 1) : open;
        if (close == NULL || !names_argument(arguments, name)) {
            problem(place, "{%s} is not one of its arguments", name);
        }
    }
}

static void lint_prompt(json_t *prompt)
{
    static const char *const known[] = { "name=s", "title=s", "description=s", "arguments=a", "messages=a", NULL };
    static const char *const known_argument[] = { "name=s", "description=s", "required=b", NULL };
    static const char *const known_message[] = { "role=s", "text=s", NULL };
    const char *name = member_text(prompt, "name");
    const char *place = text("%s: prompt %s", where, name != NULL ? name : "without a name");
    lint_members(prompt, known, place);
    lint_text(prompt, "name", place);
    lint_text(prompt, "title", place);
    lint_text(prompt, "description", place);
    const json_t *arguments = json_object_get(prompt, "arguments");
    size_t i;
    json_t *row;
    json_array_foreach(arguments, i, row) {
        lint_members(row, known_argument, place);
        lint_text(row, "name", place);
        lint_text(row, "description", place);
    }
    json_array_foreach(json_object_get(prompt, "messages"), i, row) {
        lint_members(row, known_message, place);
        if (lint_text(row, "text", place) && lint_text(row, "role", place)) {
            lint_placeholders(place, member_text(row, "text"), arguments);
        }
    }
    if (i == 0) {
        problem(place, "has no messages");
    }
}

/* The operation must be built and must only read. */
static void lint_run(const struct catalogue *all, const json_t *row, const char *place)
{
    const char *id = member_text(row, "run");
    const struct op_decl *op = id != NULL ? find_op(all, id) : NULL;
    if (op == NULL || !op->built) {
        problem(place, "runs %s, which is not a built operation", id != NULL ? id : "nothing");
        return;
    }
    const char *mode = member_text(op->json, "mode");
    if (mode == NULL || (strcmp(mode, "read") != 0 && strcmp(mode, "memory") != 0)) {
        problem(place, "runs %s, which does more than read", id);
    }
    const char *name;
    json_t *value;
    json_object_foreach(json_object_get(row, "args"), name, value) {
        if (find_param(op, name) == NULL) {
            problem(place, "gives %s, which %s does not accept", name, id);
        }
    }
    const char *pick = member_text(row, "pick");
    const json_t *result = result_schema(all, op);
    if (pick != NULL && json_object_get(json_object_get(result, "properties"), pick) == NULL &&
        json_object_get(json_object_get(result, "properties"), "data") == NULL) {
        problem(place, "picks %s, which is not in the result", pick);
    }
}

static void lint_resource_rows(const struct catalogue *all, const char *member, const char *uri_member)
{
    static const char *const known[] = { "uri=s", "uriTemplate=s", "name=s", "title=s", "description=s", "mimeType=s", "run=s", "args=o",
                                         "pick=s", NULL };
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(all->mcp, member), i, row) {
        const char *uri = member_text(row, uri_member);
        const char *place = text("%s: %s", where, uri != NULL ? uri : member);
        lint_members(row, known, place);
        lint_text(row, uri_member, place);
        lint_text(row, "name", place);
        lint_text(row, "title", place);
        lint_text(row, "description", place);
        lint_text(row, "mimeType", place);
        if (!json_is_object(json_object_get(row, "args"))) {
            problem(place, "has no args");
        }
        lint_run(all, row, place);
    }
}

void lint_mcp(const struct catalogue *all)
{
    static const char *const known[] = { "instructions=s", "prompts=a", "resources=a", "resourceTemplates=a", "completions=o", NULL };
    lint_members(all->mcp, known, where);
    const char *instructions = member_text(all->mcp, "instructions");
    if (instructions == NULL || strlen(instructions) > INSTRUCTIONS_MAX_BYTES) {
        problem(where, "needs instructions of %d bytes at most", INSTRUCTIONS_MAX_BYTES);
    }
    size_t i;
    json_t *prompt;
    json_array_foreach(json_object_get(all->mcp, "prompts"), i, prompt) {
        lint_prompt(prompt);
    }
    lint_resource_rows(all, "resources", "uri");
    lint_resource_rows(all, "resourceTemplates", "uriTemplate");
    const char *argument;
    json_t *row;
    json_object_foreach(json_object_get(all->mcp, "completions"), argument, row) {
        lint_run(all, row, text("%s: completion of %s", where, argument));
        lint_text(row, "pick", text("%s: completion of %s", where, argument));
    }
}
