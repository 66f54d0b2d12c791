/*
 * Tool results: the part of the reply that the tool shows, as text for every
 * model and as structured content for programs, within the response budget of the
 * client. Both are the same bytes and a host shows one of them, so the budget
 * counts the body once (D-149). A result that does not fit is refused as a whole,
 * so that no row is lost unnoticed; the refusal names what the tool has against it.
 *
 * A picture is a content of its own with a budget of its own: it is not part of
 * the text. Its resource has the whole picture.
 */
#include "api/view/tool_view.h"
#include "base/json_read.h"
#include "catalogue/mcp_texts.h"
#include "mcp/provider/provider_private.h"

#include <string.h>

enum { RESULT_FRAME_BYTES = 512, REFUSAL_MAX_BYTES = 2048, NOTE_MAX_BYTES = 2048 };

/* ---- The budget ---- */

/* The end of a JSON string that begins at `at`. */
static size_t skip_string(const char *text, size_t size, size_t at)
{
    for (at++; at < size && text[at] != '"'; at++) {
        if (text[at] == '\\')
            at++;
    }
    return at;
}

/* The number of items of the first array member of the body: the rows of a page. The body is valid JSON. */
static size_t count_rows(const char *text, size_t size)
{
    unsigned depth = 0;
    size_t rows = 0;
    for (size_t at = 0; at < size; at++) {
        char byte = text[at];
        if (byte == '"') {
            at = skip_string(text, size, at);
        } else if (byte == '{' || byte == '[') {
            depth++;
            if (depth == 3)
                rows++;
        } else if (byte == '}' || byte == ']') {
            depth--;
            if (depth == 1 && byte == ']')
                return rows;
            if (depth == 1)
                rows = 0;
        }
    }
    return 0;
}

static bool takes_argument(const struct tool *tool, const char *name)
{
    for (const char *const *argument = tool->arguments; *argument != NULL; argument++) {
        if (strcmp(*argument, name) == 0)
            return true;
    }
    return false;
}

/* A text has at most as many characters as bytes, so most bodies need not be counted. */
static bool exceeds_budget(const struct provider_call *provider_call, const struct buf *body)
{
    size_t budget = provider_call->catalogue->response_budget_chars;
    return body->size > budget && tool_view_chars(buf_text(body), body->size) > budget;
}

/* ---- Resources ---- */

/* The address of the long member's resource; NULL when the tool has none, or an argument of it is missing. */
static const char *long_uri(const struct provider_call *provider_call)
{
    const char *template = provider_call->tool->long_uri;
    return template != NULL ? provider_fill_uri(provider_call->request->arena, template, provider_call->call.input.body) : NULL;
}

/* The address of a resource with the whole answer of the operation; NULL when there is none. */
static const char *result_uri(const struct provider_call *provider_call)
{
    const struct call *call = &provider_call->call;
    for (size_t i = 0; i < mcp_resource_count; i++) {
        if (mcp_resources[i].operation == call->op && mcp_resources[i].pick == NULL)
            return mcp_resources[i].uri;
    }
    for (size_t i = 0; i < mcp_resource_template_count; i++) {
        if (mcp_resource_templates[i].operation == call->op && mcp_resource_templates[i].pick == NULL)
            return provider_fill_uri(call->arena, mcp_resource_templates[i].uri, call->input.body);
    }
    return NULL;
}

static bool has_include(const json_t *arguments, const char *wanted)
{
    const json_t *include = json_object_get(arguments, "include");
    if (json_is_string(include))
        return strstr(json_string_value(include), wanted) != NULL;
    for (size_t i = 0; i < json_array_size(include); i++) {
        const char *item = json_string_value(json_array_get(include, i));
        if (item != NULL && strcmp(item, wanted) == 0)
            return true;
    }
    return false;
}

/* ---- Refusals ---- */

/* What helps against a result that is too large. */
struct remedy {
    size_t chars; /* of the result */
    size_t budget;
    size_t limit;     /* a limit that fits; 0: none helps */
    const char *part; /* the long member, when it is what is too large; NULL otherwise */
    const char *drop; /* an argument of the call to leave out; NULL: none helps */
    const char *uri;  /* the resource; NULL: none */
};

/* A tenth stays unused, because rows differ in size. One row is always tried. */
static size_t fitting_limit(const struct remedy *remedy, size_t rows)
{
    size_t fitting = rows > 1 ? rows * remedy->budget / remedy->chars * 9 / 10 : 0;
    return rows > 1 && fitting == 0 ? 1 : fitting;
}

/* An argument that made the answer larger: include, else detail. */
static const char *enlarging_argument(const struct provider_call *provider_call)
{
    const struct call *call = &provider_call->call;
    if (json_object_get(call->input.body, "include") != NULL && !call->view.from.set)
        return "include";
    return provider_call->tool->takes_detail && !call->view.is_short ? "detail" : NULL;
}

