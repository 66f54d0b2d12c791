#include "template/expression.h"

#include "template/filter.h"

#include <stdlib.h>
#include <string.h>

/* These limits together keep the stack of an expression below TEMPLATE_STACK_MAX. */
enum { MAX_OPERATORS = 15, MAX_NESTING = 8, SHOWN_NAME_BYTES = 64 };

/* ---- Ranges ---- */

static bool parse_range(struct template_parser *parser)
{
    const char *ignored;
    parser->at++;
    if (!template_parse_term(parser, &ignored))
        return false;
    template_parse_blanks(parser);
    if (template_parser_peek(parser) != '.' || template_parser_second(parser) != '.')
        return template_parse_refuse_here(parser, "'..' of a range");
    parser->at += 2;
    if (!template_parse_term(parser, &ignored))
        return false;
    if (!template_parse_sign(parser, ')'))
        return template_parse_refuse_here(parser, "')' after a range");
    template_build_op(parser->build, TEMPLATE_OP_RANGE, 0, 0, 0);
    return true;
}

/* ---- Paths ---- */

/* The state while a path is parsed. */
struct path {
    struct buf *known; /* the path in the list of paths; a member that is chosen at run time is [] there */
    bool is_known;     /* `known` is the path of the value; false after a variable whose value has no path */
    bool is_loaded;    /* the value is on the stack; the rest are member operations */
};

static bool is_reserved(const char *name, size_t size)
{
    static const char *const reserved[] = { "and", "or", "not", "contains" };
    for (size_t i = 0; i < ARRAY_COUNT(reserved); i++)
        if (strlen(reserved[i]) == size && memcmp(reserved[i], name, size) == 0)
            return true;
    return false;
}

static bool add_path_reference(struct template_parser *parser, const char *name, size_t size, unsigned flags, uint32_t *ret_path)
{
    if (size > TEMPLATE_MAX_PATH_BYTES)
        return template_parse_refuse(parser, "the path is longer than %d bytes", TEMPLATE_MAX_PATH_BYTES);
    if (!template_build_path(parser->build, name, size, flags, ret_path))
        return template_parse_refuse(parser, "the template uses more than %d different paths", TEMPLATE_MAX_PATHS);
    return true;
}

/* Loads the known part; the rest of the path is evaluated at run time. */
static bool load_known(struct template_parser *parser, struct path *path)
{
    uint32_t number;
    if (path->is_loaded)
        return true;
    if (!add_path_reference(parser, buf_text(path->known), path->known->size, TEMPLATE_PATH_LISTED, &number))
        return false;
    template_build_op(parser->build, TEMPLATE_OP_LOAD, 0, 0, number);
    path->is_loaded = true;
    return true;
}

static void add_name_segment(struct template_parser *parser, struct path *path, const char *name, size_t size)
{
    if (path->is_known && template_name_size(name, name + size) == size)
        buf_printf(path->known, ".%.*s", (int)size, name);
    else if (path->is_known)
        buf_printf(path->known, "[\"%.*s\"]", (int)size, name);
    if (path->is_loaded)
        template_build_op(parser->build, TEMPLATE_OP_MEMBER, 0, 0, template_build_string(parser->build, name, size));
}

static bool parse_quoted_segment(struct template_parser *parser, struct path *path)
{
    const char *name;
    size_t size;
    if (!template_parse_quoted(parser, &name, &size))
        return false;
    if (size == 0 || memchr(name, '"', size) != NULL)
        return template_parse_refuse(parser, "a name in brackets must not be empty or contain a double quote");
    add_name_segment(parser, path, name, size);
    return true;
}

static bool parse_number_segment(struct template_parser *parser, struct path *path)
{
    const char *from = parser->at;
    if (template_parser_peek(parser) == '-')
        parser->at++;
    while (template_parser_is_digit(template_parser_peek(parser)))
        parser->at++;
    size_t size = (size_t)(parser->at - from);
    if (!template_parser_is_digit(parser->at[-1]) || size > 9)
        return template_parse_refuse(parser, "an index in brackets must be a whole number, a quoted name or a path");
    if (path->is_known)
        buf_printf(path->known, "[%.*s]", (int)size, from);
    if (path->is_loaded) {
        template_build_op(parser->build, TEMPLATE_OP_INTEGER, 0, 0, (uint32_t)(int32_t)strtol(from, NULL, 10));
        template_build_op(parser->build, TEMPLATE_OP_INDEX, 0, 0, 0);
    }
    return true;
}

