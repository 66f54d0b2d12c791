#include "mcp/http_handler.h"

#include "base/clock.h"
#include "base/json_read.h"
#include "mcp/batch.h"
#include "mcp/stream.h"

#include <stdatomic.h>
#include <string.h>

enum { KEEP_ALIVE_S = 15 };

/*
 * One HTTP request of the endpoint. It is held by its transport until released
 * and by its work until finished; the last one frees it, and the answer with it.
 */
struct mcp_http_handler {
    struct mcp_server *server;
    const struct mcp_sink *sink;
    void *transport;
    struct arena *arena;
    _Atomic unsigned holds;
    bool immediate;
    bool accepts_json;
    bool accepts_stream;
    struct credentials credentials;
    struct mcp_session *session; /* held; NULL without one */
    struct mcp_session *begun;   /* held; by initialize */
    struct mcp_request *request; /* the work: one of these two, or neither when refused */
    struct mcp_batch *batch;
    const char *last_event_id;      /* GET */
    pthread_mutex_t guard;          /* of a request without a session */
    struct mcp_http_handler *newer; /* among the server's deferred ones, under its lock, like what follows */
    struct mcp_http_handler *older;
    bool stopping;
    int64_t kept_alive_us;

    pthread_mutex_t lock; /* guards what follows; a leaf */
    pthread_cond_t calm;
    bool busy; /* a sink function is running, on busy_thread */
    pthread_t busy_thread;
    bool released;
    bool finished;
    bool streaming;
    bool deaf;                 /* the sink wants nothing more */
    struct mcp_stream *stream; /* keeps the answer; the working thread's */

    struct buf out;
    struct mcp_answer answer;
};

/* ---- Holding ---- */

void mcp_http_handler_hold(struct mcp_http_handler *exchange)
{
    atomic_fetch_add_explicit(&exchange->holds, 1, memory_order_relaxed);
}

static void register_deferred(struct mcp_http_handler *exchange)
{
    struct mcp_server *server = exchange->server;
    exchange->kept_alive_us = clock_monotonic_us();
    pthread_mutex_lock(&server->lock);
    exchange->older = server->deferred;
    if (server->deferred != NULL)
        server->deferred->newer = exchange;
    server->deferred = exchange;
    pthread_mutex_unlock(&server->lock);
}

static void forget_deferred(struct mcp_server *server, const struct mcp_http_handler *exchange)
{
    pthread_mutex_lock(&server->lock);
    *(exchange->newer != NULL ? &exchange->newer->older : &server->deferred) = exchange->older;
    if (exchange->older != NULL)
        exchange->older->newer = exchange->newer;
    if (server->deferred == NULL)
        pthread_cond_broadcast(&server->idle);
    pthread_mutex_unlock(&server->lock);
}

void mcp_http_handler_drop(struct mcp_http_handler *exchange)
{
    if (atomic_fetch_sub_explicit(&exchange->holds, 1, memory_order_acq_rel) != 1)
        return;
    struct mcp_server *server = exchange->server;
    bool immediate = exchange->immediate;
    buf_done(&exchange->out);
    mcp_session_release(exchange->session);
    mcp_session_release(exchange->begun);
    pthread_mutex_destroy(&exchange->guard);
    pthread_mutex_destroy(&exchange->lock);
    pthread_cond_destroy(&exchange->calm);
    /* The server may be freed as soon as it knows that this one is gone. */
    if (!immediate)
        forget_deferred(server, exchange);
    arena_free(exchange->arena);
}

/* ---- The sink ---- */

/* Reserves the sink for this thread. False when the transport has released the exchange. */
static bool sink_enter(struct mcp_http_handler *exchange)
{
    pthread_mutex_lock(&exchange->lock);
    while (exchange->busy && !exchange->released)
        pthread_cond_wait(&exchange->calm, &exchange->lock);
    bool open = !exchange->released && !exchange->finished;
    if (open) {
        exchange->busy = true;
        exchange->busy_thread = pthread_self();
    }
    pthread_mutex_unlock(&exchange->lock);
    return open;
}

static void sink_leave(struct mcp_http_handler *exchange)
{
    pthread_mutex_lock(&exchange->lock);
    exchange->busy = false;
    pthread_cond_broadcast(&exchange->calm);
    pthread_mutex_unlock(&exchange->lock);
}

/* By the working thread, once. */
static void open_stream(struct mcp_http_handler *exchange)
{
    bool open = sink_enter(exchange);
    if (open)
        exchange->sink->stream_open(exchange->transport, exchange->answer.session_id);
    pthread_mutex_lock(&exchange->lock);
    exchange->streaming = true;
    pthread_mutex_unlock(&exchange->lock);
    if (open)
        sink_leave(exchange);
}