static struct remedy find_remedy(const struct provider_call *provider_call, const struct buf *body)
{
    const struct tool *tool = provider_call->tool;
    struct remedy remedy = {
        .chars = tool_view_chars(buf_text(body), body->size),
        .budget = provider_call->catalogue->response_budget_chars,
    };
    size_t part_chars = provider_call->call.view.from.set ? 0 : tool_view_long_chars(tool, body);
    if (2 * part_chars > remedy.chars) {
        remedy.part = tool->long_member;
        remedy.uri = long_uri(provider_call);
        return remedy;
    }
    if (takes_argument(tool, "limit"))
        remedy.limit = fitting_limit(&remedy, count_rows(body->data, body->size));
    if (remedy.limit == 0) {
        remedy.drop = enlarging_argument(provider_call);
        remedy.uri = result_uri(provider_call);
    }
    return remedy;
}

static size_t window_chars(const struct remedy *remedy)
{
    return remedy->budget * 3 / 4 > 0 ? remedy->budget * 3 / 4 : 1;
}

/* The sentences behind the sizes. They name only arguments that the tool has. */
static const char *remedy_words(struct arena *arena, const struct remedy *remedy)
{
    if (remedy->limit >= 1)
        return arena_printf(arena, "No row was skipped: repeat the call with limit %zu.", remedy->limit);
    const char *resource = remedy->uri != NULL ? arena_printf(arena, " The resource %s has all of it.", remedy->uri) : "";
    if (remedy->part != NULL)
        return arena_printf(arena, "Read %s in parts: repeat the call with %sFrom 0 and %sChars %zu, then go on at next%c%sFrom.%s",
                            remedy->part, remedy->part, remedy->part, window_chars(remedy), remedy->part[0] - 'a' + 'A',
                            remedy->part + 1, resource);
    if (remedy->drop != NULL)
        return arena_printf(arena, "Repeat the call without %s.%s", remedy->drop, resource);
    return remedy->uri != NULL ? resource + 1 : "Ask for less of it.";
}

static const char *remedy_details(struct arena *arena, const struct remedy *remedy)
{
    struct buf *details = buf_in_arena(arena, REFUSAL_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, details);
    json_object_begin(&json);
    json_member_int(&json, "characters", (int64_t)remedy->chars);
    json_member_int(&json, "budget", (int64_t)remedy->budget);
    if (remedy->limit >= 1)
        json_member_int(&json, "limit", (int64_t)remedy->limit);
    if (remedy->part != NULL) {
        json_member_int(&json, arena_printf(arena, "%sFrom", remedy->part), 0);
        json_member_int(&json, arena_printf(arena, "%sChars", remedy->part), (int64_t)window_chars(remedy));
    }
    json_member_text_if(&json, "resource", remedy->uri);
    json_object_end(&json);
    return buf_text(details);
}

/* Refuses a result that is too large. Only for reads: a write is already committed. */
static void refuse_size(struct provider_call *provider_call, const struct buf *body)
{
    struct arena *arena = provider_call->request->arena;
    struct remedy remedy = find_remedy(provider_call, body);
    const char *param = remedy.limit >= 1 ? "limit" : remedy.drop;
    if (remedy.part != NULL)
        param = arena_printf(arena, "%sFrom", remedy.part);
    struct error err = { 0 };
    fail(&err, ERR_RESPONSE_TOO_LARGE, param, "The result has %zu characters; the client accepts %zu. %s", remedy.chars,
         remedy.budget, remedy_words(arena, &remedy));
    error_with_details(&err, remedy_details(arena, &remedy));
    provider_answer_error(provider_call, &err);
}

/* ---- Pictures ---- */

/* The picture of a result. */
struct shown_picture {
    const char *data; /* in base64; NULL: the result has none */
    const char *uri;  /* its resource; NULL: the result may not have one */
};

/* Takes the picture out of the reply. */
static bool take_picture(struct provider_call *provider_call, struct shown_picture *ret_picture, struct error *err)
{
    struct arena *arena = provider_call->request->arena;
    const struct tool *tool = provider_call->tool;
    struct reply *reply = &provider_call->call.reply;
    const json_t *body;
    *ret_picture = (struct shown_picture){ .data = NULL };
    if (tool->picture_member == NULL || reply->body == NULL || reply->body->size == 0)
        return true;
    const struct json_bounds bounds = { .max_bytes = reply->body->size };
    if (!json_read(arena, buf_text(reply->body), reply->body->size, bounds, &body, err))
        return false;
    const json_t *picture = json_object_get(body, tool->picture_member);
    if (picture == NULL)
        return true;
    ret_picture->data = json_string_value(picture);
    ret_picture->uri = provider_fill_uri(arena, tool->picture_uri, provider_call->call.input.body);
    json_t *rest = json_in_arena(arena, json_copy((json_t *)(uintptr_t)body));
    json_object_del(rest, tool->picture_member);
    const char *text = json_compact(arena, rest);
    struct buf *without = buf_in_arena(arena, strlen(text) + 1);
    buf_add_text(without, text);
    reply->body = without;
    return true;
}

