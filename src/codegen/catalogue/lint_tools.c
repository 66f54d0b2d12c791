#include "lint.h"
#include "types.h"

#include <ctype.h>
#include <string.h>

enum {
    NAME_MAX_BYTES = 40,
    DESCRIPTION_MAX_BYTES = 400,
    MEAN_MAX_BYTES = 950,   /* the mean size of a tool in tools/list */
    LIST_MAX_BYTES = 54000, /* the size of the whole list when every declared tool is built */
};

static bool is_tool_name(const char *name)
{
    if (!islower((unsigned char)name[0]) || strlen(name) > NAME_MAX_BYTES) {
        return false;
    }
    for (const char *p = name; *p != '\0'; p++) {
        if (!islower((unsigned char)*p) && !isdigit((unsigned char)*p) && *p != '_') {
            return false;
        }
    }
    return true;
}

static void lint_hints(const struct tool_decl *tool)
{
    static const char *const names[] = { "readOnly", "destructive", "idempotent", "openWorld", NULL };
    static const char *const known[] = { "readOnly=b", "destructive=b", "idempotent=b", "openWorld=b", NULL };
    json_t *hints = json_object_get(tool->json, "hints");
    for (const char *const *name = names; *name != NULL; name++) {
        if (!json_is_boolean(json_object_get(hints, *name))) {
            problem(tool->where, "the hint %s must be given", *name);
        }
    }
    lint_members(hints, known, tool->where);
    if (member_true(hints, "readOnly") && member_true(hints, "destructive")) {
        problem(tool->where, "cannot be both read-only and destructive");
    }
}

static bool has_schema_type(const json_t *value, const char *type)
{
    return (strcmp(type, "string") == 0 && json_is_string(value)) || (strcmp(type, "boolean") == 0 && json_is_boolean(value)) ||
           (strcmp(type, "integer") == 0 && json_is_integer(value)) || (strcmp(type, "number") == 0 && json_is_number(value)) ||
           (strcmp(type, "array") == 0 && json_is_array(value)) || (strcmp(type, "object") == 0 && json_is_object(value));
}

/* Reports schema members that some hosts refuse, and missing types. */
static void lint_schema(const struct tool_decl *tool, json_t *schema, const char *path)
{
    static const char *const refused[] = { "$ref", "$defs", "anyOf", "oneOf", "allOf", "not", NULL };
    if (!json_is_object(schema)) {
        problem(tool->where, "%s is not a schema object", path);
        return;
    }
    for (const char *const *word = refused; *word != NULL; word++) {
        if (json_object_get(schema, *word) != NULL) {
            problem(tool->where, "%s uses %s, which some hosts refuse", path, *word);
        }
    }
    const char *type = member_text(schema, "type");
    if (type == NULL) {
        problem(tool->where, "%s has no single type", path);
        return;
    }
    const json_t *preset = json_object_get(schema, "default");
    if (preset != NULL && !has_schema_type(preset, type)) {
        problem(tool->where, "%s has a default of another type than %s", path, type);
    }
    if (strcmp(type, "array") == 0) {
        lint_schema(tool, json_object_get(schema, "items"), text("%s.items", path));
    }
    const char *name;
    json_t *property;
    json_object_foreach(json_object_get(schema, "properties"), name, property) {
        lint_schema(tool, property, text("%s.%s", path, name));
    }
}

/* A read-only tool must only read, and no tool may run an operation of administrators. */
static void lint_operations_of(const struct tool_decl *tool)
{
    bool only_reads = member_true(json_object_get(tool->json, "hints"), "readOnly");
    for (size_t i = 0; i < tool->op_count; i++) {
        const char *mode = member_text(tool->ops[i]->json, "mode");
        bool writes = mode != NULL && (strcmp(mode, "write") == 0 || strcmp(mode, "job") == 0);
        if (only_reads && writes) {
            problem(tool->where, "is read-only and runs %s, which writes", tool->ops[i]->id);
        }
        const char *reach = member_text(tool->ops[i]->json, "reach");
        if (reach != NULL && strcmp(reach, "session") == 0) {
            problem(tool->where, "runs %s, which only a signed-in administrator may", tool->ops[i]->id);
        }
    }
}

static bool is_argument(const struct tool_decl *tool, const char *name)
{
    bool known = tool->choose_by != NULL && strcmp(tool->choose_by, name) == 0;
    for (size_t i = 0; i < tool->op_count; i++) {
        known = known || find_param(tool->ops[i], name) != NULL;
    }
    return known;
}

