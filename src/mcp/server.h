/*
 * MCP server (Model Context Protocol), independent of the transport.
 *
 * A server serves a provider (src/mcp/provider.h) in both eras of the
 * protocol: modern is the stateless 2026-07-28, legacy has the sessions of
 * 2024-11-05 … 2025-11-25. Each request chooses its era. Two transports exist:
 * stdio (mcp_stdio_serve) and Streamable HTTP. The HTTP endpoint in src/http
 * creates a handler for every request of /mcp and implements its sink.
 *
 * The life of a handler:
 *
 *   handler = mcp_http_handler_new(server, &request, &sink, transport)   parses, checks, decides; never blocks
 *   if (!mcp_http_handler_is_immediate(handler)) suspend the connection
 *   mcp_http_handler_run(handler)                                        sink functions are called from here on
 *   …                                    either   sink.finish
 *                                        or       sink.stream_open, sink.stream_bytes …, sink.finish
 *   mcp_http_handler_release(handler)       once; after the answer was sent, or earlier because the client is gone
 *
 * Threads: any thread may create, run and release handlers, several at once.
 * The sink functions of one handler are called one at a time, on any thread.
 * Those of an immediate handler are called on the thread of
 * mcp_http_handler_run, before it returns. mcp_http_handler_release waits for a
 * sink function that runs on another thread, so the caller must not hold a lock
 * that a sink function takes. It may be called from inside finish.
 *
 * Ownership: the request is borrowed until mcp_http_handler_new returns; its
 * message_arena passes to the handler. The answer given to finish belongs to
 * the handler until it is released, so the body can be sent without a copy. The
 * bytes given to stream_bytes are valid during the call only. The server must
 * outlive its handlers.
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
    size_t message_max_bytes;   /* of one message; 0: 8 MiB. Tools may have lower bounds */
    unsigned session_max_count; /* HTTP sessions at a time; beyond it, one is evicted; 0: 4,096 */
    int64_t session_idle_us;    /* HTTP sessions without a request or stream end after this; 0: 30 minutes */
    int64_t drain_us;           /* stdio: time for running calls after the end of input; 0: 5 seconds */
};

/* Builds the answers that are constant. The provider must outlive the server. No other side effects. */
struct mcp_server *mcp_server_new(const struct mcp_provider *provider, const struct mcp_config *config)
    NONNULL(1, 2) RETURNS_NONNULL;

/* Refuses new requests and ends every open stream with finish. Running calls finish as usual. */
void mcp_server_stop(struct mcp_server *server) NONNULL(1);

/* Waits for released handlers that still work. NULL is allowed. */
void mcp_server_free(struct mcp_server *server);

/* Housekeeping, about once a second: ends idle sessions, ends requests that clients do not answer, and sends comments through
 * open streams so that proxies keep them. */
void mcp_server_tick(struct mcp_server *server) NONNULL(1);

/* The largest message that any tool accepts; the transport answers 413 to a larger one. */
size_t mcp_server_message_max_bytes(const struct mcp_server *server) NONNULL(1) PURE;

/* ---- HTTP handlers ---- */

enum mcp_http_method { MCP_HTTP_POST, MCP_HTTP_GET, MCP_HTTP_DELETE };

/* One HTTP request of the endpoint. The transport has checked Host, Origin, the size and (POST) the media type. */
struct mcp_http_request {
    enum mcp_http_method method;
    struct arena *message_arena; /* for the tree of the body; passes to the handler, which frees it before it gives the answer */
    const char *body;            /* POST only */
    size_t body_size;
    /* Claims memory for the tree of the body, as in struct json_bounds; NULL: not wanted. */
    bool (*claim_tree)(void *context, size_t tree_bytes, struct error *err);
    void *claim_context;
    bool accepts_json;         /* Accept allows application/json, or a wildcard of it */
    bool accepts_event_stream; /* Accept allows text/event-stream, or a wildcard of it */
    struct credentials credentials;

    /* Returns the value of a header by its name, in any case; NULL when absent. Used for MCP-Protocol-Version, Mcp-Method, Mcp-
     * Name, Mcp-Param-…, Mcp-Session-Id, Last-Event-ID. */
    const char *(*header)(const void *headers, const char *name);
    const void *headers;
};

/* The complete answer, or the end of a stream. */
struct mcp_answer {
    int http_status;  /* 200, 202, 204, 400, 401, 404, 405, 406, 503 …; ignored after stream_open */
    const char *body; /* application/json; NULL: no body */
    size_t body_size;
    const char *session_id; /* Mcp-Session-Id to send, NULL when none */
    int64_t retry_after_s;  /* Retry-After, 0 when none */
    size_t held_bytes;      /* about the memory that the handler holds until it is released */
};
/* The transport itself adds WWW-Authenticate: Bearer to a 401, and Allow to a 405. */

struct mcp_sink {
    /* Turns the answer into an event stream (200, text/event-stream, no caching, X-Accel-Buffering: no). `session_id` as in
     * struct mcp_answer. */
    void (*stream_open)(void *transport, const char *session_id);

    /* Sends complete events in wire format. False: the client reads too slowly or has disconnected; send no more. */
    bool (*stream_bytes)(void *transport, const char *bytes, size_t size);

    /* The end. Called exactly once, unless the handler was released before. */
    void (*finish)(void *transport, const struct mcp_answer *answer);
};

/* Reads and checks one request, on any thread. Parsing a large body takes long. Never fails: a refused request is a handler with an
 * answer. `sink` is static. */
struct mcp_http_handler *mcp_http_handler_new(struct mcp_server *server, const struct mcp_http_request *request,
                                              const struct mcp_sink *sink, void *transport) NONNULL(1, 2, 3) RETURNS_NONNULL;

/* True when mcp_http_handler_run calls only finish, before it returns. Then the transport suspends nothing. */
bool mcp_http_handler_is_immediate(const struct mcp_http_handler *handler) NONNULL(1) PURE;

/* Starts the work. Call it exactly once, before the handler is released. */
void mcp_http_handler_run(struct mcp_http_handler *handler) NONNULL(1);

/* Releases the handler: no sink function runs once this returns. Before finish it means that the client has disconnected; this
 * cancels the call in the modern era, not in the legacy era. Frees the answer. */
void mcp_http_handler_release(struct mcp_http_handler *handler) NONNULL(1);

/* States that the server, not the client, ends the handler: its call counts as failed. Call it before the release. */
void mcp_http_handler_give_up(struct mcp_http_handler *handler) NONNULL(1);

/* ---- For refusals by the transport ---- */

/* Writes a JSON-RPC error without an id, for refusals before a handler exists (403, 405, 413, 415). */
void mcp_write_refusal(struct buf *out, int rpc_code, const char *message) NONNULL(1, 3);

/* The same for an error of the service (401, 503); its envelope is the data. */
void mcp_write_error(struct buf *out, const struct error *err) NONNULL(1, 2);

/* ---- Stdio ---- */

/* Serves one client until end of input, then lets running calls finish, for at most a second. `in_fd` and `out_fd` stay open. The
 * caller has moved the protocol away from fd 1 (mcp_stdio_claim). */
void mcp_stdio_serve(struct mcp_server *server, const struct credentials *credentials, int in_fd, int out_fd) NONNULL(1, 2);

/* Duplicates fd 1 for the protocol and points fd 1 at stderr, so that a stray print cannot corrupt the protocol. Ignores SIGPIPE.
 */
MUST_CHECK bool mcp_stdio_claim(int *ret_out_fd, struct error *err) NONNULL(1, 2);
