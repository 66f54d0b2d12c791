/*
 * Reads a request of the MCP endpoint: its headers, its session, and the
 * message or batch in its body. A request that cannot be read is refused with an
 * HTTP status and a JSON-RPC error.
 */
#include "mcp/http_handler_private.h"

#include "base/json_read.h"
#include "mcp/session.h"

#include <stdatomic.h>
#include <string.h>

static void refuse_http(struct mcp_http_handler *handler, int http_status, const json_t *id, int code, const char *message)
{
    buf_clear(&handler->out);
    rpc_error(&handler->out, id, code, message, NULL);
    handler->answer.http_status = http_status;
}

static const char *get_header(const struct mcp_headers *headers, const char *name)
{
    return headers->get(headers->headers, name);
}

/* Finds the session of a legacy request. False when it is refused. */
static bool find_session(struct mcp_http_handler *handler, const struct mcp_headers *headers, const json_t *id)
{
    const char *session_id = get_header(headers, "Mcp-Session-Id");
    if (session_id == NULL) {
        refuse_http(handler, 400, id, RPC_INVALID_REQUEST, "The header Mcp-Session-Id is missing: send initialize first.");
        return false;
    }
    handler->session = mcp_session_find(handler->server, session_id, &handler->credentials);
    if (handler->session == NULL) {
        refuse_http(handler, 404, id, RPC_SESSION_NOT_FOUND, "The session does not exist any more: send initialize again.");
        return false;
    }
    const char *version = get_header(headers, "MCP-Protocol-Version");
    if (version != NULL && mcp_legacy_version(version) == NULL) {
        refuse_http(handler, 400, id, RPC_INVALID_REQUEST,
                    "The header MCP-Protocol-Version names a version that is not supported.");
        return false;
    }
    return true;
}

static void prepare_http_request(struct mcp_http_handler *handler, struct mcp_request *request, const struct mcp_headers *headers)
{
    request->takes_answer_only = !handler->accepts_stream;
    http_fill_request(handler, request);
    request->writer = &http_response_writer;
    request->writer_data = handler;
    mcp_prepare(request, headers);
    handler->request = request;
}

static void read_message(struct mcp_http_handler *handler, const json_t *json, size_t size, const struct mcp_headers *headers)
{
    struct rpc_message message;
    const char *fault = NULL;
    if (!rpc_read(json, &message, &fault)) {
        refuse_http(handler, 400, message.id, RPC_INVALID_REQUEST, fault);
        return;
    }
    enum mcp_era era = mcp_era_of(&message, headers);
    bool is_initialize = message.kind == RPC_REQUEST && strcmp(message.method, "initialize") == 0;
    if (era == MCP_LEGACY && !is_initialize && !find_session(handler, headers, message.id))
        return;
    struct mcp_request *request = mcp_request_new(handler->server, handler->arena, &message, era);
    request->message_bytes = size;
    prepare_http_request(handler, request, headers);
}

static void read_batch(struct mcp_http_handler *handler, const json_t *messages, const struct mcp_headers *headers)
{
    size_t count = json_array_size(messages);
    if (!find_session(handler, headers, NULL))
        return;
    const char *version = handler->session->peer.version;
    if (version == NULL || strcmp(version, MCP_BATCH_VERSION) != 0 || count == 0 || count > MCP_BATCH_MAX_MESSAGES) {
        refuse_http(handler, 400, NULL, RPC_INVALID_REQUEST,
                    "A batch needs version " MCP_BATCH_VERSION " and must have 1 to 64 messages.");
        return;
    }
    handler->batch = mcp_batch_new(handler->server, handler->arena, messages, &http_batch_callbacks, handler);
}

/* Refuses a body that cannot be read. */
static void refuse_body(struct mcp_http_handler *handler, const struct error *err)
{
    if (err->code == ERR_SERVICE_UNAVAILABLE) {
        mcp_write_error(&handler->out, err);
        handler->answer.http_status = 503;
        handler->answer.retry_after_s = err->retry_after_s;
        return;
    }
    refuse_http(handler, err->code == ERR_PAYLOAD_TOO_LARGE ? 413 : 400, NULL, RPC_PARSE_ERROR, err->message);
}

static void read_post(struct mcp_http_handler *handler, const struct mcp_http_request *http, const struct mcp_headers *headers)
{
    if (!handler->accepts_json && !handler->accepts_stream) {
        refuse_http(handler, 406, NULL, RPC_INVALID_REQUEST, "Accept must name application/json or text/event-stream.");
        return;
    }
    const struct json_bounds bounds = {
        .max_bytes = handler->server->config.message_max_bytes,
        .max_tree_bytes = JSON_CALLER_TREE_MAX_BYTES,
        .claim = http->claim_tree,
        .claim_context = http->claim_context,
    };
    struct error err = { 0 };
    const json_t *json = NULL;
    if (!json_read(handler->message_arena, http->body, http->body_size, bounds, &json, &err))
        refuse_body(handler, &err);
    else if (json_is_array(json))
        read_batch(handler, json, headers);
    else
        read_message(handler, json, http->body_size, headers);
}

/* GET and DELETE belong to the legacy era and its sessions. */
static void read_bodiless(struct mcp_http_handler *handler, enum mcp_method method, const struct mcp_headers *headers)
{
    const char *version = get_header(headers, "MCP-Protocol-Version");
    if (version != NULL && mcp_version_is_modern(version)) {
        refuse_http(handler, 405, NULL, RPC_INVALID_REQUEST, "This protocol version uses POST only.");
        return;
    }
    if (method == MCP_STREAM && !handler->accepts_stream) {
        refuse_http(handler, 406, NULL, RPC_INVALID_REQUEST, "Accept must name text/event-stream.");
        return;
    }
    if (!find_session(handler, headers, NULL))
        return;
    static const struct rpc_message no_message = { .kind = RPC_REQUEST };
    struct mcp_request *request = mcp_request_new(handler->server, handler->arena, &no_message, MCP_LEGACY);
    request->method = method;
    handler->last_event_id = arena_dup(handler->arena, get_header(headers, "Last-Event-ID"));
    prepare_http_request(handler, request, headers);
}

void http_read_request(struct mcp_http_handler *handler, const struct mcp_http_request *http)
{
    struct mcp_headers headers = { .get = http->header, .headers = http->headers };
    if (atomic_load(&handler->server->stopping))
        refuse_http(handler, 503, NULL, RPC_SERVER_ERROR, "The server is shutting down.");
    else if (http->method == MCP_HTTP_POST)
        read_post(handler, http, &headers);
    else
        read_bodiless(handler, http->method == MCP_HTTP_GET ? MCP_STREAM : MCP_SESSION_DELETE, &headers);
}
