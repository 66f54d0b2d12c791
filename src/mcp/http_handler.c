#include "mcp/http_handler.h"

#include "base/clock.h"
#include "base/json_read.h"
#include "mcp/batch.h"
#include "mcp/stream.h"

#include <stdatomic.h>
#include <string.h>

enum { KEEP_ALIVE_S = 15 };

/*
 * HTTP handler: one request of the MCP endpoint. Its transport holds a reference
 * until it releases the handler, and its work holds one until it finishes. The
 * last release frees the handler and its answer.
 */
struct mcp_http_handler {
    struct mcp_server *server;
    const struct mcp_sink *sink;
    void *transport;
    struct arena *arena;
    _Atomic unsigned references;
    bool immediate;
    bool accepts_json;
    bool accepts_stream;
    struct credentials credentials;
    struct mcp_session *session;     /* with a reference; NULL without one */
    struct mcp_session *new_session; /* with a reference; created by initialize */
    struct mcp_request *request;     /* the work: a request or a batch, or neither when refused */
    struct mcp_batch *batch;
    const char *last_event_id;      /* GET */
    pthread_mutex_t guard;          /* the guard of a request without a session */
    struct mcp_http_handler *newer; /* link in the server's list of deferred handlers; the server's lock guards it and the next 3 */
    struct mcp_http_handler *older;
    bool stopping;
    int64_t kept_alive_us;

    pthread_mutex_t lock; /* guards the members below; a leaf lock */
    pthread_cond_t sink_idle;
    bool busy; /* a sink function is running, on busy_thread */
    pthread_t busy_thread;
    bool released;
    bool finished;
    bool streaming;
    bool sink_is_closed;       /* the sink accepts no more bytes */
    struct mcp_stream *stream; /* keeps the answer for resumption; used by the working thread only */

    struct buf out;
    struct mcp_answer answer;
};

/* ---- References ---- */

void mcp_http_handler_ref(struct mcp_http_handler *handler)
{
    atomic_fetch_add_explicit(&handler->references, 1, memory_order_relaxed);
}

static void register_deferred(struct mcp_http_handler *handler)
{
    struct mcp_server *server = handler->server;
    handler->kept_alive_us = clock_monotonic_us();
    pthread_mutex_lock(&server->lock);
    handler->older = server->deferred;
    if (server->deferred != NULL)
        server->deferred->newer = handler;
    server->deferred = handler;
    pthread_mutex_unlock(&server->lock);
}

static void forget_deferred(struct mcp_server *server, const struct mcp_http_handler *handler)
{
    pthread_mutex_lock(&server->lock);
    *(handler->newer != NULL ? &handler->newer->older : &server->deferred) = handler->older;
    if (handler->older != NULL)
        handler->older->newer = handler->newer;
    if (server->deferred == NULL)
        pthread_cond_broadcast(&server->idle);
    pthread_mutex_unlock(&server->lock);
}

void mcp_http_handler_unref(struct mcp_http_handler *handler)
{
    if (atomic_fetch_sub_explicit(&handler->references, 1, memory_order_acq_rel) != 1)
        return;
    struct mcp_server *server = handler->server;
    bool immediate = handler->immediate;
    buf_done(&handler->out);
    mcp_session_release(handler->session);
    mcp_session_release(handler->new_session);
    pthread_mutex_destroy(&handler->guard);
    pthread_mutex_destroy(&handler->lock);
    pthread_cond_destroy(&handler->sink_idle);
    /* The server may be freed as soon as this handler is off its list. */
    if (!immediate)
        forget_deferred(server, handler);
    arena_free(handler->arena);
}

/* ---- The sink ---- */

/* Reserves the sink for this thread. False when the transport has released the handler. */
static bool sink_enter(struct mcp_http_handler *handler)
{
    pthread_mutex_lock(&handler->lock);
    while (handler->busy && !handler->released)
        pthread_cond_wait(&handler->sink_idle, &handler->lock);
    bool open = !handler->released && !handler->finished;
    if (open) {
        handler->busy = true;
        handler->busy_thread = pthread_self();
    }
    pthread_mutex_unlock(&handler->lock);
    return open;
}

static void sink_leave(struct mcp_http_handler *handler)
{
    pthread_mutex_lock(&handler->lock);
    handler->busy = false;
    pthread_cond_broadcast(&handler->sink_idle);
    pthread_mutex_unlock(&handler->lock);
}