void mcp_http_handler_send_bytes(struct mcp_http_handler *exchange, const char *bytes, size_t size)
{
    if (!sink_enter(exchange))
        return;
    if (!exchange->deaf)
        exchange->deaf = !exchange->sink->stream_bytes(exchange->transport, bytes, size);
    sink_leave(exchange);
}

static void finish(struct mcp_http_handler *exchange)
{
    mcp_http_handler_hold(exchange);
    if (sink_enter(exchange)) {
        exchange->finished = true;
        exchange->sink->finish(exchange->transport, &exchange->answer);
        sink_leave(exchange);
    }
    mcp_http_handler_drop(exchange);
}

void mcp_http_handler_end_stream(struct mcp_http_handler *exchange)
{
    finish(exchange);
}

/* A message as an event: of the session's kept stream, or of this connection only. */
static void send_event(struct mcp_http_handler *exchange, const char *message, size_t size)
{
    if (exchange->stream != NULL) {
        mcp_stream_append(exchange->session, exchange->stream, message, size);
        return;
    }
    BUF_SCOPE event;
    buf_init(&event, MCP_ANSWER_MAX_BYTES);
    mcp_event_write(&event, message, size);
    if (!event.overflowed)
        mcp_http_handler_send_bytes(exchange, event.data, event.size);
}

/* The answer becomes a stream; one that can be resumed when the client knows how (2025-11-25). */
static void begin_stream(struct mcp_http_handler *exchange)
{
    if (exchange->streaming)
        return;
    open_stream(exchange);
    bool resumable = exchange->session != NULL && exchange->session->peer.version != NULL &&
                     strcmp(exchange->session->peer.version, MCP_LATEST_LEGACY_VERSION) == 0;
    if (resumable)
        exchange->stream = mcp_stream_new(exchange->session);
    if (exchange->stream != NULL)
        mcp_stream_attach(exchange->session, exchange->stream, 0, exchange);
}

/* What is answered at once has nothing to say in between: its transport was promised a single answer. */
static void send_message(struct mcp_http_handler *exchange, const char *message, size_t size)
{
    if (exchange->immediate || !exchange->accepts_stream)
        return;
    begin_stream(exchange);
    send_event(exchange, message, size);
}

/* The answer stands in exchange->out. Gives up the work's hold. */
static void deliver(struct mcp_http_handler *exchange)
{
    exchange->answer.body = exchange->out.size > 0 ? exchange->out.data : NULL;
    exchange->answer.body_size = exchange->out.size;
    if (exchange->immediate) {
        exchange->finished = true;
        exchange->sink->finish(exchange->transport, &exchange->answer);
        mcp_http_handler_drop(exchange);
        return;
    }
    bool ok = exchange->answer.http_status == 200;
    if (!exchange->streaming && ok && !exchange->accepts_json && exchange->out.size > 0)
        begin_stream(exchange);
    if (exchange->streaming && exchange->out.size > 0)
        send_event(exchange, exchange->out.data, exchange->out.size);
    if (exchange->stream != NULL)
        mcp_stream_close(exchange->session, exchange->stream);
    else
        finish(exchange);
    mcp_http_handler_drop(exchange);
}

/* ---- The work's writer ---- */

static void request_send(struct mcp_request *request, const char *message, size_t size)
{
    send_message(request->writer_data, message, size);
}

static void request_complete(struct mcp_request *request)
{
    struct mcp_http_handler *exchange = request->writer_data;
    exchange->out = request->out;
    buf_init(&request->out, 0);
    exchange->answer.http_status = request->http_status;
    exchange->answer.session_id = request->session_id;
    exchange->answer.retry_after_s = request->retry_after_s;
    if (request->session_id != NULL)
        exchange->begun = (struct mcp_session *)request->peer;
    if (request->mute) {
        /* HTTP owes every request an answer; the client does not look at this one. */
        buf_clear(&exchange->out);
        rpc_error(&exchange->out, request->id, RPC_SERVER_ERROR, "The request was cancelled.", NULL);
    }
    deliver(exchange);
}

static void request_hang_up(struct mcp_request *request, int retry_ms)
{
    struct mcp_http_handler *exchange = request->writer_data;
    if (exchange->immediate || !exchange->accepts_stream)
        return;
    begin_stream(exchange);
    if (exchange->stream == NULL)
        return; /* the client could not come back */
    char retry[32];
    int size = snprintf(retry, sizeof(retry), "retry: %d\n\n", retry_ms);
    mcp_http_handler_send_bytes(exchange, retry, (size_t)size);
    mcp_stream_detach(exchange->session, exchange);
    finish(exchange);
}

