#include "cli/command_line.h"

#include "base/nearest.h"
#include "base/text.h"
#include "cli/options.h"

#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 256 };

static const char *const place_names[] = { [ARG_IN_PATH] = "path", [ARG_IN_QUERY] = "query", [ARG_IN_BODY] = "body" };

/* ---- Domains and verbs ---- */

bool command_line_reaches(const struct operation *op)
{
    return op->reach != REACH_SESSION;
}

bool command_line_is_domain(const char *name)
{
    for (size_t i = 0; i < operation_count; i++)
        if (strcmp(operations[i].domain, name) == 0)
            return true;
    return false;
}

static bool find_verb(const struct command_line *line, const char *verb, const struct operation **ret_op, struct error *err)
{
    const char *verbs[NAMES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < operation_count && count < NAMES_MAX; i++) {
        const struct operation *op = &operations[i];
        if (strcmp(op->domain, line->domain) != 0)
            continue;
        if (strcmp(op->verb, verb) == 0)
            *ret_op = op;
        verbs[count++] = op->verb;
    }
    if (*ret_op == NULL) {
        const char *nearest = name_nearest(verb, verbs, count);
        return fail(err, ERR_INVALID_REQUEST, NULL, "%.60s is not a verb of %s%s%s; posthorn %s --help lists them.", verb,
                    line->domain, nearest != NULL ? "; did you mean " : "", nearest != NULL ? nearest : "", line->domain);
    }
    return command_line_reaches(*ret_op) ||
           fail(err, ERR_INVALID_REQUEST, NULL,
                "Over REST only a signed-in administrator may do this; locally use posthorn admin (posthorn admin --help).");
}

/* ---- Flags ---- */

static bool is_option(const char *flag, size_t size)
{
    for (size_t i = 0; options_flag_at(COMMAND_OPERATION, i) != NULL; i++) {
        const char *option = options_flag_at(COMMAND_OPERATION, i);
        if (strlen(option) == size + 2 && memcmp(option + 2, flag, size) == 0)
            return true;
    }
    return false;
}

const char *command_line_flag_name(struct arena *arena, const struct arg_field *field)
{
    bool is_taken = is_option(field->flag, strlen(field->flag));
    return is_taken ? arena_printf(arena, "%s.%s", place_names[field->place], field->flag) : field->flag;
}

static bool is_called(const struct arg_field *field, const char *name, size_t size)
{
    return (strlen(field->flag) == size && memcmp(field->flag, name, size) == 0) ||
           (strlen(field->name) == size && memcmp(field->name, name, size) == 0);
}

/* Follows a.b.c through objects. Returns the depth; 0 when there is no such argument. */
static size_t follow_path(const struct arg_shape *shape, const char *name, size_t size,
                          const struct arg_field *ret_fields[FLAG_MAX_DEPTH])
{
    size_t depth = 0;
    while (shape != NULL && depth < FLAG_MAX_DEPTH) {
        const char *dot = memchr(name, '.', size);
        size_t own = dot != NULL ? (size_t)(dot - name) : size;
        const struct arg_field *found = NULL;
        for (size_t i = 0; i < shape->count && found == NULL; i++)
            if (is_called(&shape->fields[i], name, own))
                found = &shape->fields[i];
        if (found == NULL || found->place == ARG_IN_PATH)
            return 0;
        ret_fields[depth++] = found;
        if (dot == NULL)
            return depth;
        shape = found->kind == ARG_OBJECT ? found->object : NULL;
        name = dot + 1;
        size -= own + 1;
    }
    return 0;
}

/* --body.url names the place of the argument, unless an argument has that name. */
static bool find_argument(const struct operation *op, const char *name, size_t size, struct flag *flag)
{
    flag->depth = follow_path(op->args, name, size, flag->fields);
    for (size_t place = ARG_IN_QUERY; flag->depth == 0 && place <= ARG_IN_BODY; place++) {
        size_t prefix = strlen(place_names[place]);
        if (size <= prefix + 1 || memcmp(name, place_names[place], prefix) != 0 || name[prefix] != '.')
            continue;
        flag->depth = follow_path(op->args, name + prefix + 1, size - prefix - 1, flag->fields);
        if (flag->depth > 0 && flag->fields[0]->place != (enum arg_place)place)
            flag->depth = 0;
    }
    return flag->depth > 0;
}

static const struct arg_field *flag_target(const struct flag *flag)
{
    return flag->fields[flag->depth - 1];
}

static bool find_flag(const struct operation *op, const char *name, size_t size, struct flag *flag)
{
    if (find_argument(op, name, size, flag))
        return true;
    if (size <= 3 || memcmp(name, "no-", 3) != 0 || !find_argument(op, name + 3, size - 3, flag))
        return false;
    flag->negated = true;
    return flag_target(flag)->kind == ARG_BOOLEAN || flag_target(flag)->nullable;
}

