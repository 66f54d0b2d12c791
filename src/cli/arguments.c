#include "cli/arguments.h"

#include "api/decode.h"
#include "base/json_read.h"
#include "cli/values.h"

#include <string.h>

const struct arg_field *operation_field(const struct operation *op, const char *name)
{
    for (size_t i = 0; i < op->args->count; i++)
        if (strcmp(op->args->fields[i].name, name) == 0)
            return &op->args->fields[i];
    return NULL;
}

json_t *arguments_place(const struct arguments *arguments, enum arg_place place)
{
    return place == ARG_IN_PATH ? arguments->path : place == ARG_IN_QUERY ? arguments->query : arguments->body;
}

const json_t *arguments_flat(struct arena *arena, const struct arguments *arguments)
{
    json_t *flat = json_in_arena(arena, json_deep_copy(arguments->body));
    json_object_update(flat, arguments->query);
    json_object_update(flat, arguments->path);
    return flat;
}

/* ---- Operands ---- */

/* Sets the parameters of the path, in their order. */
static bool put_operands(const struct command_line *line, struct arguments *arguments, struct error *err)
{
    const char *at = line->op->path;
    for (size_t i = 0; at != NULL && (at = strchr(at, '{')) != NULL; i++) {
        size_t size = strcspn(++at, "}");
        json_t *value = json_string(line->operands[i]);
        if (value == NULL || line->operands[i][0] == '\0')
            return fail(err, ERR_INVALID_REQUEST, NULL, "%s: an operand is empty or not UTF-8 text.", line->op->operands);
        json_object_setn_new(arguments->path, at, size, value);
    }
    return true;
}

/* ---- The body ---- */

static bool takes_body(const struct operation *op)
{
    return op->method == NULL || (strcmp(op->method, "GET") != 0 && strcmp(op->method, "DELETE") != 0);
}

/* Members that belong to the path or the query are refused. They would silently replace those. */
static bool put_body(struct value_source *source, const struct command_line *line, const char *body, struct arguments *arguments,
                     struct error *err)
{
    const json_t *whole;
    if (!takes_body(line->op))
        return fail(err, ERR_INVALID_REQUEST, NULL, "--body is not accepted by this command.");
    if (!value_json(source, "--body", body, &whole, err))
        return false;
    if (!json_is_object(whole))
        return fail(err, ERR_INVALID_REQUEST, NULL, "--body must be a JSON object.");
    const char *name;
    json_t *value;
    json_object_foreach (json_for_iteration(whole), name, value) {
        const struct arg_field *field = operation_field(line->op, name);
        if (field != NULL && field->place != ARG_IN_BODY)
            return fail(err, ERR_INVALID_REQUEST, NULL, "--body must not contain %s, which is not part of the body.", name);
        json_object_set(arguments->body, name, value);
    }
    arguments->has_body = true;
    return true;
}

/* ---- Flags ---- */

/* Finds the object of the last name of a flag; creates it when it is missing. */
static bool find_holder(const struct flag *flag, json_t *object, json_t **ret_holder, struct error *err)
{
    for (size_t i = 0; i + 1 < flag->depth; i++) {
        json_t *inner = json_object_get(object, flag->fields[i]->name);
        if (inner == NULL) {
            inner = json_object();
            json_object_set_new(object, flag->fields[i]->name, inner);
        }
        if (!json_is_object(inner))
            return fail(err, ERR_INVALID_REQUEST, NULL, "%s: %s is not an object.", flag->written, flag->fields[i]->name);
        object = inner;
    }
    *ret_holder = object;
    return true;
}

static bool is_repeated(const struct command_line *line, size_t at)
{
    const struct flag *flag = &line->flags[at];
    for (size_t i = 0; i < at; i++)
        if (line->flags[i].depth == flag->depth &&
            memcmp(line->flags[i].fields, flag->fields, flag->depth * sizeof(flag->fields[0])) == 0)
            return true;
    return false;
}

/* True when an earlier flag set a member of the object that this flag sets as a whole. */
static bool is_member_given(const struct command_line *line, size_t at)
{
    const struct flag *flag = &line->flags[at];
    for (size_t i = 0; i < at; i++)
        if (line->flags[i].depth > flag->depth &&
            memcmp(line->flags[i].fields, flag->fields, flag->depth * sizeof(flag->fields[0])) == 0)
            return true;
    return false;
}