/* Lists and maps of argument names: each must be an argument of an operation of the tool. */
static void lint_word_lists(const struct tool_decl *tool)
{
    static const char *const lists[] = { "only", "brief", "require", NULL };
    static const char *const maps[] = { "fixed", "default", NULL };
    for (const char *const *list = lists; *list != NULL; list++) {
        size_t i;
        const json_t *name;
        json_array_foreach(json_object_get(tool->json, *list), i, name) {
            if (!json_is_string(name) || !is_argument(tool, json_string_value(name))) {
                problem(tool->where, "%s names %s, which is not one of its arguments", *list,
                        json_is_string(name) ? json_string_value(name) : "");
            }
        }
    }
    const char *name;
    json_t *value;
    for (const char *const *map = maps; *map != NULL; map++) {
        json_object_foreach(json_object_get(tool->json, *map), name, value) {
            if (!is_argument(tool, name)) {
                problem(tool->where, "%s names %s, which is not one of its arguments", *map, name);
            }
        }
    }
    json_object_foreach (json_object_get(tool->json, "aliases"), name, value) {
        if (!json_is_string(value) || !is_argument(tool, json_string_value(value)) || is_argument(tool, name)) {
            problem(tool->where, "the alias %s must mean one of its arguments, and be none", name);
        }
    }
    json_object_foreach(json_object_get(tool->json, "describe"), name, value) {
        if (!json_is_string(value) && !json_is_null(value)) {
            problem(tool->where, "describe must give %s text, or null for none", name);
        }
    }
}

/* Several operations are chosen by chooseBy, or by conditions of all but the last. */
static void lint_choice(const struct tool_decl *tool)
{
    bool by_presence = json_object_get(json_object_get(tool->json, "chooseBy"), "present") != NULL;
    for (size_t i = 0; i < tool->op_count; i++) {
        const struct op_decl *op = tool->ops[i];
        bool last = i + 1 == tool->op_count;
        if (by_presence && tool->choosers[i] != NULL && find_param(op, tool->choosers[i]) == NULL) {
            problem(tool->where, "chooses by %s, which %s does not accept", tool->choosers[i], op->id);
        }
        if (!by_presence && tool->choose_by == NULL && !last && json_object_get(op->json, "when") == NULL) {
            problem(tool->where, "%s has no condition and hides what comes after it", op->id);
        }
    }
}

/* The long member is text that each built operation adds when include names it, or that it never has. */
static void lint_picture(const struct catalogue *all, const struct tool_decl *tool)
{
    static const char *const known[] = { "member=s", "mimeType=s", "uri=s", NULL };
    json_t *declared = json_object_get(tool->json, "picture");
    const char *member = member_text(declared, "member");
    if (declared == NULL) {
        return;
    }
    lint_members(declared, known, tool->where);
    if (member == NULL || member_text(declared, "mimeType") == NULL || member_text(declared, "uri") == NULL) {
        problem(tool->where, "picture needs member, mimeType and uri");
        return;
    }
    for (size_t i = 0; i < tool->op_count; i++) {
        json_t *properties = json_object_get(result_schema(all, tool->ops[i]), "properties");
        if (json_object_get(properties, member) == NULL) {
            problem(tool->where, "picture names %s, which is not in the result of %s", member, tool->ops[i]->id);
        }
    }
}

static void lint_long_member(const struct catalogue *all, const struct tool_decl *tool)
{
    static const char *const known[] = { "member=s", "uri=s", NULL };
    json_t *declared = json_object_get(tool->json, "long");
    if (declared == NULL) {
        return;
    }
    lint_members(declared, known, tool->where);
    const char *member = member_text(declared, "member");
    for (size_t i = 0; member != NULL && i < tool->op_count; i++) {
        const struct op_decl *op = tool->ops[i];
        const struct param *include = find_param(op, "include");
        json_t *property = json_object_get(json_object_get(result_schema(all, op), "properties"), member);
        bool never_has_it = property == NULL && include == NULL;
        if (op->built && !never_has_it && (property == NULL || include == NULL || !list_has(enum_values(include), member))) {
            problem(tool->where, "long names %s, which %s does not add with include", member, op->id);
        }
    }
    if (member == NULL || member_text(declared, "uri") == NULL) {
        problem(tool->where, "long needs member and uri");
    }
}

/* True when `sentence` contains the name as a whole word. */
static bool names_word(const char *sentence, const char *name)
{
    size_t size = strlen(name);
    for (const char *at = strstr(sentence, name); at != NULL; at = strstr(at + 1, name)) {
        bool begins = at == sentence || !(isalnum((unsigned char)at[-1]) || at[-1] == '_');
        if (begins && !isalnum((unsigned char)at[size]) && at[size] != '_') {
            return true;
        }
    }
    return false;
}

/* The tools that `instead` lists must be built, and its sentence must name these and no others. */
static void lint_instead_tools(const struct catalogue *all, const struct tool_decl *tool, const json_t *instead)
{
    const char *sentence = member_text(instead, "text");
    const json_t *names = json_object_get(instead, "tools");
    size_t i;
    const json_t *name;
    json_array_foreach(names, i, name) {
        const struct tool_decl *other = find_tool(all, json_string_value(name));
        if (other == NULL || !other->listed) {
            problem(tool->where, "instead lists %s, which is not a tool that works", json_string_value(name));
        }
    }
    for (i = 0; sentence != NULL && i < all->tool_count; i++) {
        const char *other = all->tools[i].name;
        if (names_word(sentence, other) != list_has(names, other)) {
            problem(tool->where, "the text and the tools of instead must name the same tools; they differ in %s", other);
        }
    }
}

