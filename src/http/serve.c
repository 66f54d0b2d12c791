#include "http/serve.h"

#include "api/call.h"
#include "http/address_gate.h"
#include "http/body_throttle.h"
#include "http/connections.h"
#include "http/guard.h"
#include "http/server_state.h"
#include "http/visitor.h"

#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

enum {
    CONNECTION_POOL_BYTES = 16 * 1024,  /* for the request line and headers; above it libmicrohttpd answers 431 */
    DRAIN_MAX_BYTES = 16 * 1024 * 1024, /* of a too large body, which is read and dropped so that the client gets the error */
    STREAM_BLOCK_BYTES = 16 * 1024,
};

/* ---- Connections ---- */

static struct connection *connection_of(struct MHD_Connection *mhd)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info != NULL ? info->socket_context : NULL;
}

/* Takes a slot for a new connection. The connections of a trusted proxy are not counted for its address. */
static struct connection *open_connection(struct http_server *server, struct MHD_Connection *mhd)
{
    const union MHD_ConnectionInfo *address = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const struct sockaddr *client = address != NULL ? address->client_addr : NULL;
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info == NULL)
        return NULL;
    struct gate_address peer = { .bytes = { 0 } };
    (void)gate_address_of_peer(client, &peer); /* false for loopback, which is counted here */
    bool is_counted = !guard_peer_is_trusted(server->guard, client);
    struct connection *connection = connection_open(server->connections, info->connect_fd, is_counted ? &peer : NULL);
    if (connection != NULL)
        return connection;
    atomic_fetch_add_explicit(&server->connections_refused, 1, memory_order_relaxed);
    shutdown(info->connect_fd, SHUT_RDWR); /* libmicrohttpd sees the shutdown and closes the socket */
    return NULL;
}

static void on_connection(void *context, struct MHD_Connection *mhd, void **ret_connection,
                          enum MHD_ConnectionNotificationCode code)
{
    struct http_server *server = context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        *ret_connection = open_connection(server, mhd);
    } else if (*ret_connection != NULL) {
        connection_close(*ret_connection);
        *ret_connection = NULL;
    }
}

/* ---- Start of a request ---- */

/* Endpoints decode paths and queries, because they know how to treat an escaped slash. */
static size_t keep_escapes(void *context, struct MHD_Connection *mhd, char *text)
{
    (void)context;
    (void)mhd;
    return strlen(text);
}

/* A target in absolute form is accepted too (RFC 9112 §3.2.2): its path counts, whatever host it names. */
static const char *without_authority(const char *target)
{
    static const char *const schemes[] = { "http://", "https://" };
    for (size_t i = 0; i < ARRAY_COUNT(schemes); i++) {
        size_t size = strlen(schemes[i]);
        size_t authority_size = strncasecmp(target, schemes[i], size) == 0 ? strcspn(target + size, "/?#") : 0;
        if (authority_size > 0)
            return target + size + authority_size;
    }
    return target;
}

/* Called with the request line, before libmicrohttpd parses it. */
static void *on_request_line(void *context, const char *target, struct MHD_Connection *mhd)
{
    struct connection *connection = connection_of(mhd);
    if (connection == NULL)
        return NULL;
    struct http_exchange **spare = connection_spare(connection);
    struct http_exchange *exchange = *spare != NULL ? TAKE_PTR(*spare) : http_exchange_new(context);
    connection_set_phase(connection, PHASE_HEADERS);
    exchange->connection = connection;
    exchange->mhd = mhd;
    exchange->target = arena_dup(exchange->arena, without_authority(target));
    exchange->path_size = strcspn(exchange->target, "?");
    if (exchange->target[exchange->path_size] == '?')
        exchange->query = exchange->target + exchange->path_size + 1;
    return exchange;
}

static bool path_is(const struct http_exchange *exchange, const char *path)
{
    return strlen(path) == exchange->path_size && memcmp(exchange->target, path, exchange->path_size) == 0;
}

