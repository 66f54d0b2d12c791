/*
 * Tool results: the body of the reply twice, as text for every model and as
 * structured content for programs, within the response budget of the client. A
 * result that does not fit is refused as a whole, so that no row is lost
 * unnoticed.
 */
#include "mcp/provider/provider_private.h"

#include <string.h>

enum { RESULT_FRAME_BYTES = 512 };

static void answer_error(struct mcp_request *request, const struct error *err, const char *suggestion)
{
    struct buf *envelope = buf_in_arena(request->arena, 256 * 1024);
    struct json_writer json;
    json_writer_init(&json, envelope);
    api_write_error_for(&json, err, suggestion);

    mcp_result_begin(request, &json);
    json_key(&json, "content");
    json_array_begin(&json);
    json_object_begin(&json);
    json_member_text(&json, "type", "text");
    json_member_text(&json, "text", buf_text(envelope));
    json_object_end(&json);
    json_array_end(&json);
    json_member_bool(&json, "isError", true);
    mcp_result_end(request, &json);
}

void provider_answer_error(struct mcp_request *request, const struct error *err)
{
    answer_error(request, err, error_info(err->code)->plain_suggestion);
}

void provider_answer_refusal(const struct provider_call *provider_call)
{
    const struct error *err = &provider_call->call.error;
    const struct error_info *info = error_info(err->code);
    bool sees_all = true;
    for (const char *const *tool = info->suggested_tools; *tool != NULL; tool++)
        sees_all = sees_all && provider_sees_tool(provider_call, *tool);
    answer_error(provider_call->request, err, sees_all ? info->tool_suggestion : info->plain_suggestion);
}

/* ---- The budget ---- */

static size_t count_points(const char *text, size_t size)
{
    size_t count = 0;
    for (size_t i = 0; i < size; i++)
        count += ((unsigned char)text[i] & 0xC0) != 0x80;
    return count;
}

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

static bool takes_limit(const struct tool *tool)
{
    for (const char *const *argument = tool->arguments; *argument != NULL; argument++) {
        if (strcmp(*argument, "limit") == 0)
            return true;
    }
    return false;
}

/* The characters of a result, which contains the body twice. */
static size_t result_chars(const struct buf *body)
{
    return 2 * count_points(buf_text(body), body->size);
}

/* A text has at most as many characters as bytes, so most bodies need not be counted. */
static bool exceeds_budget(const struct provider_call *provider_call, const struct buf *body)
{
    size_t budget = provider_call->catalogue->response_budget_chars;
    return 2 * body->size > budget && result_chars(body) > budget;
}

/* Refuses a result that is too large. Only for reads: a write is already committed. */
static void refuse_size(struct provider_call *provider_call, const struct buf *body)
{
    const struct catalogue_provider *catalogue = provider_call->catalogue;
    size_t chars = result_chars(body);
    struct arena *arena = provider_call->request->arena;
    size_t budget = catalogue->response_budget_chars;
    size_t rows = takes_limit(provider_call->tool) ? count_rows(body->data, body->size) : 0;
    /* A tenth stays unused, because rows differ in size. One row is always tried. */
    size_t fitting = rows > 1 ? rows * budget / chars * 9 / 10 : 0;
    size_t limit = rows > 1 && fitting == 0 ? 1 : fitting;

    struct error err = { 0 };
    if (limit >= 1) {
        fail(&err, ERR_RESPONSE_TOO_LARGE, "limit",
             "The result has %zu characters; the client accepts %zu. No row was skipped: repeat the call with limit %zu.", chars,
             budget, limit);
        error_with_details(&err, arena_printf(arena, "{\"characters\":%zu,\"budget\":%zu,\"limit\":%zu}", chars, budget, limit));
    } else {
        fail(&err, ERR_RESPONSE_TOO_LARGE, NULL,
             "The result has %zu characters; the client accepts %zu. Request less of it, or read it as a resource.", chars, budget);
        error_with_details(&err, arena_printf(arena, "{\"characters\":%zu,\"budget\":%zu}", chars, budget));
    }
    provider_answer_error(provider_call->request, &err);
}

/* ---- Projections ---- */

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

/* An email's HTML is a link unless it was requested, because models pay for every character. */
static void write_email_link(struct json_writer *json, const struct call *call)
{
    const char *email_id = json_string_value(json_object_get(call->input.body, "emailId"));
    if (email_id == NULL || has_include(call->input.body, "html"))
        return;
    json_object_begin(json);
    json_member_text(json, "type", "resource_link");
    json_member_text(json, "uri", arena_printf(call->arena, "posthorn://emails/%s/html", email_id));
    json_member_text(json, "name", "html");
    json_member_text(json, "title", "The email's HTML");
    json_member_text(json, "mimeType", "text/html");
    json_object_end(json);
}

void provider_answer_body(struct provider_call *provider_call)
{
    const struct call *call = &provider_call->call;
    const struct tool *tool = provider_call->tool;
    static const struct buf nothing = { .max_bytes = 1 };
    const struct buf *body = call->reply.body != NULL ? call->reply.body : &nothing;
    if (tool->read_only && exceeds_budget(provider_call, body)) {
        refuse_size(provider_call, body);
        return;
    }
    /* Reserves memory for both copies of the body, one with escapes, in one allocation. */
    buf_room(&provider_call->request->out, 2 * body->size + body->size / 4 + RESULT_FRAME_BYTES);
    struct json_writer json;
    mcp_result_begin(provider_call->request, &json);
    json_key(&json, "content");
    json_array_begin(&json);
    json_object_begin(&json);
    json_member_text(&json, "type", "text");
    json_key(&json, "text");
    json_bytes(&json, buf_text(body), body->size);
    json_object_end(&json);
    if (tool->adapter != NULL && strcmp(tool->adapter, "email") == 0)
        write_email_link(&json, call);
    json_array_end(&json);
    if (body->size > 0 && body->data[0] == '{') {
        json_key(&json, "structuredContent");
        json_raw_bytes(&json, body->data, body->size);
    }
    mcp_result_end(provider_call->request, &json);
}