/* Called once, by the working thread. */
static void open_stream(struct mcp_http_handler *handler)
{
    bool open = sink_enter(handler);
    if (open)
        handler->sink->stream_open(handler->transport, handler->answer.session_id);
    pthread_mutex_lock(&handler->lock);
    handler->streaming = true;
    pthread_mutex_unlock(&handler->lock);
    if (open)
        sink_leave(handler);
}

void mcp_http_handler_send_bytes(struct mcp_http_handler *handler, const char *bytes, size_t size)
{
    if (!sink_enter(handler))
        return;
    if (!handler->sink_is_closed)
        handler->sink_is_closed = !handler->sink->stream_bytes(handler->transport, bytes, size);
    sink_leave(handler);
}

static void finish_sink(struct mcp_http_handler *handler)
{
    mcp_http_handler_ref(handler);
    if (sink_enter(handler)) {
        handler->finished = true;
        handler->sink->finish(handler->transport, &handler->answer);
        sink_leave(handler);
    }
    mcp_http_handler_unref(handler);
}

void mcp_http_handler_end_stream(struct mcp_http_handler *handler)
{
    finish_sink(handler);
}

/* Sends a message as an event, through the session's resumable stream, or on this connection only. */
static void send_event(struct mcp_http_handler *handler, const char *message, size_t size)
{
    if (handler->stream != NULL) {
        mcp_stream_append(handler->session, handler->stream, message, size);
        return;
    }
    BUF_SCOPE event;
    buf_init(&event, MCP_ANSWER_MAX_BYTES);
    mcp_event_write(&event, message, size);
    if (!event.overflowed)
        mcp_http_handler_send_bytes(handler, event.data, event.size);
}

/* Turns the answer into an event stream. It is resumable when the client's version supports that (2025-11-25). */
static void begin_stream(struct mcp_http_handler *handler)
{
    if (handler->streaming)
        return;
    open_stream(handler);
    bool resumable = handler->session != NULL && handler->session->peer.version != NULL &&
                     strcmp(handler->session->peer.version, MCP_LATEST_LEGACY_VERSION) == 0;
    if (resumable)
        handler->stream = mcp_stream_new(handler->session);
    if (handler->stream != NULL)
        mcp_stream_attach(handler->session, handler->stream, 0, handler);
}

/* An immediate handler sends no messages before its answer: its transport expects a single answer. */
static void send_message(struct mcp_http_handler *handler, const char *message, size_t size)
{
    if (handler->immediate || !handler->accepts_stream)
        return;
    begin_stream(handler);
    send_event(handler, message, size);
}

/* Delivers the answer in handler->out. Drops the work's reference. */
static void deliver_answer(struct mcp_http_handler *handler)
{
    handler->answer.body = handler->out.size > 0 ? handler->out.data : NULL;
    handler->answer.body_size = handler->out.size;
    if (handler->immediate) {
        handler->finished = true;
        handler->sink->finish(handler->transport, &handler->answer);
        mcp_http_handler_unref(handler);
        return;
    }
    bool ok = handler->answer.http_status == 200;
    if (!handler->streaming && ok && !handler->accepts_json && handler->out.size > 0)
        begin_stream(handler);
    if (handler->streaming && handler->out.size > 0)
        send_event(handler, handler->out.data, handler->out.size);
    if (handler->stream != NULL)
        mcp_stream_close(handler->session, handler->stream);
    else
        finish_sink(handler);
    mcp_http_handler_unref(handler);
}

/* ---- The work's writer ---- */

static void send_http_message(struct mcp_request *request, const char *message, size_t size)
{
    send_message(request->writer_data, message, size);
}

static void on_http_request_completed(struct mcp_request *request)
{
    struct mcp_http_handler *handler = request->writer_data;
    handler->out = request->out;
    buf_init(&request->out, 0);
    handler->answer.http_status = request->http_status;
    handler->answer.session_id = request->session_id;
    handler->answer.retry_after_s = request->retry_after_s;
    if (request->session_id != NULL)
        handler->new_session = (struct mcp_session *)request->peer;
    if (request->is_silenced) {
        /* HTTP needs an answer to every request; the client ignores this one. */
        buf_clear(&handler->out);
        rpc_error(&handler->out, request->id, RPC_SERVER_ERROR, "The request was cancelled.", NULL);
    }
    deliver_answer(handler);
}

