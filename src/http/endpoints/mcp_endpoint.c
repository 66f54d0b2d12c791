/*
 * /mcp: the Streamable HTTP transport of the Model Context Protocol. src/mcp
 * handles the messages. This file applies the rules of HTTP: allowed callers
 * (Host, Origin), method and media type, and it sends the response or the event
 * stream.
 */
#include "http/credentials.h"
#include "http/guard.h"
#include "http/server_state.h"
#include "mcp/server.h"

#include <inttypes.h>
#include <microhttpd.h>
#include <string.h>

enum { RPC_INVALID_REQUEST = -32600 }; /* JSON-RPC 2.0 §5.1 */

static const char json_media[] = "application/json";
static const char allowed_methods[] = "GET, POST, DELETE, OPTIONS";

/* ---- The sink: any thread ---- */

static void add_session(struct http_exchange *exchange, const char *session_id)
{
    if (session_id != NULL)
        http_exchange_add_header(exchange, "mcp-session-id", session_id);
}

static void sink_stream_open(void *transport, const char *session_id)
{
    struct http_exchange *exchange = transport;
    pthread_mutex_lock(&exchange->lock);
    bool open = exchange->state == HTTP_EXCHANGE_READING || exchange->state == HTTP_EXCHANGE_SUSPENDED;
    if (open) {
        add_session(exchange, arena_dup(exchange->arena, session_id));
        http_exchange_stream(exchange);
    }
    pthread_mutex_unlock(&exchange->lock);
}

static bool sink_stream_bytes(void *transport, const char *bytes, size_t size)
{
    return http_exchange_stream_add(transport, bytes, size);
}

static void sink_finish(void *transport, const struct mcp_answer *answer)
{
    struct http_exchange *exchange = transport;
    pthread_mutex_lock(&exchange->lock);
    switch (exchange->state) {
    case HTTP_EXCHANGE_READING:
    case HTTP_EXCHANGE_SUSPENDED:
        add_session(exchange, answer->session_id);
        if (answer->retry_after_s > 0)
            http_exchange_add_header(exchange, "retry-after", arena_printf(exchange->arena, "%" PRId64, answer->retry_after_s));
        if (answer->http_status == MHD_HTTP_UNAUTHORIZED)
            http_exchange_add_header(exchange, "www-authenticate", "Bearer");
        if (answer->http_status == MHD_HTTP_METHOD_NOT_ALLOWED)
            http_exchange_add_header(exchange, "allow", allowed_methods);
        http_exchange_answer(exchange, answer->http_status, answer->body != NULL ? json_media : NULL, answer->body,
                             answer->body_size);
        break;
    case HTTP_EXCHANGE_STREAMING:
        http_exchange_stream_end(exchange);
        break;
    case HTTP_EXCHANGE_ANSWERED: /* the endpoint gave up */
        break;
    }
    pthread_mutex_unlock(&exchange->lock);
}

static const struct mcp_sink sink = {
    .stream_open = sink_stream_open,
    .stream_bytes = sink_stream_bytes,
    .finish = sink_finish,
};

/* ---- Requests ---- */

static void answer_rpc_refusal(struct http_exchange *exchange, int status, const char *sentence)
{
    struct buf *body = buf_in_arena(exchange->arena, SIZE_MAX);
    mcp_write_refusal(body, RPC_INVALID_REQUEST, sentence);
    http_exchange_answer(exchange, status, json_media, body->data, body->size);
}

static void refuse_mcp(struct http_exchange *exchange, int status, const char *code, const char *sentence)
{
    http_exchange_log_refusal(exchange, status, code);
    answer_rpc_refusal(exchange, status, sentence);
}

static bool is_allowed(struct http_exchange *exchange)
{
    const struct guard *guard = exchange->server->guard;
    const char *origin = exchange->headers.values[HEADER_ORIGIN];
    if (!guard_host_is_known(guard, http_exchange_host(exchange))) {
        refuse_mcp(exchange, MHD_HTTP_FORBIDDEN, "HOST_NOT_ALLOWED",
                   "The Host header does not name this server; allow it with --allowed-host.");
        return false;
    }
    if (origin != NULL && !guard_origin_is_known(guard, origin)) {
        refuse_mcp(exchange, MHD_HTTP_FORBIDDEN, "ORIGIN_NOT_ALLOWED",
                   "This origin may not call this server; allow it with --allowed-origin.");
        return false;
    }
    return true;
}

