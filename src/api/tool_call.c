#include "api/tool_call.h"

#include "api/decode.h"
#include "api/view/tool_view.h"
#include "base/json_read.h"
#include "base/nearest.h"
#include "base/text.h"

#include <string.h>

static const char idempotency_argument[] = "idempotencyKey";
static const char confirmation_argument[] = "confirmationToken";
static const char wait_argument[] = "waitSeconds";

enum { WAIT_MAX_S = 50 }; /* below one minute, the time after which many clients give up */

const struct tool *tool_find(const char *name)
{
    for (size_t i = 0; i < tool_count; i++)
        if (tools[i].built && strcmp(tools[i].name, name) == 0)
            return &tools[i];
    return NULL;
}

const struct operation *const *operation_candidates(struct arena *arena, const char *id)
{
    for (size_t i = 0; i < operation_count; i++) {
        if (strcmp(operations[i].id, id) != 0)
            continue;
        const struct operation **candidates = arena_array(arena, 2, sizeof(*candidates));
        candidates[0] = &operations[i];
        return candidates;
    }
    return NULL;
}

/* An argument whose presence chooses an operation. It is accepted when that operation is not built, too, which then says so. */
static bool chooses_by(const struct tool *tool, const char *name)
{
    for (size_t i = 0; tool->present != NULL && tool->candidates[i] != NULL; i++)
        if (strcmp(tool->present[i], name) == 0)
            return true;
    return false;
}

static bool takes_argument(const struct tool *tool, const char *name)
{
    for (size_t i = 0; tool->arguments[i] != NULL; i++)
        if (strcmp(tool->arguments[i], name) == 0)
            return true;
    return chooses_by(tool, name);
}

static size_t argument_count(const struct tool *tool)
{
    size_t count = 0;
    while (tool->arguments[count] != NULL)
        count++;
    return count;
}

/* The arguments of the operation that holds names of the caller's own; NULL when there is none. */
static const struct arg_shape *shape_with_own_names(const struct tool *tool)
{
    for (size_t i = 0; tool->candidates[i] != NULL; i++)
        for (size_t at = 0; at < tool->candidates[i]->args->count; at++)
            if (tool->candidates[i]->args->fields[at].own_names)
                return tool->candidates[i]->args;
    return NULL;
}

static bool refuse_argument(const struct tool *tool, const char *name, const char *meant, struct error *err)
{
    fail(err, ERR_INVALID_REQUEST, name, "%s does not accept the argument %.64s.", tool->name, name);
    if (strcmp(name, "brandId") == 0)
        return error_suggest(err, "Leave out brandId; the connection chooses the brand.");
    if (meant != NULL)
        return error_suggest(err, "Use %s.", meant);
    const struct arg_shape *own = shape_with_own_names(tool);
    return decode_suggest_name(own != NULL ? own : tool->candidates[0]->args, name, tool->arguments, argument_count(tool), err);
}

/* The argument that an unknown name means for certain; NULL when there is none. */
static const char *meant_argument(const struct tool *tool, const char *name)
{
    for (const char *const *alias = tool->aliases; alias != NULL && *alias != NULL; alias += 2)
        if (name_is_respelt(name, alias[0]))
            return alias[1];
    return name_respelt(name, tool->arguments, argument_count(tool));
}

/* Accepts another name of an argument. A destructive tool only names the right one. Beside the right one, the name may be one of
 * the caller's own: an address beside the email of a contact. */
static bool take_other_name(const struct tool *tool, json_t *arguments, const char *name, json_t *value, struct error *err)
{
    const char *meant = meant_argument(tool, name);
    if (meant == NULL || tool->destructive)
        return refuse_argument(tool, name, meant, err);
    if (json_object_get(arguments, meant) != NULL)
        return refuse_argument(tool, name, NULL, err) || shape_with_own_names(tool) != NULL ||
               error_suggest(err, "Leave out %.64s: %s is given.", name, meant);
    json_object_set(arguments, meant, value);
    json_object_del(arguments, name);
    return true;
}

