#include "mcp/stream.h"

#include "base/clock.h"
#include "base/panic.h"
#include "base/text.h"
#include "mcp/http_handler.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    STREAM_MAX_BYTES = 1024 * 1024,
    ALL_STREAMS_MAX_BYTES = 64 * 1024 * 1024,
};

struct event {
    uint64_t number;
    struct event *next;
    size_t size;
    char bytes[]; /* in wire format */
};

struct mcp_stream {
    uint64_t number;
    struct event *first;
    struct event *last;
    size_t bytes;
    uint64_t last_number;
    struct mcp_http_handler *attached; /* held */
    uint64_t sent;                     /* the last event sent to `attached` */
    bool is_sending;                   /* a thread is sending */
    bool closed;
    int64_t closed_us;
    struct mcp_stream *next;
};

void mcp_event_write(struct buf *out, const char *message, size_t size)
{
    buf_add_text(out, "event: message\ndata: ");
    buf_add(out, message, size);
    buf_add_text(out, "\n\n");
}

static void drop_first(struct mcp_server *server, struct mcp_stream *stream)
{
    struct event *event = stream->first;
    stream->first = event->next;
    stream->bytes -= event->size;
    atomic_fetch_sub(&server->stream_bytes, event->size);
    free(event);
}

static void stream_free(struct mcp_server *server, struct mcp_stream *stream)
{
    while (stream->first != NULL)
        drop_first(server, stream);
    free(stream);
}

/* Sends the remaining events to the attached handler, and ends it after the last event. Under the lock, which is released while
 * sending. */
static void send_events(struct mcp_session *session, struct mcp_stream *stream)
{
    if (stream->is_sending)
        return;
    stream->is_sending = true;
    while (stream->attached != NULL) {
        struct event *event = stream->first;
        while (event != NULL && event->number <= stream->sent)
            event = event->next;
        if (event == NULL && !stream->closed)
            break;
        struct mcp_http_handler *handler = stream->attached;
        if (event != NULL) {
            mcp_http_handler_ref(handler);
            stream->sent = event->number;
        } else {
            stream->attached = NULL; /* its reference is released below */
        }
        pthread_mutex_unlock(&session->peer.lock);
        if (event != NULL)
            mcp_http_handler_send_bytes(handler, event->bytes, event->size);
        else
            mcp_http_handler_end_stream(handler);
        mcp_http_handler_unref(handler);
        pthread_mutex_lock(&session->peer.lock);
    }
    stream->is_sending = false;
}

/* Drops old events first, but never the one that is being sent. */
static void bound_bytes(struct mcp_server *server, struct mcp_stream *stream)
{
    while (stream->bytes > STREAM_MAX_BYTES && stream->first != stream->last) {
        if (stream->is_sending && stream->first->number == stream->sent)
            return;
        drop_first(server, stream);
    }
}

/* Numbers start at 1, the priming event. */
static void add_event(struct mcp_server *server, struct mcp_stream *stream, const struct buf *frame)
{
    struct event *event = malloc(sizeof(*event) + frame->size);
    if (event == NULL)
        panic(PANIC_NO_MEMORY);
    *event = (struct event){ .number = stream->last_number, .size = frame->size };
    memcpy(event->bytes, frame->data, frame->size);
    if (stream->last != NULL)
        stream->last->next = event;
    else
        stream->first = event;
    stream->last = event;
    stream->bytes += event->size;
    atomic_fetch_add(&server->stream_bytes, event->size);
    bound_bytes(server, stream);
}

struct mcp_stream *mcp_stream_new(struct mcp_session *session)
{
    pthread_mutex_lock(&session->peer.lock);
    bool full = atomic_load(&session->peer.server->stream_bytes) > ALL_STREAMS_MAX_BYTES;
    if (full || session->stream_count >= MCP_SESSION_MAX_STREAMS) {
        pthread_mutex_unlock(&session->peer.lock);
        return NULL;
    }
    struct mcp_stream *stream = calloc(1, sizeof(*stream));
    if (stream == NULL)
        panic(PANIC_NO_MEMORY);
    stream->number = ++session->last_stream_number;
    stream->next = session->streams;
    session->streams = stream;
    session->stream_count++;

