/*
 * Resumable event streams (2025-11-25, "Resumability and Redelivery"): the
 * messages of one request of a session, numbered and kept for a while. A client
 * that lost its connection reconnects with Last-Event-ID and misses nothing.
 * Bounded in bytes, for each stream and each organization; dropped events cannot be
 * resumed. An event that a handler waits for is dropped after it was sent.
 *
 * A stream belongs to its session and is guarded by the peer's lock. One
 * handler at a time is attached to it. Events are sent without the lock, in
 * order, by one thread at a time.
 */
#pragma once

#include "mcp/session.h"

struct mcp_http_handler;

/* Creates a stream with its priming event, an id without data. NULL when there are too many. */
struct mcp_stream *mcp_stream_new(struct mcp_session *session) NONNULL(1);

/* Appends a message, and sends it when a handler is attached. */
void mcp_stream_append(struct mcp_session *session, struct mcp_stream *stream, const char *message, size_t size) NONNULL(1, 2);

/* Closes the stream: the attached handler ends once it has sent all events. */
void mcp_stream_close(struct mcp_session *session, struct mcp_stream *stream) NONNULL(1, 2);

/* Attaches a handler with an open stream: it gets all events after `event`, now and later. */
void mcp_stream_attach(struct mcp_session *session, struct mcp_stream *stream, uint64_t event, struct mcp_http_handler *handler)
    NONNULL(1, 2, 4);

/* Detaches a handler that ends. The stream that it was attached to, if any, continues. */
void mcp_stream_detach(struct mcp_session *session, struct mcp_http_handler *handler) NONNULL(1, 2);

/* Finds the stream of a Last-Event-ID, when all later events are still kept. Under the peer's lock. */
struct mcp_stream *mcp_stream_find(struct mcp_session *session, const char *event_id, uint64_t *ret_event) NONNULL(1, 2, 3);

/* Frees the streams that were closed before `before_us`; all of them when it is INT64_MAX. */
void mcp_stream_sweep(struct mcp_session *session, int64_t before_us) NONNULL(1);

/* A message as an event of a stream without ids. */
void mcp_event_write(struct buf *out, const char *message, size_t size) NONNULL(1, 2);
