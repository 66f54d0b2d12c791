#include "words.h"

#include "types.h"

#include <string.h>

static const char *type_in_words(const struct param *param)
{
    switch (param->kind) {
    case PARAM_TEXT:
        return text("text, at most %.0f characters", member_number(param->schema, "maxLength", 0));
    case PARAM_ID:
        return "id";
    case PARAM_INTEGER:
    case PARAM_NUMBER:
        return text("number, %g to %g", member_number(param->schema, "minimum", 0), member_number(param->schema, "maximum", 0));
    case PARAM_BOOLEAN:
        return "true or false";
    case PARAM_ENUM:
        return text("one of %s", words_of(enum_values(param)));
    case PARAM_TOKENS:
        return text("any of %s", words_of(enum_values(param)));
    case PARAM_TIME:
        return "time, ISO 8601 with a zone";
    case PARAM_TEXT_LIST:
        return text("list of texts, at most %.0f", member_number(param->schema, "maxItems", 0));
    case PARAM_OBJECT_LIST:
        return text("list of objects, at most %.0f", member_number(param->schema, "maxItems", 0));
    case PARAM_OBJECT:
        return "object";
    case PARAM_JSON:
        return strcmp(member_text(param->schema, "type"), "array") == 0 ? "list" : "object";
    }
    return "";
}

const char *param_in_words(const struct param *param)
{
    const json_t *preset = json_object_get(param->schema, "default");
    const char *default_words = preset != NULL ? text(", default %s", json_text(preset)) : "";
    return text("%s%s%s%s", type_in_words(param), param->required ? ", required" : "", is_nullable(param) ? ", or null" : "",
                default_words);
}

static const char *arguments_in_words(const struct param *params, size_t count, const char *indent)
{
    const char *words = "";
    for (size_t i = 0; i < count; i++) {
        const struct param *param = &params[i];
        words = text("%s%s- `%s` (%s): %s\n%s", words, indent, param->name, param_in_words(param), member_text(param->schema, "description"),
                     arguments_in_words(param->fields, param->field_count, text("%s  ", indent)));
    }
    return words;
}

const char *operation_arguments(const struct op_decl *op)
{
    return arguments_in_words(op->params, op->param_count, "");
}

/* The list of an operation's parameters that the tool shows. */
static const char *shown_arguments(const struct tool_decl *tool, const struct op_decl *op)
{
    const json_t *only = json_object_get(tool->json, "only");
    const char *words = "";
    for (size_t i = 0; i < op->param_count; i++) {
        const char *name = op->params[i].name;
        if ((only == NULL || list_has(only, name)) && json_object_get(json_object_get(tool->json, "fixed"), name) == NULL) {
            words = text("%s%s", words, arguments_in_words(&op->params[i], 1, ""));
        }
    }
    return words[0] != '\0' ? words : "- none\n";
}

static const char *operation_heading(const struct tool_decl *tool, size_t at)
{
    if (tool->choosers[at] != NULL && tool->choose_by != NULL) {
        return text("With `%s` %s. ", tool->choose_by, tool->choosers[at]);
    }
    return tool->choosers[at] != NULL ? text("With `%s`. ", tool->choosers[at]) : "";
}

static const char *errors_in_words(const struct op_decl *op)
{
    const json_t *codes = json_object_get(op->json, "errors");
    return json_array_size(codes) > 0 ? text("\nSpecific errors: %s.\n", words_of(codes)) : "";
}

/* The arguments that shape the answer, which are no operation's. */
static const char *view_arguments(const struct catalogue *all, const struct tool_decl *tool)
{
    const char *words = "";
    const char *member = member_text(json_object_get(tool->json, "long"), "member");
    if (member != NULL) {
        words = text("- `%sFrom`, `%sChars`: a part of %s, from this character, of this many at most; the answer has %sTotalChars, and "
                     "next%c%sFrom while more follows\n",
                     member, member, member, member, member[0] - 'a' + 'A', member + 1);
    }
    if (cuts_lists(all, tool)) {
        words = text("%s- `limit`: also the items of included lists; hasMore says that some were left out\n", words);
    }
    if (takes_detail(all, tool)) {
        words = text("%s- `detail`: full also gives empty members, technical times and every faulty row\n", words);
    }
    return words[0] != '\0' ? text("\n## Answer\n\n%s", words) : words;
}

const char *tool_help(const struct catalogue *all, const struct tool_decl *tool)
{
    const char *words = text("# %s\n\n%s\n", member_text(tool->json, "title"), tool->description);
    if (!tool->built) {
        return text("%s\nThis tool is not available in this version. %s\n", words,
                    member_text(json_object_get(tool->json, "instead"), "text"));
    }
    const char *help = member_text(tool->json, "help");
    if (help != NULL) {
        words = text("%s\n%s\n", words, help);
    }
    for (size_t i = 0; i < tool->op_count; i++) {
        const struct op_decl *op = tool->ops[i];
        words = text("%s\n## %s\n\n%s%s", words, op->id, operation_heading(tool, i), member_text(op->json, "summary"));
        if (!op->built) {
            words = text("%s Not available yet.\n", words);
            continue;
        }
        words = text("%s %s\n\n%s%s", words, price_sentence(all, op), shown_arguments(tool, op), errors_in_words(op));
    }
    return text("%s%s", words, view_arguments(all, tool));
}

const char *command_domain(const struct op_decl *op)
{
    return kebab_case(text("%.*s", (int)strcspn(op->id, "."), op->id));
}

const char *command_verb(const struct op_decl *op)
{
    return kebab_case(op->id + strcspn(op->id, ".") + 1);
}

const char *command_operands(const struct op_decl *op)
{
    const char *words = "";
    for (const char *at = op->path; at != NULL && (at = strchr(at, '{')) != NULL; at++) {
        const char *name = text("%.*s", (int)strcspn(at + 1, "}"), at + 1);
        words = text("%s%s%s", words, words[0] != '\0' ? " " : "", upper_case(name));
    }
    return words;
}

bool is_single_write(const struct op_decl *op)
{
    const char *mode = member_text(op->json, "mode");
    return member_true(op->json, "single") && mode != NULL && strcmp(mode, "write") == 0;
}