static bool read_method(struct http_exchange *exchange, enum mcp_http_method *ret_method)
{
    static const struct {
        const char *name;
        enum mcp_http_method method;
    } methods[] = { { "POST", MCP_HTTP_POST }, { "GET", MCP_HTTP_GET }, { "DELETE", MCP_HTTP_DELETE } };
    for (size_t i = 0; i < ARRAY_COUNT(methods); i++) {
        if (strcmp(methods[i].name, exchange->method) == 0) {
            *ret_method = methods[i].method;
            return true;
        }
    }
    http_exchange_add_header(exchange, "allow", allowed_methods);
    if (strcmp(exchange->method, "OPTIONS") == 0)
        http_exchange_answer(exchange, MHD_HTTP_NO_CONTENT, NULL, NULL, 0);
    else
        refuse_mcp(exchange, MHD_HTTP_METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", "Use POST, GET or DELETE.");
    return false;
}

static bool body_is_acceptable(struct http_exchange *exchange, enum mcp_http_method method)
{
    const char *content_type = exchange->headers.values[HEADER_CONTENT_TYPE];
    if (exchange->headers.contradictory) {
        refuse_mcp(exchange, MHD_HTTP_BAD_REQUEST, "INVALID_REQUEST", "The headers contradict each other.");
        return false;
    }
    if (exchange->too_large) {
        refuse_mcp(exchange, MHD_HTTP_CONTENT_TOO_LARGE, "PAYLOAD_TOO_LARGE", "The message is larger than this server accepts.");
        return false;
    }
    if (method == MCP_HTTP_POST && (content_type == NULL || !content_type_is_json(content_type))) {
        refuse_mcp(exchange, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, "UNSUPPORTED_MEDIA_TYPE", "Send the message as application/json.");
        return false;
    }
    return true;
}

static const char *mcp_header_value(const void *headers, const char *name)
{
    const struct http_exchange *exchange = headers;
    size_t size = strlen(name);
    enum header header = header_by_name(name, size);
    if (header != HEADER_UNKNOWN)
        return exchange->headers.values[header];
    return MHD_lookup_connection_value(exchange->mhd, MHD_HEADER_KIND, name);
}

/* ---- The endpoint; its state is the handler of src/mcp until one thread takes it to release it ---- */

static void mcp_begin(struct http_exchange *exchange)
{
    exchange->max_body_bytes = mcp_server_message_max_bytes(exchange->server->mcp);
}

static void mcp_run(struct http_exchange *exchange)
{
    enum mcp_http_method method;
    if (!is_allowed(exchange) || !read_method(exchange, &method) || !body_is_acceptable(exchange, method))
        return;
    const char *accept = exchange->headers.values[HEADER_ACCEPT];
    const struct mcp_http_request request = {
        .method = method,
        .body = buf_text(&exchange->body),
        .body_size = exchange->body.size,
        .accepts_json = accept_takes(accept, "application", "json"),
        .accepts_event_stream = accept_takes(accept, "text", "event-stream"),
        .credentials = credentials_read(exchange->arena, &exchange->headers, false),
        .header = mcp_header_value,
        .headers = exchange,
    };
    struct mcp_http_handler *mcp = mcp_http_handler_new(exchange->server->mcp, &request, &sink, exchange);
    exchange->endpoint_state = mcp;
    if (!mcp_http_handler_is_immediate(mcp))
        http_exchange_suspend(exchange);
    mcp_http_handler_run(mcp);
}

/* Under the lock. The thread that gets the handler releases it, without the lock. */
static struct mcp_http_handler *take_mcp(struct http_exchange *exchange)
{
    return TAKE_PTR(exchange->endpoint_state);
}

static void mcp_give_up(struct http_exchange *exchange, enum give_up_reason reason)
{
    struct mcp_http_handler *mcp = NULL;
    pthread_mutex_lock(&exchange->lock);
    if (exchange->state == HTTP_EXCHANGE_SUSPENDED) {
        mcp = take_mcp(exchange);
        const char *sentence = reason == GIVE_UP_TIMEOUT ? "The call took too long." : "The server is stopping.";
        answer_rpc_refusal(exchange, MHD_HTTP_SERVICE_UNAVAILABLE, sentence);
    } else if (exchange->state == HTTP_EXCHANGE_STREAMING && reason != GIVE_UP_TIMEOUT) {
        mcp = take_mcp(exchange);
        http_exchange_stream_end(exchange);
    }
    pthread_mutex_unlock(&exchange->lock);
    if (mcp != NULL)
        mcp_http_handler_release(mcp);
}

static void mcp_release(struct http_exchange *exchange)
{
    pthread_mutex_lock(&exchange->lock);
    struct mcp_http_handler *mcp = take_mcp(exchange);
    pthread_mutex_unlock(&exchange->lock);
    if (mcp != NULL)
        mcp_http_handler_release(mcp);
}

const struct http_endpoint mcp_endpoint = {
    .begin = mcp_begin,
    .run = mcp_run,
    .give_up = mcp_give_up,
    .release = mcp_release,
};