static const struct mcp_response_writer exchange_writer = {
    .send = request_send,
    .complete = request_complete,
    .hang_up = request_hang_up,
};

static void fill(void *data, struct mcp_request *request)
{
    struct mcp_http_handler *exchange = data;
    request->transport = TRANSPORT_MCP_HTTP;
    request->credentials = exchange->credentials;
    request->peer = exchange->session != NULL ? &exchange->session->peer : NULL;
    request->guard = exchange->session != NULL ? &exchange->session->peer.lock : &exchange->guard;
}

static void batch_send(void *data, const char *message, size_t size)
{
    send_message(data, message, size);
}

static void batch_done(void *data, struct buf *out)
{
    struct mcp_http_handler *exchange = data;
    exchange->out = *out;
    buf_init(out, 0);
    exchange->answer.http_status = exchange->out.size > 0 ? 200 : 202;
    deliver(exchange);
}

/* ---- GET: a stream of its own, or the rest of one that broke off ---- */

static void deliver_change(void *data, const char *message, size_t size)
{
    struct mcp_request *request = data;
    send_event(request->writer_data, message, size);
}

void mcp_stream_serve(struct mcp_request *request)
{
    struct mcp_http_handler *exchange = request->writer_data;
    struct mcp_session *session = exchange->session;
    if (exchange->last_event_id == NULL) {
        static const struct mcp_wants all = { .tools = true, .prompts = true, .resources = true };
        open_stream(exchange);
        exchange->streaming = true;
        request->listener = mcp_listener_open(request->server, &all, &session->peer, NULL, deliver_change, request);
        return;
    }
    uint64_t event = 0;
    struct mcp_stream *stream = mcp_stream_find(session, exchange->last_event_id, &event);
    if (stream == NULL) {
        mcp_refuse(request, RPC_INVALID_REQUEST, NULL, "There is nothing to resume after this Last-Event-ID.");
        return;
    }
    open_stream(exchange);
    mcp_stream_attach(session, stream, event, exchange);
}

/* ---- Reading a request ---- */

static void refuse(struct mcp_http_handler *exchange, int http_status, const json_t *id, int code, const char *message)
{
    buf_clear(&exchange->out);
    rpc_error(&exchange->out, id, code, message, NULL);
    exchange->answer.http_status = http_status;
}

static const char *header(const struct mcp_headers *headers, const char *name)
{
    return headers->get(headers->headers, name);
}

/* Finds the session of a request of the older era. False when refused. */
static bool find_session(struct mcp_http_handler *exchange, const struct mcp_headers *headers, const json_t *id)
{
    const char *session_id = header(headers, "Mcp-Session-Id");
    if (session_id == NULL) {
        refuse(exchange, 400, id, RPC_INVALID_REQUEST, "The header Mcp-Session-Id is missing: send initialize first.");
        return false;
    }
    exchange->session = mcp_session_find(exchange->server, session_id, &exchange->credentials);
    if (exchange->session == NULL) {
        refuse(exchange, 404, id, RPC_SESSION_NOT_FOUND, "The session does not exist any more: send initialize again.");
        return false;
    }
    const char *version = header(headers, "MCP-Protocol-Version");
    if (version != NULL && mcp_legacy_version(version) == NULL) {
        refuse(exchange, 400, id, RPC_INVALID_REQUEST, "The header MCP-Protocol-Version names a version that is not supported.");
        return false;
    }
    return true;
}

static void prepare(struct mcp_http_handler *exchange, struct mcp_request *request, const struct mcp_headers *headers)
{
    fill(exchange, request);
    request->writer = &exchange_writer;
    request->writer_data = exchange;
    mcp_prepare(request, headers);
    exchange->request = request;
}

static void read_message(struct mcp_http_handler *exchange, const json_t *json, size_t size, const struct mcp_headers *headers)
{
    struct rpc_message message;
    const char *fault = NULL;
    if (!rpc_read(json, &message, &fault)) {
        refuse(exchange, 400, message.id, RPC_INVALID_REQUEST, fault);
        return;
    }
    enum mcp_era era = mcp_era_of(&message, headers);
    bool is_initialize = message.kind == RPC_REQUEST && strcmp(message.method, "initialize") == 0;
    if (era == MCP_LEGACY && !is_initialize && !find_session(exchange, headers, message.id))
        return;
    struct mcp_request *request = mcp_request_new(exchange->server, exchange->arena, &message, era);
    request->message_bytes = size;
    prepare(exchange, request, headers);
}

