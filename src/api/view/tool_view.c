#include "api/view/tool_view.h"

#include "api/view/result_view.h"
#include "base/json_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW_FRAME_CHARS = 160, GROUPED_MIN_BYTES = 256 };

static const char detail_argument[] = "detail";
static const char limit_argument[] = "limit";
static const char include_argument[] = "include";

/* ---- Arguments ---- */

static bool take_detail(const struct tool *tool, json_t *arguments, struct call *call, struct error *err)
{
    const json_t *detail = json_object_get(arguments, detail_argument);
    call->view.is_short = tool->takes_detail;
    if (!tool->takes_detail || detail == NULL)
        return true;
    const char *wanted = json_string_value(detail);
    if (wanted == NULL || strcmp(wanted, "full") != 0)
        return fail(err, ERR_INVALID_REQUEST, detail_argument, "detail must be full, or left out for a short answer.");
    call->view.is_short = false;
    json_object_del(arguments, detail_argument);
    return true;
}

/* Reads a whole number, which may also be text, as in all arguments of tools. */
static bool read_number(const json_t *value, int64_t *ret_number)
{
    const char *text = json_string_value(value);
    if (text == NULL) {
        *ret_number = json_integer_value(value);
        return json_is_integer(value);
    }
    char *end;
    errno = 0;
    *ret_number = strtoll(text, &end, 10);
    return end != text && *end == '\0' && errno == 0;
}

static bool take_number(json_t *arguments, const char *name, int64_t minimum, int64_t maximum, struct opt_int *ret_number,
                        struct error *err)
{
    const json_t *value = json_object_get(arguments, name);
    if (value == NULL)
        return true;
    int64_t number;
    if (!read_number(value, &number) || number < minimum || number > maximum)
        return fail(err, ERR_INVALID_REQUEST, name, "%s must be a whole number from %lld to %lld.", name, (long long)minimum,
                    (long long)maximum);
    *ret_number = (struct opt_int){ .set = true, .value = number };
    json_object_del(arguments, name);
    return true;
}

/* Adds a part to include, which is absent, text with commas, or a list. Anything else is refused when the argument is decoded. */
static void include_part(const struct call *call, json_t *arguments, const char *part)
{
    json_t *include = json_object_get(arguments, include_argument);
    const char *text = json_string_value(include);
    if (json_is_array(include)) {
        json_array_append_new(include, json_string(part));
    } else if (include == NULL || text != NULL) {
        bool is_empty = text == NULL || text[0] == '\0';
        json_object_set_new(arguments, include_argument,
                            json_string(is_empty ? part : arena_printf(call->arena, "%s,%s", text, part)));
    }
}

static bool take_window(const struct tool *tool, json_t *arguments, struct call *call, struct error *err)
{
    if (tool->long_member == NULL)
        return true;
    const char *from = arena_printf(call->arena, "%sFrom", tool->long_member);
    const char *chars = arena_printf(call->arena, "%sChars", tool->long_member);
    if (!take_number(arguments, from, 0, INT32_MAX, &call->view.from, err) ||
        !take_number(arguments, chars, 1, INT32_MAX, &call->view.chars, err))
        return false;
    if (!call->view.from.set && !call->view.chars.set)
        return true;
    call->view.from.set = true;
    include_part(call, arguments, tool->long_member);
    return true;
}

static bool accepts_limit(const struct operation *op)
{
    for (size_t i = 0; i < op->args->count; i++) {
        if (strcmp(op->args->fields[i].name, limit_argument) == 0)
            return true;
    }
    return false;
}

/* True for an operation with a list to cut, which takes no limit itself. */
static bool cuts_lists(const struct tool *tool, const struct operation *op)
{
    return tool->read_only && op->view != NULL && op->view->cut != NULL && !accepts_limit(op);
}

static bool take_limit(const struct tool *tool, json_t *arguments, struct call *call, struct error *err)
{
    if (!cuts_lists(tool, call->candidates[0]))
        return true;
    call->view.limit = (struct opt_int){ .set = true, .value = VIEW_DEFAULT_LIMIT };
    return take_number(arguments, limit_argument, 1, VIEW_MAX_LIMIT, &call->view.limit, err);
}