static bool exceeds_picture_budget(const struct provider_call *provider_call, const struct shown_picture *picture)
{
    return picture->data != NULL && strlen(picture->data) > provider_call->catalogue->picture_budget_chars;
}

static void refuse_picture(struct provider_call *provider_call, const struct shown_picture *picture)
{
    struct error err = { 0 };
    const char *resource =
        picture->uri != NULL ? arena_printf(provider_call->request->arena, " The resource %s has the picture.", picture->uri) : "";
    fail(&err, ERR_RESPONSE_TOO_LARGE, provider_call->tool->picture_member,
         "The picture has %zu characters; the client accepts %zu.%s", strlen(picture->data),
         provider_call->catalogue->picture_budget_chars, resource);
    provider_answer_error(provider_call, &err);
}

static void write_picture(struct json_writer *json, const struct tool *tool, const struct shown_picture *picture)
{
    if (picture->data != NULL) {
        json_object_begin(json);
        json_member_text(json, "type", "image");
        json_member_text(json, "data", picture->data);
        json_member_text(json, "mimeType", tool->picture_type);
        json_object_end(json);
    }
    if (picture->uri != NULL) {
        json_object_begin(json);
        json_member_text(json, "type", "resource_link");
        json_member_text(json, "uri", picture->uri);
        json_member_text(json, "name", tool->picture_member);
        json_member_text(json, "mimeType", "image/png");
        json_object_end(json);
    }
}

/* ---- Results ---- */

/* A long member is a link unless it was requested, because models pay for every character. */
static void write_long_link(struct json_writer *json, const struct provider_call *provider_call)
{
    const struct tool *tool = provider_call->tool;
    const char *uri = long_uri(provider_call);
    if (uri == NULL || has_include(provider_call->call.input.body, tool->long_member))
        return;
    json_object_begin(json);
    json_member_text(json, "type", "resource_link");
    json_member_text(json, "uri", uri);
    json_member_text(json, "name", tool->long_member);
    json_member_text(json, "mimeType", "text/html");
    json_object_end(json);
}

static void write_body(struct provider_call *provider_call, const struct buf *body, const struct shown_picture *picture)
{
    /* Reserves memory for both copies of the body, one with escapes, in one allocation. */
    size_t picture_size = picture->data != NULL ? strlen(picture->data) : 0;
    buf_room(&provider_call->request->out, 2 * body->size + body->size / 4 + picture_size + RESULT_FRAME_BYTES);
    struct json_writer json;
    mcp_result_begin(provider_call->request, &json);
    json_key(&json, "content");
    json_array_begin(&json);
    json_object_begin(&json);
    json_member_text(&json, "type", "text");
    json_key(&json, "text");
    json_bytes(&json, buf_text(body), body->size);
    json_object_end(&json);
    write_long_link(&json, provider_call);
    write_picture(&json, provider_call->tool, picture);
    json_array_end(&json);
    if (body->size > 0 && body->data[0] == '{') {
        json_key(&json, "structuredContent");
        json_raw_bytes(&json, body->data, body->size);
    }
    mcp_result_end(provider_call->request, &json);
}

/* The body, an object, with the note of the reply. */
static const struct buf *body_with_note(const struct provider_call *provider_call, const struct buf *body)
{
    struct arena *arena = provider_call->request->arena;
    const struct reply *reply = &provider_call->call.reply;
    struct error advice = { .code = reply->note_advice };
    const char *suggestion = provider_suggestion(provider_call, &advice);
    struct buf *noted = buf_in_arena(arena, body->size + NOTE_MAX_BYTES);
    buf_printf(noted, "%.*s,\"note\":", (int)body->size - 1, buf_text(body));
    struct json_writer json;
    json_writer_init(&json, noted);
    json_text(&json, arena_printf(arena, "%s %s", reply->note, suggestion));
    buf_printf(noted, "}");
    return noted;
}

void provider_answer_body(struct provider_call *provider_call)
{
    static const struct buf nothing = { .max_bytes = 1 };
    const struct tool *tool = provider_call->tool;
    const struct buf *body;
    struct shown_picture picture;
    struct error err = { .code = ERR_NONE };
    if (!take_picture(provider_call, &picture, &err) ||
        !tool_view_body(tool, &provider_call->call, provider_call->catalogue->response_budget_chars, &body, &err)) {
        provider_answer_error(provider_call, &err);
        return;
    }
    if (body == NULL)
        body = &nothing;
    if (provider_call->call.reply.note != NULL && body->size > 0)
        body = body_with_note(provider_call, body);
    if (tool->read_only && exceeds_budget(provider_call, body))
        refuse_size(provider_call, body);
    else if (exceeds_picture_budget(provider_call, &picture))
        refuse_picture(provider_call, &picture);
    else
        write_body(provider_call, body, &picture);
}