/* [name]: the member is known only at run time. The list of paths shows it as "[]". */
static bool parse_path_segment(struct template_parser *parser, struct path *path)
{
    const char *ignored;
    if (!load_known(parser, path) || !template_parse_term(parser, &ignored))
        return false;
    if (path->is_known)
        buf_add_text(path->known, "[]");
    template_build_op(parser->build, TEMPLATE_OP_INDEX, 0, 0, 0);
    return true;
}

static bool parse_bracket(struct template_parser *parser, struct path *path)
{
    template_parse_blanks(parser);
    char first = template_parser_peek(parser);
    bool done = false;
    if (first == '\'' || first == '"')
        done = parse_quoted_segment(parser, path);
    else if (template_parser_is_digit(first) || first == '-')
        done = parse_number_segment(parser, path);
    else
        done = parse_path_segment(parser, path);
    if (!done)
        return false;
    return template_parse_sign(parser, ']') || template_parse_refuse_here(parser, "']'");
}

static bool parse_segments(struct template_parser *parser, struct path *path)
{
    const char *name;
    size_t size;
    for (;;) {
        if (path->known->size > TEMPLATE_MAX_PATH_BYTES)
            return template_parse_refuse(parser, "the path is longer than %d bytes", TEMPLATE_MAX_PATH_BYTES);
        if (template_parser_peek(parser) == '.' && template_parser_second(parser) != '.') {
            parser->at++;
            if (!template_parse_name(parser, "a name after '.'", &name, &size))
                return false;
            add_name_segment(parser, path, name, size);
        } else if (template_parser_peek(parser) == '[') {
            parser->at++;
            if (!parse_bracket(parser, path))
                return false;
        } else {
            return true;
        }
    }
}

static bool parse_forloop(struct template_parser *parser)
{
    static const char *const facts[TEMPLATE_FORLOOP_COUNT] = {
        [TEMPLATE_FORLOOP_INDEX] = "index",     [TEMPLATE_FORLOOP_INDEX0] = "index0", [TEMPLATE_FORLOOP_RINDEX] = "rindex",
        [TEMPLATE_FORLOOP_RINDEX0] = "rindex0", [TEMPLATE_FORLOOP_FIRST] = "first",   [TEMPLATE_FORLOOP_LAST] = "last",
        [TEMPLATE_FORLOOP_LENGTH] = "length",
    };
    const char *name = "";
    size_t size = 0;
    if (template_parser_peek(parser) == '.') {
        parser->at++;
        if (!template_parse_name(parser, "a name after '.'", &name, &size))
            return false;
    }
    for (unsigned fact = 0; fact < TEMPLATE_FORLOOP_COUNT; fact++) {
        if (strlen(facts[fact]) != size || memcmp(facts[fact], name, size) != 0)
            continue;
        template_build_op(parser->build, TEMPLATE_OP_FORLOOP, fact, parser->names->loop_count - 1, 0);
        return true;
    }
    return template_parse_refuse(parser, "forloop has index, index0, rindex, rindex0, first, last and length");
}

/* Begins a path with the name of a loop, of a variable, or of a value from outside. */
static bool begin_path(struct template_parser *parser, struct path *path, const char *name, size_t size)
{
    const struct template_names *names = parser->names;
    int loop = template_names_loop(names, name, size);
    int variable = loop >= 0 ? -1 : template_names_variable(names, name, size);
    const char *source = NULL;
    uint32_t fallback;
    if (loop >= 0) {
        source = names->loops[loop].source;
        template_build_op(parser->build, TEMPLATE_OP_ITEM, 0, (unsigned)loop, 0);
    } else if (variable >= 0 && (names->variables[variable].is_assigned || names->loop_count > 0)) {
        /* In a loop, the assignment can come later in the source. */
        bool is_assigned = names->variables[variable].is_assigned;
        source = is_assigned ? names->variables[variable].source : arena_dup_bytes(parser->build->arena, name, size);
        if (!add_path_reference(parser, name, size, 0, &fallback))
            return false;
        template_build_op(parser->build, TEMPLATE_OP_VARIABLE, 0, (unsigned)variable, fallback + 1);
    } else {
        buf_add(path->known, name, size);
        path->is_known = true;
        return true;
    }
    path->is_loaded = true;
    path->is_known = source != NULL;
    if (source != NULL)
        buf_add_text(path->known, source);
    return true;
}