static void close_before_answer(struct mcp_request *request, int retry_ms)
{
    struct mcp_http_handler *handler = request->writer_data;
    if (handler->immediate || !handler->accepts_stream)
        return;
    begin_stream(handler);
    if (handler->stream == NULL)
        return; /* the client could not resume */
    char retry[32];
    int size = snprintf(retry, sizeof(retry), "retry: %d\n\n", retry_ms);
    mcp_http_handler_send_bytes(handler, retry, (size_t)size);
    mcp_stream_detach(handler->session, handler);
    finish_sink(handler);
}

static const struct mcp_response_writer handler_writer = {
    .send = send_http_message,
    .complete = on_http_request_completed,
    .hang_up = close_before_answer,
};

static void fill_http_request(void *data, struct mcp_request *request)
{
    struct mcp_http_handler *handler = data;
    request->transport = TRANSPORT_MCP_HTTP;
    request->credentials = handler->credentials;
    request->peer = handler->session != NULL ? &handler->session->peer : NULL;
    request->guard = handler->session != NULL ? &handler->session->peer.lock : &handler->guard;
}

static void send_http_batch_message(void *data, const char *message, size_t size)
{
    send_message(data, message, size);
}

static void on_http_batch_completed(void *data, struct buf *out)
{
    struct mcp_http_handler *handler = data;
    handler->out = *out;
    buf_init(out, 0);
    handler->answer.http_status = handler->out.size > 0 ? 200 : 202;
    deliver_answer(handler);
}

/* ---- GET: a stream of its own, or the rest of an interrupted one ---- */

static void send_http_change(void *data, const char *message, size_t size)
{
    struct mcp_request *request = data;
    send_event(request->writer_data, message, size);
}

void mcp_stream_serve(struct mcp_request *request)
{
    struct mcp_http_handler *handler = request->writer_data;
    struct mcp_session *session = handler->session;
    if (handler->last_event_id == NULL) {
        static const struct mcp_interests all = { .tools = true, .prompts = true, .resources = true };
        open_stream(handler);
        handler->streaming = true;
        request->listener = mcp_listener_open(request->server, &all, &session->peer, NULL, send_http_change, request);
        return;
    }
    uint64_t event = 0;
    struct mcp_stream *stream = mcp_stream_find(session, handler->last_event_id, &event);
    if (stream == NULL) {
        mcp_refuse(request, RPC_INVALID_REQUEST, NULL, "There is nothing to resume after this Last-Event-ID.");
        return;
    }
    open_stream(handler);
    mcp_stream_attach(session, stream, event, handler);
}

/* ---- Reading a request ---- */

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
    fill_http_request(handler, request);
    request->writer = &handler_writer;
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
    static const struct mcp_batch_callbacks callbacks = { .fill = fill_http_request,
                                                          .send = send_http_batch_message,
                                                          .on_completed = on_http_batch_completed };
    size_t count = json_array_size(messages);
    if (!find_session(handler, headers, NULL))
        return;
    const char *version = handler->session->peer.version;
    if (version == NULL || strcmp(version, MCP_BATCH_VERSION) != 0 || count == 0 || count > MCP_BATCH_MAX_MESSAGES) {
        refuse_http(handler, 400, NULL, RPC_INVALID_REQUEST,
                    "A batch needs version " MCP_BATCH_VERSION " and must have 1 to 64 messages.");
        return;
    }
    handler->batch = mcp_batch_new(handler->server, handler->arena, messages, &callbacks, handler);
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
    if (!json_read(handler->arena, http->body, http->body_size, bounds, &json, &err))
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

static void init_locks(struct mcp_http_handler *handler)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&handler->guard, &attributes);
    pthread_mutexattr_destroy(&attributes);
    pthread_mutex_init(&handler->lock, NULL);
    pthread_cond_init(&handler->sink_idle, NULL);
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
    struct mcp_http_handler *handler = arena_alloc(arena, sizeof(*handler));
    handler->server = server;
    handler->sink = sink;
    handler->transport = transport;
    handler->arena = arena;
    handler->accepts_json = http->accepts_json;
    handler->accepts_stream = http->accepts_event_stream;
    handler->credentials = copy_credentials(arena, &http->credentials);
    handler->answer.http_status = 200;
    atomic_init(&handler->references, 2); /* the transport holds one reference, the work the other */
    buf_init(&handler->out, MCP_ANSWER_MAX_BYTES);
    init_locks(handler);

    struct mcp_headers headers = { .get = http->header, .headers = http->headers };
    if (atomic_load(&server->stopping))
        refuse_http(handler, 503, NULL, RPC_SERVER_ERROR, "The server is shutting down.");
    else if (http->method == MCP_HTTP_POST)
        read_post(handler, http, &headers);
    else
        read_bodiless(handler, http->method == MCP_HTTP_GET ? MCP_STREAM : MCP_SESSION_DELETE, &headers);

    const struct mcp_request *request = handler->request;
    bool deferred = (request != NULL && request->deferred) || (handler->batch != NULL && mcp_batch_is_deferred(handler->batch));
    /* An answer that must be an event stream is deferred even when it exists already. */
    bool has_answer = handler->batch != NULL || (request != NULL && request->id != NULL);
    handler->immediate = !deferred && (handler->accepts_json || !has_answer);
    if (!handler->immediate)
        register_deferred(handler);
    return handler;
}

