/*
 * The agent protocol (MCP), independent of what carries it.
 *
 * A server joins a provider (what is offered: src/mcp/provider.h) with both
 * eras of the protocol: the stateless one of 2026-07-28 and the sessions of
 * 2024-11-05 … 2025-11-25. The era is chosen by each request. Two transports
 * exist: stdio (mcp_stdio_serve) and Streamable HTTP, whose endpoint in
 * src/http hands every request of /mcp over as an exchange and obeys its sink.
 *
 * The course of an exchange:
 *
 *   exchange = mcp_http_handler_new(server, &request, &sink, transport)   parses, checks, decides; never blocks
 *   if (!mcp_http_handler_is_immediate(exchange)) suspend the connection
 *   mcp_http_handler_run(exchange)                                        sink functions are called from here on
 *   …                                    either   sink.finish
 *                                        or       sink.stream_open, sink.stream_bytes …, sink.finish
 *   mcp_http_handler_release(exchange)       once; after the answer was sent, or earlier because the client is gone
 *
 * Threads: any thread may make, run and release exchanges, also several at
 * once. The sink functions of one exchange are called one at a time, on any
 * thread; those of an immediate exchange on the thread of mcp_http_handler_run,
 * before it returns. mcp_http_handler_release waits for a sink function that runs
 * on another thread, so it is called without any lock that a sink function
 * takes; it may be called from inside finish.
 *
 * Ownership: a request is borrowed until mcp_http_handler_new returns, so the body
 * may be dropped then. What finish is given belongs to the exchange until it is
 * released: the body can be sent without a copy. What stream_bytes is given is
 * valid during the call only. The server outlives its exchanges.
 */
#pragma once

#include "api/call.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mcp_server;
struct mcp_provider;
struct mcp_http_handler;

struct mcp_config {
    size_t message_max_bytes;   /* of one message; 0: 8 MiB. Tools may have lower bounds of their own */
    unsigned session_max_count; /* HTTP sessions at a time, the idlest yields; 0: 4,096 */
    int64_t session_idle_us;    /* HTTP sessions without a request or stream end after this; 0: 30 minutes */
};

/* Builds what is answered from memory. The provider must outlive the server. No other side effects. */
struct mcp_server *mcp_server_new(const struct mcp_provider *provider, const struct mcp_config *config)
    NONNULL(1, 2) RETURNS_NONNULL;

/* Refuses new exchanges and ends every open stream with finish; calls under way go on and finish as usual. */
void mcp_server_stop(struct mcp_server *server) NONNULL(1);

/* Waits for the exchanges that were released while they worked. NULL is allowed. */
void mcp_server_free(struct mcp_server *server);

/* Housekeeping, about once a second: ends idle sessions, gives up on clients that do not answer, and sends comments
 * through open streams so that proxies keep them. */
void mcp_server_tick(struct mcp_server *server) NONNULL(1);

/* The largest message that any tool takes: what the transport may collect before it answers 413. */
size_t mcp_server_message_max_bytes(const struct mcp_server *server) NONNULL(1) PURE;

/* ---- Exchanges ---- */

enum mcp_http_method { MCP_HTTP_POST, MCP_HTTP_GET, MCP_HTTP_DELETE };

/* One HTTP request of the endpoint. The transport has checked Host, Origin, the size and (POST) the media type. */
struct mcp_http_request {
    enum mcp_http_method method;
    const char *body; /* POST only */
    size_t body_size;
    bool accepts_json;         /* Accept names application/json, or a wildcard of it */
    bool accepts_event_stream; /* Accept names text/event-stream, or a wildcard of it */
    struct credentials credentials;

    /* The value of a header by its name, in any case; NULL when absent. Asked for MCP-Protocol-Version, Mcp-Method,
     * Mcp-Name, Mcp-Param-…, Mcp-Session-Id, Last-Event-ID. */
    const char *(*header)(const void *headers, const char *name);
    const void *headers;
};

/* The whole answer, or the end of a stream. */
struct mcp_answer {
    int http_status;  /* 200, 202, 204, 400, 401, 404, 405, 406, 503 …; after stream_open it is of no meaning */
    const char *body; /* application/json; NULL: no body */
    size_t body_size;
    const char *session_id; /* Mcp-Session-Id to be sent, NULL when none */
    int64_t retry_after_s;  /* Retry-After, 0 when none */
};
/* The transport adds by itself: WWW-Authenticate: Bearer to a 401, Allow to a 405. */

struct mcp_sink {
    /* The answer becomes a stream of events (200, text/event-stream, no caching, X-Accel-Buffering: no).
     * `session_id` as in struct mcp_answer. */
    void (*stream_open)(void *transport, const char *session_id);

    /* Whole events in their form on the wire. False: the client reads too slowly or is gone, nothing more is wanted. */
    bool (*stream_bytes)(void *transport, const char *bytes, size_t size);

    /* The end, exactly once unless the exchange was released before. */
    void (*finish)(void *transport, const struct mcp_answer *answer);
};

/* Reads and checks one request. Never fails: a refusal is an exchange whose answer stands. `sink` is static. */
struct mcp_http_handler *mcp_http_handler_new(struct mcp_server *server, const struct mcp_http_request *request,
                                              const struct mcp_sink *sink, void *transport) NONNULL(1, 2, 3) RETURNS_NONNULL;

/* Whether mcp_http_handler_run will call finish before it returns, and nothing else: there is nothing to suspend. */
bool mcp_http_handler_is_immediate(const struct mcp_http_handler *exchange) NONNULL(1) PURE;

/* Starts the work. Called exactly once, and before the exchange is released. */
void mcp_http_handler_run(struct mcp_http_handler *exchange) NONNULL(1);

/* The transport is through with it: no sink function is running or called once this returns. Before finish it means
 * that the client is gone, which cancels the call in the modern era and not in the older one. Frees the answer. */
void mcp_http_handler_release(struct mcp_http_handler *exchange) NONNULL(1);

/* ---- For the transport's own refusals ---- */

/* A JSON-RPC error without an id, for refusals that happen before an exchange exists (403, 405, 413, 415). */
void mcp_write_refusal(struct buf *out, int rpc_code, const char *message) NONNULL(1, 3);

/* ---- Stdio ---- */

/* Serves one client until end of input, then finishes what runs and returns; within a second in any case.
 * `in_fd` and `out_fd` stay open. The caller has moved the protocol away from fd 1 (mcp_stdio_claim). */
void mcp_stdio_serve(struct mcp_server *server, const struct credentials *credentials, int in_fd, int out_fd) NONNULL(1, 2);

/* Duplicates fd 1 for the protocol and points fd 1 at stderr, so that a stray print cannot break it; ignores SIGPIPE. */
MUST_CHECK bool mcp_stdio_claim(int *ret_out_fd, struct error *err) NONNULL(1, 2);