static bool parse_path(struct template_parser *parser, const char **ret_path)
{
    const char *name;
    size_t size;
    uint32_t ignored;
    if (!template_parse_name(parser, "a name", &name, &size))
        return false;
    if (is_reserved(name, size))
        return template_parse_refuse(parser, "'%.*s' is a reserved word", (int)size, name);
    bool is_forloop = size == strlen("forloop") && memcmp(name, "forloop", size) == 0;
    if (is_forloop && parser->names->loop_count == 0)
        return template_parse_refuse(parser, "forloop is used outside of {%% for %%}");
    if (is_forloop)
        return parse_forloop(parser);

    struct path path = { .known = buf_in_arena(parser->build->arena, TEMPLATE_MAX_EXPRESSION_BYTES * 2) };
    if (!begin_path(parser, &path, name, size) || !parse_segments(parser, &path) || (path.is_known && !load_known(parser, &path)))
        return false;
    if (!path.is_known)
        return true;
    *ret_path = buf_text(path.known);
    return add_path_reference(parser, *ret_path, path.known->size, TEMPLATE_PATH_LISTED, &ignored);
}

static bool parse_term(struct template_parser *parser, const char **ret_path)
{
    char first = template_parser_peek(parser);
    if (first == '\'' || first == '"') {
        const char *text;
        size_t size;
        if (!template_parse_quoted(parser, &text, &size))
            return false;
        template_build_op(parser->build, TEMPLATE_OP_CONST, 0, 0, template_build_string(parser->build, text, size));
        return true;
    }
    if (template_parser_is_digit(first) || first == '-' || first == '+')
        return template_parse_number(parser);
    if (first == '(')
        return parse_range(parser);
    if (first == '\xE2') /* typographic quotes U+2018 … U+201F, which editors insert */
        return template_parse_refuse(parser, "use straight quotes instead of '%.*s'", template_parser_character_size(parser),
                                     parser->at);
    return template_parse_literal(parser) || parse_path(parser, ret_path);
}

bool template_parse_term(struct template_parser *parser, const char **ret_path)
{
    *ret_path = NULL;
    template_parse_blanks(parser);
    if (parser->nesting == MAX_NESTING)
        return template_parse_refuse(parser, "brackets are nested more than %d levels deep", MAX_NESTING);
    parser->nesting++;
    bool done = parse_term(parser, ret_path);
    parser->nesting--;
    return done;
}

/* ---- Conditions ---- */

struct operator
{
    const char *text;
    int precedence;
    enum template_op op;
    unsigned comparison;
};

/* An operator comes before its own prefixes ("<=" before "<"). */
static const struct operator operators[] = {
    { "==", 2, TEMPLATE_OP_COMPARE, TEMPLATE_EQUAL },
    { "!=", 2, TEMPLATE_OP_COMPARE, TEMPLATE_UNEQUAL },
    { "<=", 2, TEMPLATE_OP_COMPARE, TEMPLATE_AT_MOST },
    { ">=", 2, TEMPLATE_OP_COMPARE, TEMPLATE_AT_LEAST },
    { "<", 2, TEMPLATE_OP_COMPARE, TEMPLATE_LESS },
    { ">", 2, TEMPLATE_OP_COMPARE, TEMPLATE_GREATER },
    { "contains", 2, TEMPLATE_OP_COMPARE, TEMPLATE_CONTAINS },
    { "and", 0, TEMPLATE_OP_AND, 0 },
    { "or", 0, TEMPLATE_OP_OR, 0 },
};
static const struct operator not_operator = { "not", 1, TEMPLATE_OP_NOT, 0 };

static const struct operator* read_operator(struct template_parser *parser)
{
    template_parse_blanks(parser);
    for (size_t i = 0; i < ARRAY_COUNT(operators); i++) {
        const char *text = operators[i].text;
        size_t size = strlen(text);
        bool is_word = template_name_size(text, text + 1) > 0;
        if (is_word && template_parse_word(parser, text))
            return &operators[i];
        if (!is_word && (size_t)(parser->end - parser->at) >= size && memcmp(parser->at, text, size) == 0) {
            parser->at += size;
            return &operators[i];
        }
    }
    return NULL;
}

struct operator_stack {
    const struct operator* items[MAX_OPERATORS * 2];
    size_t count;
    size_t total;
};

static void write_operators(struct template_parser *parser, struct operator_stack *stack, int above)
{
    while (stack->count > 0 && stack->items[stack->count - 1]->precedence > above) {
        const struct operator* top = stack->items[--stack->count];
        template_build_op(parser->build, top->op, top->comparison, 0, 0);
    }
}