static const struct http_endpoint *choose_endpoint(const struct http_exchange *exchange)
{
    if (exchange->server->mcp != NULL && path_is(exchange, "/mcp"))
        return &mcp_endpoint;
    if (exchange->server->api != NULL && path_is(exchange, "/openapi.json"))
        return &document_endpoint;
    if (exchange->server->api != NULL && path_is(exchange, "/docs/errors"))
        return &error_page_endpoint;
    if (exchange->server->open_asset != NULL && asset_path(exchange))
        return &asset_endpoint;
    if (exchange->server->api != NULL && download_path(exchange))
        return &download_endpoint;
    if (exchange->server->api != NULL && unsubscribe_path(exchange))
        return &unsubscribe_endpoint;
    if (exchange->server->hits != NULL && tracking_path(exchange))
        return &tracking_endpoint;
    if (exchange->server->api != NULL && reports_path(exchange))
        return &reports_endpoint;
    if (exchange->server->api != NULL && hooks_path(exchange))
        return &hooks_endpoint;
    return &rest_endpoint;
}

/* Watched only after the endpoint has suspended the exchange, because a call cannot be cancelled before it is submitted. */
static void watch_suspended(struct http_exchange *exchange)
{
    atomic_fetch_add_explicit(&exchange->server->suspended, 1, memory_order_relaxed);
    if (!connection_watch(exchange->connection, exchange))
        http_exchange_give_up(exchange, GIVE_UP_CLIENT_GONE);
}

static void exchange_run(struct http_exchange *exchange)
{
    connection_set_phase(exchange->connection, PHASE_WORK);
    exchange->endpoint->run(exchange);
    if (exchange->was_suspended)
        watch_suspended(exchange);
}

/* Judges the body before it is collected. */
static void exchange_admit(struct http_exchange *exchange)
{
    bool has_body = http_exchange_is_chunked(exchange) || http_exchange_declared_bytes(exchange) > 0;
    if (has_body)
        exchange->body_share.address = visitor_number(exchange);
    if (has_body && !exchange->drops_body && exchange->endpoint->admit != NULL)
        exchange->endpoint->admit(exchange);
    if (exchange->was_suspended) {
        connection_set_phase(exchange->connection, PHASE_WORK);
        watch_suspended(exchange);
        return;
    }
    if (!exchange->drops_body && exchange->body_share.bytes == 0)
        http_exchange_claim_body(exchange);
    connection_set_phase(exchange->connection, PHASE_BODY);
}

/* The requests of a proxy on this machine, which names their clients, come from several of them. */
static void uncount_local_proxy(struct http_exchange *exchange)
{
    struct gate_address ignored;
    if (!gate_address_of_peer(http_exchange_peer(exchange), &ignored) && visitor_of(exchange).is_counted)
        connection_uncount(exchange->connection);
}

static void exchange_begin(struct http_exchange *exchange, const char *method)
{
    exchange->begun = true;
    exchange->method = method;
    headers_read(exchange->mhd, &exchange->headers);
    atomic_fetch_add_explicit(&exchange->server->requests, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&exchange->server->active, 1, memory_order_relaxed);
    uncount_local_proxy(exchange);
    exchange->closes = exchange->headers.contradictory;
    exchange->endpoint = choose_endpoint(exchange);
    exchange->endpoint->begin(exchange);

    uint64_t length = http_exchange_declared_bytes(exchange);
    exchange->too_large = length > exchange->max_body_bytes;
    exchange->drops_body = exchange->too_large || exchange->headers.contradictory;
    exchange_admit(exchange);
}

/* The connection was resumed: the exchange is answered, or its body is admitted. */
static void exchange_resumed(struct http_exchange *exchange)
{
    exchange->was_suspended = false;
    atomic_fetch_sub_explicit(&exchange->server->suspended, 1, memory_order_relaxed);
    if (exchange->body_complete)
        return;
    connection_unwatch(exchange->connection);
    connection_set_phase(exchange->connection, PHASE_BODY);
}

/* ---- Answers ---- */