static bool refuse_unknown_flag(struct arena *arena, const struct operation *op, const char *argument, struct error *err)
{
    const char *names[NAMES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < op->args->count && count < NAMES_MAX; i++)
        if (op->args->fields[i].place != ARG_IN_PATH)
            names[count++] = arena_printf(arena, "--%s", command_line_flag_name(arena, &op->args->fields[i]));
    for (size_t i = 0; count < NAMES_MAX && options_flag_at(COMMAND_OPERATION, i) != NULL; i++)
        names[count++] = options_flag_at(COMMAND_OPERATION, i);
    const char *given = arena_dup_bytes(arena, argument, strcspn(argument, "="));
    const char *nearest = name_nearest(given, names, count);
    return fail(err, ERR_INVALID_REQUEST, NULL, "%.60s is not a flag of this command%s%s; --help lists them.", given,
                nearest != NULL ? "; did you mean " : "", nearest != NULL ? nearest : "");
}

/* An ambiguous flag such as --url is refused: the wrong meaning might send a key to an unknown server. */
static bool refuse_ambiguous(struct arena *arena, const struct flag *flag, struct error *err)
{
    const char *option = arena_printf(arena, "--%s", flag->fields[0]->flag);
    const char *variable = options_variable(option);
    return fail(err, ERR_INVALID_REQUEST, NULL,
                "%s is both an argument and an option of this command. Write --%s for the argument%s%s.", option,
                command_line_flag_name(arena, flag->fields[0]), variable != NULL ? "; set the option with " : "",
                variable != NULL ? variable : "");
}

/* An operation that is not built reports only that. Its flags are skipped with their values. */
static void skip_unbuilt(int argc, char **argv, int *at)
{
    bool has_value = strchr(argv[*at], '=') == NULL && *at + 1 < argc && argv[*at + 1][0] != '-';
    *at += has_value;
}

static bool read_argument_flag(struct arena *arena, struct command_line *line, int argc, char **argv, int *at, struct error *err)
{
    const char *argument = argv[*at];
    struct flag flag = { .written = arena_dup_bytes(arena, argument, strcspn(argument, "=")) };
    const char *name = flag.written + strspn(flag.written, "-");
    bool is_known = argument[1] == '-' && find_flag(line->op, name, strlen(name), &flag);
    int option_words = options_match(COMMAND_OPERATION, argc - *at, argv + *at);
    if (is_known && option_words > 0)
        return refuse_ambiguous(arena, &flag, err);
    if (option_words > 0) {
        for (int i = 0; i < option_words; i++)
            line->options[line->option_count++] = argv[*at + i];
        *at += option_words - 1;
        return true;
    }
    if (!is_known && !line->op->built) {
        skip_unbuilt(argc, argv, at);
        return true;
    }
    if (!is_known)
        return refuse_unknown_flag(arena, line->op, argument, err);
    const char *equals = strchr(argument, '=');
    flag.value = equals != NULL ? equals + 1 : NULL;
    if (flag.negated && flag.value != NULL)
        return fail(err, ERR_INVALID_REQUEST, NULL, "%s takes no value.", flag.written);
    if (flag.value == NULL && !flag.negated && flag_target(&flag)->kind != ARG_BOOLEAN) {
        if (*at + 1 >= argc || options_match(COMMAND_OPERATION, argc - *at - 1, argv + *at + 1) > 0)
            return fail(err, ERR_INVALID_REQUEST, NULL, "%s needs a value.", flag.written);
        flag.value = argv[++*at];
    }
    line->flags[line->flag_count++] = flag;
    return true;
}

/* ---- The line ---- */

static bool asks_help(int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

static size_t count_operands(const char *operands)
{
    size_t count = *operands != '\0';
    for (const char *at = operands; *at != '\0'; at++)
        count += *at == ' ';
    return count;
}

static bool check_operands(const struct command_line *line, struct error *err)
{
    const struct operation *op = line->op;
    size_t wanted = count_operands(op->operands);
    if (line->operand_count < wanted)
        return fail(err, ERR_INVALID_REQUEST, NULL, "Name %s: posthorn %s %s %s.", op->operands, op->domain, op->verb,
                    op->operands);
    if (line->operand_count > wanted && op->built)
        return fail(err, ERR_INVALID_REQUEST, NULL, "%.60s is an unexpected operand. Values need a flag; --help lists the flags.",
                    line->operands[wanted]);
    return true;
}

bool command_line_read(struct arena *arena, int argc, char **argv, struct command_line *ret_line, struct error *err)
{
    struct command_line *line = ret_line;
    size_t most = (size_t)argc + 1;
    *line = (struct command_line){
        .domain = argv[0],
        .help = asks_help(argc, argv),
        .operands = arena_array(arena, most, sizeof(*line->operands)),
        .flags = arena_array(arena, most, sizeof(*line->flags)),
        .options = arena_array(arena, most, sizeof(*line->options)),
    };
    bool has_verb = argc > 1 && argv[1][0] != '-';
    if (has_verb && !find_verb(line, argv[1], &line->op, err))
        return false;
    if (line->help)
        return true;
    if (!has_verb)
        return fail(err, ERR_INVALID_REQUEST, NULL, "Name a verb; posthorn %s --help lists them.", line->domain);
    bool only_words = false;
    for (int i = 2; i < argc; i++) {
        if (!only_words && strcmp(argv[i], "--") == 0)
            only_words = true;
        else if (only_words || argv[i][0] != '-' || argv[i][1] == '\0')
            line->operands[line->operand_count++] = argv[i];
        else if (!read_argument_flag(arena, line, argc, argv, &i, err))
            return false;
    }
    return check_operands(line, err);
}