static bool put_flag(struct value_source *source, const struct command_line *line, size_t at, struct arguments *arguments,
                     struct error *err)
{
    const struct flag *flag = &line->flags[at];
    const struct arg_field *field = flag->fields[flag->depth - 1];
    json_t *holder;
    json_t *value;
    bool again = is_repeated(line, at);
    if (again && field->kind != ARG_TEXT_LIST && field->kind != ARG_TOKENS)
        return fail(err, ERR_INVALID_REQUEST, NULL, "%s is given twice.", flag->written);
    if (field->kind == ARG_OBJECT && is_member_given(line, at))
        return fail(err, ERR_INVALID_REQUEST, NULL, "%s would replace the members set before it; give it first.", flag->written);
    if (!find_holder(flag, arguments_place(arguments, flag->fields[0]->place), &holder, err))
        return false;
    json_t *earlier = again ? json_object_get(holder, field->name) : NULL;
    if (flag->negated)
        value = field->kind == ARG_BOOLEAN ? json_false() : json_null();
    else if (flag->value == NULL)
        value = json_true();
    else if (!value_make(source, field, flag->written, flag->value, earlier, &value, err))
        return false;
    json_object_set_new(holder, field->name, value);
    arguments->has_body = arguments->has_body || flag->fields[0]->place == ARG_IN_BODY;
    return true;
}

/* ---- Choice of the operation ---- */

/* A verb whose operation has a condition on an argument implies the value of that argument. */
static bool put_condition(struct arena *arena, const struct operation *op, struct arguments *arguments, struct error *err)
{
    if (op->when.kind != WHEN_EQUALS)
        return true;
    const struct arg_field *field = operation_field(op, op->when.argument);
    json_t *place = arguments_place(arguments, field != NULL ? field->place : ARG_IN_BODY);
    const json_t *given = json_object_get(place, op->when.argument);
    json_t *wanted = json_loads(op->when.value, JSON_DECODE_ANY, NULL);
    if (given == NULL) {
        json_object_set_new(place, op->when.argument, wanted);
        arguments->has_body = arguments->has_body || place == arguments->body;
        return true;
    }
    bool is_same = json_equal(given, wanted) != 0;
    json_decref(wanted);
    return is_same || fail(err, ERR_INVALID_REQUEST, NULL, "%s %s always has %s %s; leave it out.", op->domain, op->verb,
                           op->when.argument, arena_printf(arena, "%s", op->when.value));
}

static bool is_same_route(const struct operation *op, const struct route *route)
{
    return op->method != NULL && strcmp(route->method, op->method) == 0 && strcmp(route->path, op->path) == 0;
}

/* As on a server: the first candidate of the route whose condition holds. */
static const struct operation *choose_candidate(struct arena *arena, const struct operation *op, const struct arguments *arguments)
{
    struct call_input input = { .flat = true, .body = arguments_flat(arena, arguments) };
    for (size_t i = 0; i < route_count; i++)
        for (size_t at = 0; is_same_route(op, &routes[i]) && routes[i].candidates[at] != NULL; at++)
            if (decode_when_holds(&routes[i].candidates[at]->when, &input))
                return routes[i].candidates[at];
    return op;
}

static bool field_is_needed(const struct operation *op, const struct arg_field *field)
{
    const char *present = op->when.kind == WHEN_PRESENT ? op->when.argument : op->when.beside;
    bool makes_it = present != NULL && strcmp(present, field->name) == 0;
    return (field->required || makes_it) && field->place != ARG_IN_PATH;
}

static bool check_missing(struct arena *arena, const struct operation *op, const struct arguments *arguments, struct error *err)
{
    const char *missing = "";
    for (size_t i = 0; i < op->args->count; i++) {
        const struct arg_field *field = &op->args->fields[i];
        if (field_is_needed(op, field) && json_object_get(arguments_place(arguments, field->place), field->name) == NULL)
            missing = arena_printf(arena, "%s%s--%s", missing, *missing != '\0' ? ", " : "", command_line_flag_name(arena, field));
    }
    return *missing == '\0' || fail(err, ERR_INVALID_REQUEST, NULL, "Missing: %s.", missing);
}

bool arguments_make(struct arena *arena, const struct command_line *line, const char *body, struct arguments *ret_arguments,
                    struct error *err)
{
    struct arguments *arguments = ret_arguments;
    *arguments = (struct arguments){
        .op = line->op,
        .path = json_in_arena(arena, json_object()),
        .query = json_in_arena(arena, json_object()),
        .body = json_in_arena(arena, json_object()),
    };
    if (!line->op->built)
        return true; /* the operation does not read its arguments */
    struct value_source source = { .arena = arena, .max_bytes = line->op->max_body_bytes };
    if (!put_operands(line, arguments, err) || (body != NULL && !put_body(&source, line, body, arguments, err)))
        return false;
    for (size_t i = 0; i < line->flag_count; i++)
        if (!put_flag(&source, line, i, arguments, err))
            return false;
    if (!put_condition(arena, line->op, arguments, err))
        return false;
    arguments->op = choose_candidate(arena, line->op, arguments);
    /* The argument of the verb's condition is missing when another operation was chosen: `save-batch` without contacts. */
    return check_missing(arena, line->op->when.kind == WHEN_ALWAYS ? arguments->op : line->op, arguments, err);
}