static ssize_t read_stream(void *context, uint64_t position, char *bytes, size_t max_bytes)
{
    (void)position;
    ptrdiff_t size = http_exchange_stream_read(context, bytes, max_bytes);
    return size >= 0 ? size : MHD_CONTENT_READER_END_OF_STREAM;
}

static struct MHD_Response *make_response(struct http_exchange *exchange, bool streams)
{
    if (streams)
        return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK_BYTES, read_stream, exchange, NULL);
    if (exchange->answer_fd >= 0) {
        struct MHD_Response *response = MHD_create_response_from_fd64(exchange->answer_size, exchange->answer_fd);
        if (response != NULL)
            exchange->answer_fd = -1; /* the response closes the file */
        return response;
    }
    /* The bytes live until the request is completed, and nothing modifies them. */
    return MHD_create_response_from_buffer(exchange->answer_size, (void *)(uintptr_t)exchange->answer, MHD_RESPMEM_PERSISTENT);
}

static enum MHD_Result queue_answer(struct http_exchange *exchange)
{
    bool streams = exchange->state == HTTP_EXCHANGE_STREAMING;
    struct MHD_Response *response = make_response(exchange, streams);
    if (response == NULL)
        return MHD_NO;
    for (unsigned i = 0; i < exchange->answer_header_count; i++)
        MHD_add_response_header(response, exchange->answer_headers[i].name, exchange->answer_headers[i].value);
    if (exchange->closes || atomic_load_explicit(&exchange->server->stopping, memory_order_relaxed))
        MHD_add_response_header(response, "connection", "close");

    if (streams)
        atomic_fetch_add_explicit(&exchange->server->streams, 1, memory_order_relaxed);
    connection_set_phase(exchange->connection, streams ? PHASE_STREAM : PHASE_SENDING);
    enum MHD_Result result = MHD_queue_response(exchange->mhd, (unsigned)exchange->status, response);
    MHD_destroy_response(response);
    return result;
}

/* True when the answer cannot wait for the end of the body: it is too large to drop, is not sent yet (Expect), or has an unclear
 * length. The answer then closes the connection. */
static bool must_answer_before_body(const struct http_exchange *exchange)
{
    bool too_much = http_exchange_declared_bytes(exchange) > DRAIN_MAX_BYTES || exchange->headers.values[HEADER_EXPECT] != NULL;
    return exchange->headers.contradictory || (exchange->drops_body && too_much);
}

/* The end of the call for the headers, which libmicrohttpd repeats after each resumption until the body is read or an answer is
 * there. */
static enum MHD_Result leave_head(struct http_exchange *exchange)
{
    if (!exchange->was_suspended && exchange->state == HTTP_EXCHANGE_READING && must_answer_before_body(exchange))
        exchange_run(exchange);
    bool goes_on = exchange->was_suspended || exchange->state == HTTP_EXCHANGE_READING;
    return goes_on ? MHD_YES : queue_answer(exchange);
}

/* A large body of an organization gives way while other organizations are active. */
static bool gives_way(const struct http_exchange *exchange)
{
    const struct http_server *server = exchange->server;
    int64_t organization_id = exchange->body_share.organization_id;
    bool is_large = exchange->body_seen_bytes > HTTP_EXCHANGE_QUICK_CALL_BYTES ||
                    http_exchange_declared_bytes(exchange) > HTTP_EXCHANGE_QUICK_CALL_BYTES;
    return is_large && organization_id != 0 && server->api != NULL && api_has_others(server->api, organization_id);
}

/* Notes what was read of a body. The connection may be suspended now. */
static void throttle_body(struct http_exchange *exchange, size_t bytes)
{
    struct http_server *server = exchange->server;
    bool drops = exchange->drops_body;
    if (!drops && !gives_way(exchange))
        return;
    int64_t allowance = drops ? (int64_t)BODY_THROTTLE_DROPPED : exchange->body_share.organization_id;
    if (body_throttle_note(server->body_throttle, &exchange->body_pause, exchange->mhd, allowance, bytes))
        atomic_fetch_add_explicit(drops ? &server->drops_paused : &server->bodies_paused, 1, memory_order_relaxed);
}

