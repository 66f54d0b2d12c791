/*
 * Streams of events that outlive their connection (2025-11-25, "Resumability
 * and Redelivery"): the messages of one request of a session, numbered and kept
 * for a while, so that a client which lost its connection comes back with
 * Last-Event-ID and misses nothing. Bounded in bytes; what was dropped cannot
 * be resumed.
 *
 * A stream belongs to its session and is guarded by the peer's lock. One
 * exchange at a time is attached to it; events are sent without the lock, by one
 * thread at a time and in order.
 */
#pragma once

#include "mcp/session.h"

struct mcp_http_handler;

/* A new stream with its priming event, an id without data. NULL when there are too many. */
struct mcp_stream *mcp_stream_new(struct mcp_session *session) NONNULL(1);

/* Appends a message; sends it when somebody is attached. */
void mcp_stream_append(struct mcp_session *session, struct mcp_stream *stream, const char *message, size_t size) NONNULL(1, 2);

/* Nothing more will be appended: the attached exchange ends once it has everything. */
void mcp_stream_close(struct mcp_session *session, struct mcp_stream *stream) NONNULL(1, 2);

/* Sends what comes after `event`, now and from now on, to an exchange whose stream is open. */
void mcp_stream_attach(struct mcp_session *session, struct mcp_stream *stream, uint64_t event, struct mcp_http_handler *exchange)
    NONNULL(1, 2, 4);

/* The exchange is gone; the stream that it was attached to, if any, goes on. */
void mcp_stream_detach(struct mcp_session *session, struct mcp_http_handler *exchange) NONNULL(1, 2);

/* The stream of a Last-Event-ID, when everything after that event is still there. */
struct mcp_stream *mcp_stream_find(struct mcp_session *session, const char *event_id, uint64_t *ret_event) NONNULL(1, 2, 3);

/* Forgets the streams that were closed before `before_us`; all of them when it is INT64_MAX. */
void mcp_stream_sweep(struct mcp_session *session, int64_t before_us) NONNULL(1);

/* A message as an event of a stream without ids. */
void mcp_event_write(struct buf *out, const char *message, size_t size) NONNULL(1, 2);