static bool take_names(const struct tool *tool, json_t *arguments, struct arena *arena, struct error *err)
{
    const char *name;
    json_t *value;
    const json_t *given = NULL;
    json_object_foreach (arguments, name, value)
        if (given == NULL && !takes_argument(tool, name))
            given = json_in_arena(arena, json_copy(arguments)); /* names change below */
    json_object_foreach (json_for_iteration(given), name, value)
        if (!takes_argument(tool, name) && !take_other_name(tool, arguments, name, value, err))
            return false;
    return true;
}

static bool take_idempotency_key(json_t *arguments, struct call *call, struct error *err)
{
    const json_t *key = json_object_get(arguments, idempotency_argument);
    if (key == NULL)
        return true;
    if (!json_is_string(key))
        return fail(err, ERR_INVALID_REQUEST, idempotency_argument, "idempotencyKey must be text of 1 to 100 characters.");
    call->idempotency_key = arena_dup(call->arena, json_string_value(key));
    json_object_del(arguments, idempotency_argument);
    return true;
}

/* confirmationToken is no argument of the operation. The user confirms the other arguments. */
static bool take_confirmation(json_t *arguments, struct call *call, struct error *err)
{
    const json_t *token = json_object_get(arguments, confirmation_argument);
    if (token == NULL)
        return true;
    if (!json_is_string(token))
        return fail(err, ERR_INVALID_REQUEST, confirmation_argument, "confirmationToken must be the text from the preview.");
    call->confirmation = arena_dup(call->arena, json_string_value(token));
    json_object_del(arguments, confirmation_argument);
    return true;
}

/* waitSeconds is no argument of the operation either. An operation that does not wait refuses it as unknown. */
static bool take_wait(json_t *arguments, struct call *call, struct error *err)
{
    const json_t *seconds = json_object_get(arguments, wait_argument);
    if (seconds == NULL || !call->candidates[0]->waits)
        return true;
    const char *text = json_string_value(seconds);
    int64_t wait_s = json_integer_value(seconds);
    bool is_whole = json_is_integer(seconds) || (text != NULL && int64_parse(text, &wait_s));
    if (!is_whole || wait_s < 0 || wait_s > WAIT_MAX_S)
        return fail(err, ERR_INVALID_REQUEST, wait_argument, "waitSeconds must be a whole number from 0 to %d.", WAIT_MAX_S);
    call->wait_s = wait_s;
    json_object_del(arguments, wait_argument);
    return true;
}

static bool accepts_argument(const struct operation *op, const char *name)
{
    for (size_t i = 0; i < op->args->count; i++)
        if (strcmp(op->args->fields[i].name, name) == 0)
            return true;
    return false;
}

/* True when the operation can run with these arguments: it accepts all, and none is missing. */
static bool fits_arguments(const struct operation *op, const json_t *arguments)
{
    const char *name;
    json_t *value;
    json_object_foreach (json_for_iteration(arguments), name, value)
        if (!accepts_argument(op, name) && !(op->waits && strcmp(name, wait_argument) == 0))
            return false;
    for (size_t i = 0; i < op->args->count; i++)
        if (op->args->fields[i].required && json_object_get(arguments, op->args->fields[i].name) == NULL)
            return false;
    return true;
}

/* The value of `choose_by` that the other arguments mean: the usual one if they fit it, else the first that they fit. */
static json_t *infer_choice(const struct tool *tool, const json_t *arguments, json_t *usual, struct arena *arena)
{
    const char *inferred = NULL;
    for (size_t i = 0; tool->candidates[i] != NULL; i++) {
        if (!fits_arguments(tool->candidates[i], arguments))
            continue;
        if (text_equal(tool->choose_values[i], json_string_value(usual)))
            return usual;
        if (inferred == NULL)
            inferred = tool->choose_values[i];
    }
    return inferred != NULL ? json_in_arena(arena, json_string(inferred)) : usual;
}