/* A tool that does not work says what works today. A tool that works needs no other way. */
static void lint_instead(const struct catalogue *all, const struct tool_decl *tool)
{
    static const char *const known[] = { "tools=t", "text=s", NULL };
    static const char *const known_needs[] = { "integration=s", NULL };
    static const char *const categories[] = { "data_in", "data_out", NULL };
    json_t *instead = json_object_get(tool->json, "instead");
    json_t *needs = json_object_get(tool->json, "needs");
    if (needs != NULL) {
        lint_members(needs, known_needs, tool->where);
        if (!is_one_of(member_text(needs, "integration"), categories)) {
            problem(tool->where, "needs an integration of an unknown category");
        }
    }
    if (tool->listed != (instead == NULL)) {
        problem(tool->where,
                tool->listed ? "works, so instead must be removed" : "does not work yet; instead must give the tools to use today");
    }
    if (instead != NULL) {
        lint_members(instead, known, tool->where);
        lint_text(instead, "text", tool->where);
        lint_instead_tools(all, tool, instead);
    }
}

static void lint_tool(const struct catalogue *all, size_t at)
{
    static const char *const known[] = {
        "name=s",    "title=s",   "description=s", "toolset=s", "hints=o", "run=st", "chooseBy=o",     "only=t",
        "fixed=o",   "default=o", "describe=o",    "long=o",    "picture=o", "help=s",  "cost=s", "organization=b", "brief=t",
        "require=t", "output=t",  "rules=t",       "instead=o", "needs=o", "aliases=o", NULL,
    };
    static const char *const known_choice[] = { "argument=s", "values=o", "present=o", "otherwise=s", NULL };
    const struct tool_decl *tool = &all->tools[at];
    lint_members(tool->json, known, tool->where);
    if (json_object_get(tool->json, "chooseBy") != NULL) {
        lint_members(json_object_get(tool->json, "chooseBy"), known_choice, tool->where);
    }
    if (!is_tool_name(tool->name)) {
        problem(tool->where, "name must match ^[a-z][a-z0-9_]*$ and have %d characters at most", NAME_MAX_BYTES);
    }
    for (size_t i = 0; i < at; i++) {
        if (strcmp(all->tools[i].name, tool->name) == 0) {
            problem(tool->where, "the name %s is already used", tool->name);
        }
    }
    lint_text(tool->json, "title", tool->where);
    lint_text(tool->json, "description", tool->where);
    lint_cited_rules(all, tool->json, text("%s: %s", tool->where, tool->name));
    const char *toolset = member_text(tool->json, "toolset");
    if (toolset == NULL || strcmp(toolset, tool->domain) != 0) {
        problem(tool->where, "toolset must be the name of its folder");
    }
    lint_hints(tool);
    lint_operations_of(tool);
    lint_word_lists(tool);
    lint_choice(tool);
    lint_long_member(all, tool);
    lint_picture(all, tool);
    lint_instead(all, tool);
}

/* A tool as it is listed, derived from its declaration and its operations. */
static void lint_listed_tool(const struct tool_decl *tool)
{
    if (strlen(tool->description) > DESCRIPTION_MAX_BYTES) {
        problem(tool->where, "the description has %zu bytes with its cost, %d are allowed", strlen(tool->description),
                DESCRIPTION_MAX_BYTES);
    }
    if (!tool->built) {
        return;
    }
    if (json_object_get(json_object_get(tool->input_schema, "properties"), "brandId") != NULL) {
        problem(tool->where, "a tool must not take a brandId");
    }
    lint_schema(tool, tool->input_schema, "inputSchema");
    lint_schema(tool, tool->output_schema, "outputSchema");
}

static void lint_list_size(const struct catalogue *all)
{
    size_t built = 0;
    size_t bytes = 0;
    for (size_t i = 0; i < all->tool_count; i++) {
        if (all->tools[i].listed) {
            built++;
            const json_t *largest = all->tools[i].organization_object;
            bytes += strlen(json_text(largest != NULL ? largest : all->tools[i].list_object));
        }
    }
    if (built == 0) {
        return;
    }
    size_t mean = bytes / built;
    size_t whole = mean * all->tool_count;
    printf("catalogue: %zu tools declared, %zu built; %zu bytes a tool, %zu for all\n", all->tool_count, built, mean, whole);
    if (mean > MEAN_MAX_BYTES || whole > LIST_MAX_BYTES) {
        problem("tools", "a tool takes %zu bytes of tools/list in the mean, %d are allowed, and %d for all", mean, MEAN_MAX_BYTES,
                LIST_MAX_BYTES);
    }
}

void lint_tools(const struct catalogue *all)
{
    for (size_t i = 0; i < all->tool_count; i++) {
        lint_tool(all, i);
    }
}

void lint_listed_tools(const struct catalogue *all)
{
    for (size_t i = 0; i < all->tool_count; i++) {
        lint_listed_tool(&all->tools[i]);
    }
    lint_list_size(all);
}