    BUF_SCOPE frame;
    buf_init(&frame, 256);
    stream->last_number = 1;
    buf_printf(&frame, "id: %" PRIu64 "-1\ndata: \n\n", stream->number);
    add_event(session->peer.server, stream, &frame);
    pthread_mutex_unlock(&session->peer.lock);
    return stream;
}

void mcp_stream_append(struct mcp_session *session, struct mcp_stream *stream, const char *message, size_t size)
{
    BUF_SCOPE frame;
    buf_init(&frame, MCP_ANSWER_MAX_BYTES);
    pthread_mutex_lock(&session->peer.lock);
    stream->last_number++;
    buf_printf(&frame, "id: %" PRIu64 "-%" PRIu64 "\n", stream->number, stream->last_number);
    mcp_event_write(&frame, message, size);
    if (!frame.overflowed)
        add_event(session->peer.server, stream, &frame);
    send_events(session, stream);
    pthread_mutex_unlock(&session->peer.lock);
}

void mcp_stream_close(struct mcp_session *session, struct mcp_stream *stream)
{
    pthread_mutex_lock(&session->peer.lock);
    stream->closed = true;
    stream->closed_us = clock_monotonic_us();
    send_events(session, stream);
    pthread_mutex_unlock(&session->peer.lock);
}

void mcp_stream_attach(struct mcp_session *session, struct mcp_stream *stream, uint64_t event, struct mcp_http_handler *handler)
{
    pthread_mutex_lock(&session->peer.lock);
    struct mcp_http_handler *before = stream->attached;
    mcp_http_handler_ref(handler);
    stream->attached = handler;
    stream->sent = event;
    send_events(session, stream);
    pthread_mutex_unlock(&session->peer.lock);
    if (before != NULL) {
        mcp_http_handler_end_stream(before);
        mcp_http_handler_unref(before);
    }
}

void mcp_stream_detach(struct mcp_session *session, struct mcp_http_handler *handler)
{
    pthread_mutex_lock(&session->peer.lock);
    struct mcp_stream *stream = session->streams;
    while (stream != NULL && stream->attached != handler)
        stream = stream->next;
    if (stream != NULL)
        stream->attached = NULL;
    pthread_mutex_unlock(&session->peer.lock);
    if (stream != NULL)
        mcp_http_handler_unref(handler);
}

struct mcp_stream *mcp_stream_find(struct mcp_session *session, const char *event_id, uint64_t *ret_event)
{
    const char *dash = strchr(event_id, '-');
    int64_t number = 0;
    int64_t event = 0;
    char stream_text[24] = "";
    size_t size = dash != NULL ? (size_t)(dash - event_id) : 0;
    if (size == 0 || size >= sizeof(stream_text))
        return NULL;
    memcpy(stream_text, event_id, size);
    if (!int64_parse(stream_text, &number) || !int64_parse(dash + 1, &event) || event < 0)
        return NULL;
    struct mcp_stream *stream = session->streams;
    while (stream != NULL && stream->number != (uint64_t)number)
        stream = stream->next;
    bool complete = stream != NULL && (uint64_t)event <= stream->last_number && stream->first->number <= (uint64_t)event + 1;
    *ret_event = (uint64_t)event;
    return complete ? stream : NULL;
}

void mcp_stream_sweep(struct mcp_session *session, int64_t before_us)
{
    pthread_mutex_lock(&session->peer.lock);
    for (struct mcp_stream **link = &session->streams; *link != NULL;) {
        struct mcp_stream *stream = *link;
        bool over = stream->closed && stream->attached == NULL && !stream->is_sending && stream->closed_us < before_us;
        if (!over) {
            link = &stream->next;
            continue;
        }
        *link = stream->next;
        session->stream_count--;
        stream_free(session->peer.server, stream);
    }
    pthread_mutex_unlock(&session->peer.lock);
}