/* True for an argument of the operation, and for one that the tool takes for it. */
static bool accepts_through_tool(const struct tool *tool, const struct operation *op, const char *name)
{
    return accepts_argument(op, name) || (op->waits && strcmp(name, wait_argument) == 0) || tool_view_accepts(tool, op, name);
}

/* Names the choices with which an argument goes. */
static bool check_choice(const struct tool *tool, const json_t *arguments, size_t chosen, struct arena *arena, struct error *err)
{
    const char *name;
    json_t *value;
    json_object_foreach (json_for_iteration(arguments), name, value) {
        if (strcmp(name, tool->choose_by) == 0 || accepts_through_tool(tool, tool->candidates[chosen], name))
            continue;
        const char *others = "";
        for (size_t i = 0; tool->candidates[i] != NULL; i++)
            if (accepts_through_tool(tool, tool->candidates[i], name))
                others = arena_printf(arena, "%s%s%s", others, others[0] != '\0' ? " or " : "", tool->choose_values[i]);
        return fail(err, ERR_INVALID_REQUEST, name, "%s %s does not accept the argument %.64s.", tool->choose_by,
                    tool->choose_values[chosen], name) ||
               error_suggest(err, "Use %s %s for %.64s, or leave it out.", tool->choose_by, others, name);
    }
    return true;
}

static bool refuse_choice(const struct tool *tool, const json_t *wanted, const struct call *call, struct error *err)
{
    const char *values = "";
    for (size_t i = 0; tool->candidates[i] != NULL; i++)
        values = arena_printf(call->arena, "%s%s%s", values, i > 0 ? ", " : "", tool->choose_values[i]);
    const char *given = json_string_value(wanted);
    size_t count = 0;
    while (tool->choose_values[count] != NULL)
        count++;
    fail(err, ERR_INVALID_REQUEST, tool->choose_by, "%s must be one of: %s.", tool->choose_by, values);
    const char *nearest = given != NULL ? name_nearest(given, tool->choose_values, count) : NULL;
    return nearest != NULL && error_suggest(err, "Use %s %s.", tool->choose_by, nearest);
}

static void take_candidate(const struct operation *op, struct call *call)
{
    const struct operation **one = arena_array(call->arena, 2, sizeof(*one));
    one[0] = op;
    call->candidates = one;
}

/* Some keys that an operation does not take have a message of their own. */
static bool has_message(const struct operation *op, const char *name)
{
    for (const struct key_elsewhere *key = op->args->elsewhere; key != NULL && key->name != NULL; key++)
        if (strcmp(key->name, name) == 0)
            return true;
    return false;
}

/* True when a later choice, which needs fewer arguments, accepts this one. */
static bool goes_without(const struct tool *tool, size_t chosen, const char *name)
{
    for (size_t i = chosen + 1; tool->candidates[i] != NULL; i++)
        if (accepts_through_tool(tool, tool->candidates[i], name))
            return true;
    return false;
}

/* Names the argument without which another one is not accepted, or the one with which it is not. */
static bool check_presence(const struct tool *tool, const json_t *arguments, size_t chosen, struct error *err)
{
    const char *name;
    json_t *value;
    json_object_foreach (json_for_iteration(arguments), name, value) {
        const struct operation *op = tool->candidates[chosen];
        if (accepts_through_tool(tool, op, name) || has_message(op, name))
            continue;
        if (goes_without(tool, chosen, name))
            return fail(err, ERR_INVALID_REQUEST, name, "%.64s does not go with %s.", name, tool->present[chosen]) ||
                   error_suggest(err, "Leave out %.64s, or leave out %s.", name, tool->present[chosen]);
        for (size_t i = 0; i < chosen; i++)
            if (accepts_argument(tool->candidates[i], name))
                return fail(err, ERR_INVALID_REQUEST, name, "%.64s goes with %s only.", name, tool->present[i]) ||
                       error_suggest(err, "Add %s, or leave out %.64s.", tool->present[i], name);
    }
    return true;
}