bool mcp_http_handler_is_immediate(const struct mcp_http_handler *handler)
{
    return handler->immediate;
}

void mcp_http_handler_run(struct mcp_http_handler *handler)
{
    if (handler->request != NULL)
        mcp_run(handler->request);
    else if (handler->batch != NULL)
        mcp_batch_run(handler->batch);
    else
        deliver_answer(handler);
}

/* ---- Ending ---- */

static void stop_request(struct mcp_http_handler *handler)
{
    struct mcp_request *request = handler->request;
    if (request == NULL || !request->deferred)
        return;
    pthread_mutex_lock(request->guard);
    bool deliver_now = mcp_stop_guarded(request);
    pthread_mutex_unlock(request->guard);
    if (deliver_now)
        mcp_deliver(request);
}

void mcp_http_handler_release(struct mcp_http_handler *handler)
{
    if (!handler->immediate) {
        pthread_mutex_lock(&handler->lock);
        handler->released = true;
        pthread_cond_broadcast(&handler->sink_idle);
        while (handler->busy && !pthread_equal(handler->busy_thread, pthread_self()))
            pthread_cond_wait(&handler->sink_idle, &handler->lock);
        bool gone = !handler->finished;
        pthread_mutex_unlock(&handler->lock);
        if (handler->session != NULL)
            mcp_stream_detach(handler->session, handler);
        const struct mcp_request *request = handler->request;
        bool stop = request != NULL && (mcp_is_lasting(request) || (gone && request->era == MCP_MODERN));
        if (stop)
            stop_request(handler);
    }
    mcp_http_handler_unref(handler);
}

/* Finds the next deferred handler that `due` selects and marks; returns it with a reference. */
static struct mcp_http_handler *next_deferred(struct mcp_server *server, bool (*due)(struct mcp_http_handler *handler))
{
    pthread_mutex_lock(&server->lock);
    struct mcp_http_handler *handler = server->deferred;
    while (handler != NULL && !due(handler))
        handler = handler->older;
    if (handler != NULL)
        mcp_http_handler_ref(handler);
    pthread_mutex_unlock(&server->lock);
    return handler;
}

static bool due_to_stop(struct mcp_http_handler *handler)
{
    bool due = !handler->stopping && handler->request != NULL && mcp_is_lasting(handler->request);
    handler->stopping = true;
    return due;
}

void mcp_server_stop(struct mcp_server *server)
{
    atomic_store(&server->stopping, true);
    struct mcp_http_handler *handler;
    while ((handler = next_deferred(server, due_to_stop)) != NULL) {
        stop_request(handler);
        mcp_http_handler_unref(handler);
    }
}

static bool due_to_keep_alive(struct mcp_http_handler *handler)
{
    int64_t now_us = clock_monotonic_us();
    bool due = now_us - handler->kept_alive_us >= KEEP_ALIVE_S * US_PER_S;
    if (due)
        handler->kept_alive_us = now_us;
    return due;
}

void mcp_http_handlers_keep_alive(struct mcp_server *server)
{
    static const char comment[] = ": still here\n\n";
    struct mcp_http_handler *handler;
    while ((handler = next_deferred(server, due_to_keep_alive)) != NULL) {
        if (sink_enter(handler)) {
            pthread_mutex_lock(&handler->lock);
            bool streaming = handler->streaming;
            pthread_mutex_unlock(&handler->lock);
            if (streaming && !handler->sink_is_closed)
                handler->sink_is_closed = !handler->sink->stream_bytes(handler->transport, comment, sizeof(comment) - 1);
            sink_leave(handler);
        }
        mcp_http_handler_unref(handler);
    }
}