static void read_batch(struct mcp_http_handler *exchange, const json_t *messages, const struct mcp_headers *headers)
{
    static const struct mcp_batch_host host = { .fill = fill, .send = batch_send, .done = batch_done };
    size_t count = json_array_size(messages);
    if (!find_session(exchange, headers, NULL))
        return;
    const char *version = exchange->session->peer.version;
    if (version == NULL || strcmp(version, MCP_BATCH_VERSION) != 0 || count == 0 || count > MCP_BATCH_MAX_MESSAGES) {
        refuse(exchange, 400, NULL, RPC_INVALID_REQUEST, "Batches exist in " MCP_BATCH_VERSION " only, of 1 to 64 messages.");
        return;
    }
    exchange->batch = mcp_batch_new(exchange->server, exchange->arena, messages, &host, exchange);
}

static void read_post(struct mcp_http_handler *exchange, const struct mcp_http_request *http, const struct mcp_headers *headers)
{
    if (!exchange->accepts_json && !exchange->accepts_stream) {
        refuse(exchange, 406, NULL, RPC_INVALID_REQUEST, "Accept must name application/json or text/event-stream.");
        return;
    }
    struct json_bounds bounds = { .max_bytes = exchange->server->config.message_max_bytes };
    struct error err = { 0 };
    const json_t *json = NULL;
    if (!json_read(exchange->arena, http->body, http->body_size, bounds, &json, &err))
        refuse(exchange, err.code == ERR_PAYLOAD_TOO_LARGE ? 413 : 400, NULL, RPC_PARSE_ERROR, err.message);
    else if (json_is_array(json))
        read_batch(exchange, json, headers);
    else
        read_message(exchange, json, http->body_size, headers);
}

/* GET and DELETE belong to the older era and its sessions. */
static void read_bodiless(struct mcp_http_handler *exchange, enum mcp_method method, const struct mcp_headers *headers)
{
    const char *version = header(headers, "MCP-Protocol-Version");
    if (version != NULL && mcp_version_is_modern(version)) {
        refuse(exchange, 405, NULL, RPC_INVALID_REQUEST, "This protocol version uses POST only.");
        return;
    }
    if (method == MCP_STREAM && !exchange->accepts_stream) {
        refuse(exchange, 406, NULL, RPC_INVALID_REQUEST, "Accept must name text/event-stream.");
        return;
    }
    if (!find_session(exchange, headers, NULL))
        return;
    static const struct rpc_message no_message = { .kind = RPC_REQUEST };
    struct mcp_request *request = mcp_request_new(exchange->server, exchange->arena, &no_message, MCP_LEGACY);
    request->method = method;
    exchange->last_event_id = arena_dup(exchange->arena, header(headers, "Last-Event-ID"));
    prepare(exchange, request, headers);
}

static void init_locks(struct mcp_http_handler *exchange)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&exchange->guard, &attributes);
    pthread_mutexattr_destroy(&attributes);
    pthread_mutex_init(&exchange->lock, NULL);
    pthread_cond_init(&exchange->calm, NULL);
}

static struct credentials copy_credentials(struct arena *arena, const struct credentials *credentials)
{
    return (struct credentials){
        .kind = credentials->kind,
        .secret = arena_dup(arena, credentials->secret),
        .brand = arena_dup(arena, credentials->brand),
    };
}

struct mcp_http_handler *mcp_http_handler_new(struct mcp_server *server, const struct mcp_http_request *http,
                                              const struct mcp_sink *sink, void *transport)
{
    struct arena *arena = arena_new(0);
    struct mcp_http_handler *exchange = arena_alloc(arena, sizeof(*exchange));
    exchange->server = server;
    exchange->sink = sink;
    exchange->transport = transport;
    exchange->arena = arena;
    exchange->accepts_json = http->accepts_json;
    exchange->accepts_stream = http->accepts_event_stream;
    exchange->credentials = copy_credentials(arena, &http->credentials);
    exchange->answer.http_status = 200;
    atomic_init(&exchange->holds, 2); /* the transport's and the work's */
    buf_init(&exchange->out, MCP_ANSWER_MAX_BYTES);
    init_locks(exchange);

    struct mcp_headers headers = { .get = http->header, .headers = http->headers };
    if (atomic_load(&server->stopping))
        refuse(exchange, 503, NULL, RPC_SERVER_ERROR, "The server is shutting down.");
    else if (http->method == MCP_HTTP_POST)
        read_post(exchange, http, &headers);
    else
        read_bodiless(exchange, http->method == MCP_HTTP_GET ? MCP_STREAM : MCP_SESSION_DELETE, &headers);

    const struct mcp_request *request = exchange->request;
    bool deferred = (request != NULL && request->deferred) || (exchange->batch != NULL && mcp_batch_is_deferred(exchange->batch));
    /* An answer that must be a stream takes the long way even when it stands already. */
    bool has_answer = exchange->batch != NULL || (request != NULL && request->id != NULL);
    exchange->immediate = !deferred && (exchange->accepts_json || !has_answer);
    if (!exchange->immediate)
        register_deferred(exchange);
    return exchange;
}

