/*
 * HTTP handler, private part: shared by http_handler.c, which owns the life of
 * a request, and http_read.c, which reads the request.
 */
#pragma once

#include "mcp/batch.h"
#include "mcp/http_handler.h"

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
    struct arena *message_arena; /* holds the tree of the message until the work has ended, then NULL */
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

/* Sends the messages and the answer of a single request. */
extern const struct mcp_response_writer http_response_writer;

/* Sends the messages and the answer of a batch. */
extern const struct mcp_batch_callbacks http_batch_callbacks;

/* Fills in the caller, the session and the guard of a request. `data` is the handler. */
void http_fill_request(void *data, struct mcp_request *request) NONNULL(1, 2);

/* Reads the request. Sets the handler's request or batch, or writes a refusal into its answer. */
void http_read_request(struct mcp_http_handler *handler, const struct mcp_http_request *http) NONNULL(1, 2);