/* Called when the headers are complete, for every part of the body, at its end, and after every resumption. */
static enum MHD_Result on_request(void *context, struct MHD_Connection *mhd, const char *url, const char *method,
                                  const char *version, const char *upload, size_t *upload_size, void **request)
{
    struct http_exchange *exchange = *request;
    (void)context;
    (void)mhd;
    (void)url;
    (void)version;
    if (exchange == NULL)
        return MHD_NO;
    if (!exchange->begun) {
        exchange_begin(exchange, method);
        return leave_head(exchange);
    }
    bool was_resumed = exchange->was_suspended;
    if (was_resumed)
        exchange_resumed(exchange);
    if (was_resumed && !exchange->body_complete)
        return leave_head(exchange);
    if (*upload_size > 0) {
        http_exchange_add_body(exchange, upload, *upload_size);
        throttle_body(exchange, *upload_size);
        *upload_size = 0;
        return exchange->body_seen_bytes <= DRAIN_MAX_BYTES ? MHD_YES : MHD_NO;
    }
    if (!exchange->body_complete) {
        exchange->body_complete = true;
        if (exchange->state == HTTP_EXCHANGE_READING)
            exchange_run(exchange);
        if (exchange->was_suspended)
            return MHD_YES; /* even when it is already answered: it is resumed, and this function is called again */
    }
    return queue_answer(exchange);
}

/* The response was sent, or the connection is lost. */
static void on_exchange_completed(void *context, struct MHD_Connection *mhd, void **request, enum MHD_RequestTerminationCode code)
{
    struct http_server *server = context;
    struct http_exchange *exchange = TAKE_PTR(*request);
    (void)mhd;
    if (exchange == NULL)
        return;
    struct connection *connection = exchange->connection;
    connection_unwatch(connection);
    if (exchange->begun) {
        if (exchange->was_suspended)
            atomic_fetch_sub_explicit(&server->suspended, 1, memory_order_relaxed);
        if (exchange->state == HTTP_EXCHANGE_STREAMING)
            atomic_fetch_sub_explicit(&server->streams, 1, memory_order_relaxed);
        else if (code != MHD_REQUEST_TERMINATED_COMPLETED_OK)
            atomic_fetch_add_explicit(&server->abandoned, 1, memory_order_relaxed);
        if (exchange->endpoint != NULL && exchange->endpoint->release != NULL)
            exchange->endpoint->release(exchange);
        atomic_fetch_sub_explicit(&server->active, 1, memory_order_release);
    }
    connection_set_phase(connection, PHASE_IDLE);

    /* The exchange is no longer watched, so no new reference can appear. */
    if (http_exchange_is_unshared(exchange)) {
        http_exchange_reset(exchange);
        *connection_spare(connection) = exchange;
    } else {
        http_exchange_unref(exchange);
    }
}

struct MHD_Daemon *serve_start(struct http_server *server, int listen_fd, const struct serve_limits *limits)
{
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC;
    struct MHD_OptionItem options[] = {
        { MHD_OPTION_LISTEN_SOCKET, listen_fd, NULL },
        { MHD_OPTION_CONNECTION_LIMIT, (intptr_t)limits->max_connections, NULL },
        { MHD_OPTION_CONNECTION_TIMEOUT, (intptr_t)limits->idle_timeout_s, NULL },
        { MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_POOL_BYTES, NULL },
        /* libmicrohttpd refuses a thread pool of one thread. */
        { limits->io_threads > 1 ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END, (intptr_t)limits->io_threads, NULL },
        { MHD_OPTION_END, 0, NULL },
    };
    return MHD_start_daemon(flags, 0, NULL, NULL, on_request, server, MHD_OPTION_ARRAY, options, MHD_OPTION_NOTIFY_CONNECTION,
                            on_connection, server, MHD_OPTION_NOTIFY_COMPLETED, on_exchange_completed, server,
                            MHD_OPTION_URI_LOG_CALLBACK, on_request_line, server, MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL,
                            MHD_OPTION_END);
}