static bool push_operator(struct template_parser *parser, struct operator_stack *stack, const struct operator* operator)
{
    if (stack->total == MAX_OPERATORS)
        return template_parse_refuse(parser, "the condition has more than %d operators", MAX_OPERATORS);
    stack->total++;
    write_operators(parser, stack, operator->precedence);
    stack->items[stack->count++] = operator;
    return true;
}

static bool parse_condition(struct template_parser *parser, const char **ret_path)
{
    struct operator_stack stack = { .count = 0 };
    const struct operator* before = NULL;
    for (;;) {
        bool takes_not = before == NULL || before->precedence == 0;
        while (takes_not && template_parse_word(parser, "not"))
            if (!push_operator(parser, &stack, &not_operator))
                return false;
        if (!template_parse_term(parser, ret_path))
            return false;
        before = read_operator(parser);
        if (before == NULL)
            break;
        if (!push_operator(parser, &stack, before))
            return false;
    }
    write_operators(parser, &stack, -1);
    if (stack.total > 0)
        *ret_path = NULL;
    return true;
}

/* ---- Filters ---- */

static bool refuse_filter(struct template_parser *parser, const char *name, size_t size)
{
    int shown = size > SHOWN_NAME_BYTES ? SHOWN_NAME_BYTES : (int)size;
    if (size == 3 && memcmp(name, "raw", 3) == 0)
        return template_parse_refuse(parser, "there is no filter 'raw': values are always escaped for their context");
    const char *similar = template_filter_similar(name, size);
    if (similar != NULL)
        return template_parse_refuse(parser, "there is no filter '%.*s', did you mean '%s'", shown, name, similar);
    return template_parse_refuse(parser, "there is no filter '%.*s'", shown, name);
}

static bool parse_argument(struct template_parser *parser, unsigned filter, unsigned before)
{
    const char *ignored;
    const char *from = parser->at;
    if (filter == TEMPLATE_FILTER_DEFAULT && before == 1 && template_parse_word(parser, "allow_false")) {
        if (template_parse_sign(parser, ':'))
            return template_parse_term(parser, &ignored);
        parser->at = from;
    }
    if (filter == TEMPLATE_FILTER_DEFAULT && before == 1)
        return template_parse_refuse(parser, "the filter takes fewer arguments");
    return template_parse_term(parser, &ignored);
}

static bool parse_arguments(struct template_parser *parser, unsigned filter, unsigned *ret_count)
{
    unsigned max_count = template_filter_info(filter)->max_arguments;
    *ret_count = 0;
    if (!template_parse_sign(parser, ':'))
        return true;
    do {
        if (*ret_count == max_count)
            return template_parse_refuse(parser, "the filter takes %s", max_count == 0 ? "no argument" : "fewer arguments");
        template_parse_blanks(parser);
        if (!parse_argument(parser, filter, *ret_count))
            return false;
        *ret_count += 1;
    } while (template_parse_sign(parser, ','));
    return true;
}

static bool parse_filter(struct template_parser *parser, struct template_expression *expression)
{
    const char *name;
    size_t size;
    unsigned count = 0;
    if (!template_parse_name(parser, "a filter", &name, &size))
        return false;
    unsigned filter = template_filter_find(name, size);
    if (filter == TEMPLATE_FILTER_COUNT)
        return refuse_filter(parser, name, size);
    if (expression->shows_breaks)
        return template_parse_refuse(parser, "newline_to_br must be the last filter");
    const struct template_filter_info *info = template_filter_info(filter);
    if (!parse_arguments(parser, filter, &count))
        return false;
    if (count < info->min_arguments)
        return template_parse_refuse(parser, "the filter '%s' needs %s, as in %s", info->name,
                                     info->min_arguments > 1 ? "two arguments" : "an argument", info->example);
    expression->path = NULL;
    expression->shows_breaks = filter == TEMPLATE_FILTER_NEWLINE_TO_BR;
    expression->is_url_encoded = filter == TEMPLATE_FILTER_URL_ENCODE;
    if (!expression->shows_breaks) /* newline_to_br selects an escape and has no instruction */
        template_build_op(parser->build, TEMPLATE_OP_FILTER, filter, count, 0);
    return true;
}

bool template_parse_expression(struct template_parser *parser, struct template_expression *ret_expression)
{
    *ret_expression = (struct template_expression){ .path = NULL };
    template_parse_blanks(parser);
    if (parser->at == parser->end)
        return template_parse_refuse(parser, "it is empty");
    if (!parse_condition(parser, &ret_expression->path))
        return false;
    while (template_parse_sign(parser, '|'))
        if (!parse_filter(parser, ret_expression))
            return false;
    return true;
}