/* The first operation whose argument is given; the last one needs none. */
static bool choose_by_presence(const struct tool *tool, const json_t *arguments, struct call *call, struct error *err)
{
    size_t chosen = 0;
    while (tool->present[chosen][0] != '\0' && json_object_get(arguments, tool->present[chosen]) == NULL)
        chosen++;
    take_candidate(tool->candidates[chosen], call);
    return check_presence(tool, arguments, chosen, err);
}

/* Chooses the operation that the argument `choose_by` names. The argument is removed unless the operation accepts it, too. */
static bool choose_by_argument(const struct tool *tool, json_t *arguments, struct call *call, struct error *err)
{
    const char *wanted = json_get_text(arguments, tool->choose_by);
    size_t chosen = 0;
    while (tool->candidates[chosen] != NULL && !(wanted != NULL && strcmp(tool->choose_values[chosen], wanted) == 0))
        chosen++;
    const struct operation *op = tool->candidates[chosen];
    if (op == NULL)
        return refuse_choice(tool, json_object_get(arguments, tool->choose_by), call, err);
    if (!check_choice(tool, arguments, chosen, call->arena, err))
        return false;
    take_candidate(op, call);
    if (!accepts_argument(op, tool->choose_by))
        json_object_del(arguments, tool->choose_by);
    return true;
}

/* Parses a constant of the tool that was generated at build time. */
static json_t *constant(struct arena *arena, const char *text)
{
    return text != NULL ? json_in_arena(arena, json_loads(text, 0, NULL)) : NULL;
}

/* A default is set only when one of the operations accepts it: a single read has no limit. */
static void set_defaults(const json_t *defaults, json_t *arguments, const struct call *call)
{
    const char *name;
    json_t *value;
    json_object_foreach (json_for_iteration(defaults), name, value) {
        bool known = false;
        for (size_t i = 0; call->candidates[i] != NULL; i++)
            known = known || accepts_argument(call->candidates[i], name);
        if (known && json_object_get(arguments, name) == NULL)
            json_object_set(arguments, name, value);
    }
}

static bool prepare_arguments(const struct tool *tool, json_t *arguments, struct call *call, struct error *err)
{
    if (!json_is_object(arguments))
        return fail(err, ERR_INVALID_REQUEST, NULL, "The arguments must be an object.");
    if (!take_names(tool, arguments, call->arena, err) || !take_idempotency_key(arguments, call, err) ||
        !take_confirmation(arguments, call, err))
        return false;
    json_t *defaults = constant(call->arena, tool->default_json);
    json_object_update(arguments, constant(call->arena, tool->fixed_json));
    if (tool->choose_by != NULL) {
        json_t *choice = json_object_get(defaults, tool->choose_by);
        if (choice != NULL && json_object_get(arguments, tool->choose_by) == NULL)
            json_object_set(arguments, tool->choose_by, infer_choice(tool, arguments, choice, call->arena));
        if (!choose_by_argument(tool, arguments, call, err))
            return false;
    } else if (tool->present != NULL) {
        if (!choose_by_presence(tool, arguments, call, err))
            return false;
    }
    set_defaults(defaults, arguments, call);
    call->input.body = arguments;
    return take_wait(arguments, call, err) && tool_view_take(tool, arguments, call, err);
}

void tool_prepare(const struct tool *tool, json_t *arguments, struct call *call)
{
    call->candidates = tool->candidates;
    call->input = (struct call_input){
        .flat = true,
        .reading = tool->destructive ? INPUT_EXACT : INPUT_HEALED,
        .shown = tool->arguments,
    };
    if (arguments == NULL)
        arguments = json_in_arena(call->arena, json_object());
    if (!prepare_arguments(tool, arguments, call, &call->input.refusal))
        call->input.body = NULL;
}
