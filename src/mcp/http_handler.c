/*
 * HTTP handler: the life of one request of the MCP endpoint, from its first
 * byte to its answer or stream. http_read.c reads the request.
 */
#include "mcp/http_handler_private.h"

#include "base/clock.h"
#include "mcp/stream.h"

#include <stdatomic.h>
#include <string.h>

enum { KEEP_ALIVE_S = 15 };

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

/* Delivers the answer in handler->out. Drops the work's reference. The message is freed first: a client with an answer may send the
 * next large one. */
static void deliver_answer(struct mcp_http_handler *handler)
{
    arena_free(TAKE_PTR(handler->message_arena));
    handler->answer.body = handler->out.size > 0 ? handler->out.data : NULL;
    handler->answer.body_size = handler->out.size;
    /* The result was written from a reply of about its size, which the arena owns and does not count. */
    handler->answer.held_bytes = arena_used_bytes(handler->arena) + handler->out.capacity + handler->out.size;
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

const struct mcp_response_writer http_response_writer = {
    .send = send_http_message,
    .complete = on_http_request_completed,
    .hang_up = close_before_answer,
};

void http_fill_request(void *data, struct mcp_request *request)
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

const struct mcp_batch_callbacks http_batch_callbacks = {
    .fill = http_fill_request,
    .send = send_http_batch_message,
    .on_completed = on_http_batch_completed,
};

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
    handler->message_arena = http->message_arena;
    handler->accepts_json = http->accepts_json;
    handler->accepts_stream = http->accepts_event_stream;
    handler->credentials = copy_credentials(arena, &http->credentials);
    handler->answer.http_status = 200;
    atomic_init(&handler->references, 2); /* the transport holds one reference, the work the other */
    buf_init(&handler->out, MCP_ANSWER_MAX_BYTES);
    init_locks(handler);

    http_read_request(handler, http);

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

void mcp_http_handler_give_up(struct mcp_http_handler *handler)
{
    if (handler->request != NULL)
        atomic_store(&handler->request->is_given_up, true);
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
