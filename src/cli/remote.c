#include "cli/remote.h"

#include "base/buf.h"
#include "base/json_read.h"
#include "base/json_write.h"
#include "cli/http.h"

#include <string.h>

static const char protocol_version[] = "2026-07-28";

static bool post_message(const struct remote *remote, struct arena *arena, const char *method, const char *name, const char *body,
                         struct http_answer *ret_answer, struct error *err)
{
    struct http_request request = {
        .server = remote->url,
        .method = "POST",
        .url = http_url(arena, remote->url, "/mcp"),
        .headers = {
            "Content-Type: application/json",
            "Accept: application/json, text/event-stream",
            arena_printf(arena, "MCP-Protocol-Version: %s", protocol_version),
            arena_printf(arena, "Mcp-Method: %s", method),
            name != NULL ? arena_printf(arena, "Mcp-Name: %s", name) : NULL,
            remote->key != NULL ? arena_printf(arena, "Authorization: Bearer %s", remote->key) : NULL,
            remote->brand != NULL ? arena_printf(arena, "X-Brand-Id: %s", remote->brand) : NULL,
        },
        .body = body,
        .doubt = name != NULL ? " It is unknown whether the call took effect." : NULL,
    };
    return http_send(arena, &request, ret_answer, err);
}

/* The JSON text of the last data line of an event stream, or the body itself. */
static const char *message_text(struct arena *arena, const struct buf *answer)
{
    const char *text = buf_text(answer);
    const char *found = NULL;
    for (const char *at = text; at != NULL; at = strchr(at, '\n') != NULL ? strchr(at, '\n') + 1 : NULL)
        if (strncmp(at, "data: {", 7) == 0)
            found = at + 6;
    return found != NULL ? arena_dup_bytes(arena, found, strcspn(found, "\r\n")) : text;
}

static bool send_rpc(const struct remote *remote, struct arena *arena, const char *method, const char *name,
                     const json_t *arguments, const json_t **ret_result, struct error *err)
{
    BUF_SCOPE body;
    buf_init(&body, HTTP_ANSWER_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, &body);
    json_object_begin(&json);
    json_member_text(&json, "jsonrpc", "2.0");
    json_member_int(&json, "id", 1);
    json_member_text(&json, "method", method);
    json_key(&json, "params");
    json_object_begin(&json);
    json_member_raw(&json, "_meta",
                    "{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                    "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"posthorn\",\"version\":\"1\"},"
                    "\"io.modelcontextprotocol/clientCapabilities\":{}}");
    if (name != NULL)
        json_member_text(&json, "name", name);
    if (arguments != NULL)
        json_member_raw(&json, "arguments", json_compact(arena, arguments));
    json_object_end(&json);
    json_object_end(&json);

    struct http_answer answer;
    struct json_bounds bounds = { .max_bytes = HTTP_ANSWER_MAX_BYTES };
    const json_t *message;
    if (!post_message(remote, arena, method, name, buf_text(&body), &answer, err))
        return false;
    const char *text = message_text(arena, answer.body);
    if (!json_read(arena, text, strlen(text), bounds, &message, err))
        return fail(err, ERR_SERVICE_UNAVAILABLE, "url", "%s does not answer like a Posthorn server.", remote->url);
    *ret_result = json_object_get(message, "result");
    if (*ret_result != NULL)
        return true;
    const char *reason = json_get_text(json_object_get(message, "error"), "message");
    return fail(err, ERR_INVALID_REQUEST, NULL, "The server refused: %s", reason != NULL ? reason : "no reason given");
}

bool remote_call_tool(const struct remote *remote, struct arena *arena, const char *tool, const json_t *arguments, bool *ret_ok,
                      const char **ret_answer, struct error *err)
{
    const json_t *result;
    if (!send_rpc(remote, arena, "tools/call", tool, arguments, &result, err))
        return false;
    const json_t *content = json_array_get(json_object_get(result, "content"), 0);
    const char *text = json_get_text(content, "text");
    *ret_ok = !json_get_bool(result, "isError", false);
    *ret_answer = text != NULL ? text : json_compact(arena, result);
    return true;
}

bool remote_list_tools(const struct remote *remote, struct arena *arena, const json_t **ret_tools, struct error *err)
{
    const json_t *result;
    if (!send_rpc(remote, arena, "tools/list", NULL, NULL, &result, err))
        return false;
    *ret_tools = json_object_get(result, "tools");
    return *ret_tools != NULL || fail(err, ERR_SERVICE_UNAVAILABLE, "url", "The server lists no tools.");
}