bool mcp_http_handler_is_immediate(const struct mcp_http_handler *exchange)
{
    return exchange->immediate;
}

void mcp_http_handler_run(struct mcp_http_handler *exchange)
{
    if (exchange->request != NULL)
        mcp_run(exchange->request);
    else if (exchange->batch != NULL)
        mcp_batch_run(exchange->batch);
    else
        deliver(exchange);
}

/* ---- Ending ---- */

static void stop_request(struct mcp_http_handler *exchange)
{
    struct mcp_request *request = exchange->request;
    if (request == NULL || !request->deferred)
        return;
    pthread_mutex_lock(request->guard);
    bool deliver_now = mcp_stop_guarded(request);
    pthread_mutex_unlock(request->guard);
    if (deliver_now)
        mcp_deliver(request);
}

void mcp_http_handler_release(struct mcp_http_handler *exchange)
{
    if (!exchange->immediate) {
        pthread_mutex_lock(&exchange->lock);
        exchange->released = true;
        pthread_cond_broadcast(&exchange->calm);
        while (exchange->busy && !pthread_equal(exchange->busy_thread, pthread_self()))
            pthread_cond_wait(&exchange->calm, &exchange->lock);
        bool gone = !exchange->finished;
        pthread_mutex_unlock(&exchange->lock);
        if (exchange->session != NULL)
            mcp_stream_detach(exchange->session, exchange);
        const struct mcp_request *request = exchange->request;
        bool stop = request != NULL && (mcp_is_lasting(request) || (gone && request->era == MCP_MODERN));
        if (stop)
            stop_request(exchange);
    }
    mcp_http_handler_drop(exchange);
}

/* The next deferred exchange that is still to be looked at, held: `due` decides and marks it. */
static struct mcp_http_handler *next_deferred(struct mcp_server *server, bool (*due)(struct mcp_http_handler *exchange))
{
    pthread_mutex_lock(&server->lock);
    struct mcp_http_handler *exchange = server->deferred;
    while (exchange != NULL && !due(exchange))
        exchange = exchange->older;
    if (exchange != NULL)
        mcp_http_handler_hold(exchange);
    pthread_mutex_unlock(&server->lock);
    return exchange;
}

static bool due_to_stop(struct mcp_http_handler *exchange)
{
    bool due = !exchange->stopping && exchange->request != NULL && mcp_is_lasting(exchange->request);
    exchange->stopping = true;
    return due;
}

void mcp_server_stop(struct mcp_server *server)
{
    atomic_store(&server->stopping, true);
    struct mcp_http_handler *exchange;
    while ((exchange = next_deferred(server, due_to_stop)) != NULL) {
        stop_request(exchange);
        mcp_http_handler_drop(exchange);
    }
}

static bool due_to_keep_alive(struct mcp_http_handler *exchange)
{
    int64_t now_us = clock_monotonic_us();
    bool due = now_us - exchange->kept_alive_us >= KEEP_ALIVE_S * US_PER_S;
    if (due)
        exchange->kept_alive_us = now_us;
    return due;
}

void mcp_http_handlers_keep_alive(struct mcp_server *server)
{
    static const char comment[] = ": still here\n\n";
    struct mcp_http_handler *exchange;
    while ((exchange = next_deferred(server, due_to_keep_alive)) != NULL) {
        if (sink_enter(exchange)) {
            pthread_mutex_lock(&exchange->lock);
            bool streaming = exchange->streaming;
            pthread_mutex_unlock(&exchange->lock);
            if (streaming && !exchange->deaf)
                exchange->deaf = !exchange->sink->stream_bytes(exchange->transport, comment, sizeof(comment) - 1);
            sink_leave(exchange);
        }
        mcp_http_handler_drop(exchange);
    }
}