static bool is_window_argument(const struct tool *tool, const char *name)
{
    size_t size = tool->long_member != NULL ? strlen(tool->long_member) : 0;
    return size > 0 && strncmp(name, tool->long_member, size) == 0 &&
           (strcmp(name + size, "From") == 0 || strcmp(name + size, "Chars") == 0);
}

bool tool_view_accepts(const struct tool *tool, const struct operation *op, const char *name)
{
    return (tool->takes_detail && strcmp(name, detail_argument) == 0) || is_window_argument(tool, name) ||
           (cuts_lists(tool, op) && strcmp(name, limit_argument) == 0);
}

bool tool_view_take(const struct tool *tool, json_t *arguments, struct call *call, struct error *err)
{
    return take_detail(tool, arguments, call, err) && take_window(tool, arguments, call, err) &&
           take_limit(tool, arguments, call, err);
}

/* ---- The body ---- */

size_t tool_view_chars(const char *text, size_t size)
{
    size_t count = 0;
    for (size_t i = 0; i < size; i++)
        count += ((unsigned char)text[i] & 0xC0) != 0x80;
    return count;
}

size_t tool_view_long_chars(const struct tool *tool, const struct buf *body)
{
    size_t at;
    size_t end;
    if (tool->long_member == NULL || !view_find_text(body, tool->long_member, &at, &end))
        return 0;
    return tool_view_chars(buf_text(body) + at, end - at);
}

/* A window may fill the budget that the rest of the body leaves. */
static void plan_window(const struct tool *tool, const struct call *call, size_t budget_chars, struct view_pass *pass)
{
    const struct call_view *view = &call->view;
    const struct buf *body = call->reply.body;
    size_t at;
    size_t end;
    if (!view->from.set || !view_find_text(body, tool->long_member, &at, &end))
        return;
    size_t others = body->size - (end - at) + WINDOW_FRAME_CHARS;
    pass->window_of = tool->long_member;
    pass->window_from = (size_t)view->from.value;
    pass->window_chars = view->chars.set ? (size_t)view->chars.value : SIZE_MAX;
    pass->window_points = budget_chars > others ? budget_chars - others : 1;
}

static bool check_window(const struct call *call, const struct view_pass *pass, struct error *err)
{
    if (pass->window_of == NULL || pass->window_from < pass->window_total || pass->window_from == 0)
        return true;
    const char *name = arena_printf(call->arena, "%sFrom", pass->window_of);
    return fail(err, ERR_INVALID_REQUEST, name, "%s must be less than %zu, the characters of the whole text.", name,
                pass->window_total);
}

bool tool_view_body(const struct tool *tool, const struct call *call, size_t budget_chars, const struct buf **ret_body,
                    struct error *err)
{
    const struct call_view *view = &call->view;
    const struct result_view *shape = call->op != NULL ? call->op->view : NULL;
    const struct buf *body = call->reply.body;
    *ret_body = body;
    if (body == NULL || body->size == 0 || body->data[0] != '{')
        return true;
    if (view->is_short && shape != NULL && shape->groups != NULL && body->size >= GROUPED_MIN_BYTES) {
        *ret_body = view_group(call->arena, shape->groups, body);
        return true;
    }
    bool is_always_short = shape != NULL && shape->is_always_short && !tool->takes_detail;
    struct view_pass pass = { .is_short = (view->is_short && tool->read_only) || is_always_short, .limit = SIZE_MAX };
    pass.technical = shape != NULL ? shape->technical : NULL;
    pass.kept = shape != NULL ? shape->kept : NULL;
    pass.cut = shape != NULL && view->limit.set ? shape->cut : NULL;
    pass.limit = (size_t)view->limit.value;
    plan_window(tool, call, budget_chars, &pass);
    if (!pass.is_short && pass.cut == NULL && pass.window_of == NULL)
        return true;
    pass.out = buf_in_arena(call->arena, 2 * body->size + WINDOW_FRAME_CHARS);
    view_pass_run(&pass, body);
    *ret_body = pass.out;
    return check_window(call, &pass, err);
}
