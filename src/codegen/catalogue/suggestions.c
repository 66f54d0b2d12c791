#include "suggestions.h"

#include "words.h"

#include <ctype.h>
#include <string.h>

/* The state of reading one text. */
struct rendering {
    const struct catalogue *all;
    const char *where;
    enum reader reader;
    json_t *tools;     /* names of the tools so far */
    bool lacks_a_tool; /* no tool that is built runs one of the operations */
};

/* ---- Names of an operation ---- */

/* The arguments of {operation name=value …}, each preceded by `lead` and with `joint` between name and value. */
static const char *arguments_of(const struct rendering *at, const struct op_decl *op, const char *rest, const char *first,
                                const char *next, const char *joint)
{
    const char *words = "";
    while (*rest == ' ') {
        const char *pair = rest + 1;
        size_t size = strcspn(pair, " }");
        size_t name_size = strcspn(pair, "= }");
        const char *name = text("%.*s", (int)name_size, pair);
        const char *value = name_size < size ? text("%.*s", (int)(size - name_size - 1), pair + name_size + 1) : "";
        if (find_param(op, name) == NULL || value[0] == '\0') {
            problem(at->where, "%s has no argument %s, or it has no value", op->id, name);
        }
        const char *shown = at->reader == READER_COMMAND ? kebab_case(name) : name;
        words = text("%s%s%s%s%s", words, words[0] == '\0' ? first : next, shown, joint, value);
        rest = pair + size;
    }
    return words;
}

static const char *as_route(const struct rendering *at, const struct op_decl *op, const char *rest)
{
    if (op->method == NULL) {
        problem(at->where, "%s has no route; give the readers texts of their own", op->id);
        return "";
    }
    return text("%s %s%s", op->method, op->path, arguments_of(at, op, rest, "?", "&", "="));
}

static const char *as_command(const struct rendering *at, const struct op_decl *op, const char *rest)
{
    const char *operands = command_operands(op);
    return text("`posthorn %s %s%s%s%s`", command_domain(op), command_verb(op), operands[0] != '\0' ? " " : "", operands,
                arguments_of(at, op, rest, " --", " --", " "));
}

/* The argument and value with which a tool runs this operation; "" when it needs none. */
static const char *choice_words(const struct tool_decl *tool, size_t op_at)
{
    if (tool->choose_by != NULL) {
        const char *preset = member_text(json_object_get(tool->json, "default"), tool->choose_by);
        bool is_default = preset != NULL && strcmp(preset, tool->choosers[op_at]) == 0;
        return is_default ? "" : text(" with %s %s", tool->choose_by, tool->choosers[op_at]);
    }
    void *first = json_object_iter(json_object_get(json_object_get(tool->ops[op_at]->json, "when"), "equals"));
    const json_t *value = first != NULL ? json_object_iter_value(first) : NULL;
    return json_is_string(value) ? text(" with %s %s", json_object_iter_key(first), json_string_value(value)) : "";
}

static const char *as_tool(struct rendering *at, const struct op_decl *op, const char *rest)
{
    for (size_t i = 0; i < at->all->tool_count; i++) {
        const struct tool_decl *tool = &at->all->tools[i];
        for (size_t op_at = 0; op_at < tool->op_count; op_at++) {
            if (tool->ops[op_at] != op || !op->built) {
                continue;
            }
            if (!list_has(at->tools, tool->name)) {
                json_array_append_new(at->tools, json_string(tool->name));
            }
            const char *choice = choice_words(tool, op_at);
            return text("%s%s%s", tool->name, choice,
                        arguments_of(at, op, rest, choice[0] != '\0' ? " and " : " with ", " and ", " "));
        }
    }
    at->lacks_a_tool = true;
    return "";
}

/* `marker` is the text after {. */
static const char *operation_words(struct rendering *at, const char *marker)
{
    size_t size = strcspn(marker, " }");
    const struct op_decl *op = find_op(at->all, text("%.*s", (int)size, marker));
    if (op == NULL) {
        problem(at->where, "names the unknown operation %.*s", (int)size, marker);
        return "";
    }
    switch (at->reader) {
    case READER_PROGRAM:
        return as_route(at, op, marker + size);
    case READER_COMMAND:
        return as_command(at, op, marker + size);
    case READER_ASSISTANT:
        return as_tool(at, op, marker + size);
    case READER_WITHOUT_TOOLS:
        problem(at->where, "names %s outside of [ ], so nothing is left without its tool", op->id);
        return "";
    }
    return "";
}

/* ---- Texts ---- */

static const char *rendered(struct rendering *at, const char *source)
{
    const char *words = "";
    while (*source != '\0') {
        size_t plain = strcspn(source, "[]{");
        words = text("%s%.*s", words, (int)plain, source);
        source += plain;
        if (*source == '[' && at->reader == READER_WITHOUT_TOOLS) {
            source += strcspn(source, "]");
        } else if (*source == '{' && islower((unsigned char)source[1])) {
            words = text("%s%s", words, operation_words(at, source + 1));
            source += strcspn(source, "}");
        } else if (*source == '{') {
            words = text("%s{", words); /* an example in JSON */
        }
        source += *source != '\0';
    }
    return words;
}

/* What only one kind of reader has. */
static void check_terms(const struct rendering *at, const char *words)
{
    static const char *const of_rest[] = { "/v1/", "X-", "x-request-id", "header", "Authorization", "include=", NULL };
    for (const char *const *term = of_rest; at->reader != READER_PROGRAM && *term != NULL; term++) {
        if (strstr(words, *term) != NULL) {
            problem(at->where, "%s needs a text without %s", at->reader == READER_COMMAND ? "command" : "mcp", *term);
        }
    }
}

static const char *source_for(const json_t *row, enum reader reader)
{
    const char *own = reader == READER_COMMAND   ? member_text(row, "command")
                      : reader != READER_PROGRAM ? member_text(row, "mcp")
                                                 : NULL;
    const char *source = own != NULL ? own : member_text(row, "suggestion");
    return source != NULL ? source : "";
}

static struct rendering rendering_for(const struct catalogue *all, const json_t *row, enum reader reader)
{
    return (struct rendering){
        .all = all,
        .where = text("schemas/errors.json: %s", member_text(row, "code")),
        .reader = reader,
        .tools = keep(json_array()),
    };
}

const char *suggestion_for(const struct catalogue *all, const json_t *row, enum reader reader)
{
    struct rendering at = rendering_for(all, row, reader);
    const char *words = rendered(&at, source_for(row, reader));
    check_terms(&at, words);
    return at.lacks_a_tool ? suggestion_for(all, row, READER_WITHOUT_TOOLS) : words;
}

json_t *suggested_tools(const struct catalogue *all, const json_t *row)
{
    struct rendering at = rendering_for(all, row, READER_ASSISTANT);
    rendered(&at, source_for(row, READER_ASSISTANT));
    return at.lacks_a_tool ? json_array() : json_incref(at.tools);
}
