#include "mcp/stream.h"

#include "base/clock.h"
#include "base/panic.h"
#include "base/text.h"
#include "mcp/http_handler.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { STREAM_MAX_BYTES = 1024 * 1024 };

struct event {
    uint64_t number;
    struct event *next;
    size_t size;
    char bytes[]; /* in wire format */
};

struct mcp_stream {
    uint64_t number;
    struct event *first; /* NULL: all events were dropped */
    struct event *last;
    size_t bytes;
    uint64_t last_number;
    struct mcp_http_handler *attached; /* held */
    uint64_t sent;                     /* the last event sent to `attached` */
    bool is_sending;                   /* a thread is sending */
    const struct event *in_transit;    /* of that thread, which has released the lock */
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

/* ---- The events that are kept ---- */

static struct stream_memory *memory_of(const struct mcp_session *session)
{
    return &session->peer.server->stream_memory;
}

static void drop_first(struct mcp_session *session, struct mcp_stream *stream)
{
    struct event *event = stream->first;
    stream->first = event->next;
    if (stream->first == NULL)
        stream->last = NULL;
    stream->bytes -= event->size;
    stream_memory_remove(memory_of(session), session->organization, event->size);
    free(event);
}

static void stream_free(struct mcp_session *session, struct mcp_stream *stream)
{
    while (stream->first != NULL)
        drop_first(session, stream);
    free(stream);
}

/* The last event stays while the organization is within its share, so that a large answer can be resumed. */
static bool keeps_too_much(const struct mcp_session *session, const struct mcp_stream *stream)
{
    return (stream->bytes > STREAM_MAX_BYTES && stream->first != stream->last) ||
           stream_memory_is_over(memory_of(session), session->organization);
}

/* Whether the first event is still to be sent, or is being sent. */
static bool needs_first(const struct mcp_stream *stream)
{
    return stream->first == stream->in_transit || (stream->attached != NULL && stream->first->number > stream->sent);
}

/* Drops old events first. */
static void drop_excess(struct mcp_session *session, struct mcp_stream *stream)
{
    while (stream->first != NULL && !needs_first(stream) && keeps_too_much(session, stream))
        drop_first(session, stream);
}

/* Numbers start at 1, the priming event. */
static void add_event(struct mcp_session *session, struct mcp_stream *stream, const struct buf *frame)
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
    stream_memory_add(memory_of(session), session->organization, event->size);
}

/* ---- Sending ---- */

static const struct event *next_event(const struct mcp_stream *stream)
{
    const struct event *event = stream->first;
    while (event != NULL && event->number <= stream->sent)
        event = event->next;
    return event;
}

/* Sends the remaining events to the attached handler, and ends it after the last event. Under the lock, which is released while
 * sending. */
static void send_events(struct mcp_session *session, struct mcp_stream *stream)
{
    if (stream->is_sending)
        return;
    stream->is_sending = true;
    while (stream->attached != NULL) {
        const struct event *event = next_event(stream);
        if (event == NULL && !stream->closed)
            break;
        struct mcp_http_handler *handler = stream->attached;
        if (event != NULL) {
            mcp_http_handler_ref(handler);
            stream->sent = event->number;
        } else {
            stream->attached = NULL; /* its reference is released below */
        }
        stream->in_transit = event;
        pthread_mutex_unlock(&session->peer.lock);
        if (event != NULL)
            mcp_http_handler_send_bytes(handler, event->bytes, event->size);
        else
            mcp_http_handler_end_stream(handler);
        mcp_http_handler_unref(handler);
        pthread_mutex_lock(&session->peer.lock);
        stream->in_transit = NULL;
        drop_excess(session, stream);
    }
    stream->is_sending = false;
}

/* ---- Streams ---- */

struct mcp_stream *mcp_stream_new(struct mcp_session *session)
{
    pthread_mutex_lock(&session->peer.lock);
    bool is_full = stream_memory_is_over(memory_of(session), session->organization);
    if (is_full || session->stream_count >= MCP_SESSION_MAX_STREAMS) {
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
    add_event(session, stream, &frame);
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
        add_event(session, stream, &frame);
    send_events(session, stream);
    drop_excess(session, stream);
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
    if (stream != NULL) {
        stream->attached = NULL;
        drop_excess(session, stream);
    }
    pthread_mutex_unlock(&session->peer.lock);
    if (stream != NULL)
        mcp_http_handler_unref(handler);
}

/* ---- Resumption ---- */

/* Reads STREAM-EVENT. */
static bool read_event_id(const char *event_id, uint64_t *ret_stream, uint64_t *ret_event)
{
    const char *dash = strchr(event_id, '-');
    int64_t number = 0;
    int64_t event = 0;
    char stream_text[24] = "";
    size_t size = dash != NULL ? (size_t)(dash - event_id) : 0;
    if (size == 0 || size >= sizeof(stream_text))
        return false;
    memcpy(stream_text, event_id, size);
    if (!int64_parse(stream_text, &number) || !int64_parse(dash + 1, &event) || event < 0)
        return false;
    *ret_stream = (uint64_t)number;
    *ret_event = (uint64_t)event;
    return true;
}

static bool keeps_all_after(const struct mcp_stream *stream, uint64_t event)
{
    return event == stream->last_number ||
           (event < stream->last_number && stream->first != NULL && stream->first->number <= event + 1);
}

struct mcp_stream *mcp_stream_find(struct mcp_session *session, const char *event_id, uint64_t *ret_event)
{
    uint64_t number = 0;
    if (!read_event_id(event_id, &number, ret_event))
        return NULL;
    struct mcp_stream *stream = session->streams;
    while (stream != NULL && stream->number != number)
        stream = stream->next;
    return stream != NULL && keeps_all_after(stream, *ret_event) ? stream : NULL;
}

/* ---- Housekeeping ---- */

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
        stream_free(session, stream);
    }
    pthread_mutex_unlock(&session->peer.lock);
}
