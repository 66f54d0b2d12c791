/*
 * Exchange: one HTTP request and its response, between libmicrohttpd and an
 * endpoint (REST, /mcp, a fixed document).
 *
 * The endpoint has four steps: `begin` when the headers are complete, `admit`
 * before the body is collected, `run` when the body is complete, `release` when
 * the response has been sent. `admit` may suspend the exchange until it is known
 * whether the body is wanted; until then the client's bytes stay in the socket.
 * `run` answers at once, or suspends the exchange and answers later from any
 * thread. A suspended exchange gets `give_up` when the client disconnects, the
 * time is over or the server stops.
 *
 * The exchange and its arena belong to the connection's thread. While the
 * exchange is suspended or streaming, any thread may call the functions marked
 * "any thread"; its recursive lock orders these calls. The exchange is kept for
 * the next request of the connection, so that a call needs few allocations.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/compiler.h"
#include "http/answer_memory.h"
#include "http/body_memory.h"
#include "http/body_throttle.h"
#include "http/headers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct api;
struct call;
struct connection;
struct http_exchange;
struct http_server;
struct MHD_Connection;
struct sockaddr;

enum give_up_reason {
    GIVE_UP_CLIENT_GONE,
    GIVE_UP_TIMEOUT,
    GIVE_UP_STOPPING, /* the server stops and the grace period is over */
    GIVE_UP_ABANDON,  /* the same, and the call did not end when cancelled: answer now, abandon the call */
};

/* Cancels the call that an exchange waits for: by its caller, or by the server. */
void http_exchange_cancel(struct api *api, struct call *call, enum give_up_reason reason) NONNULL(1, 2);

struct http_endpoint {
    /* The headers are complete. Sets max_body_bytes. */
    void (*begin)(struct http_exchange *exchange);
    /* A body follows that is not too large. Sets drops_body when `run` will refuse the request anyway. May suspend the exchange;
     * http_exchange_continue ends that. NULL: every body is collected. */
    void (*admit)(struct http_exchange *exchange);
    /* The body is complete; or it is dropped and the answer does not wait for its end. Answers now, or suspends the exchange and
     * answers later. */
    void (*run)(struct http_exchange *exchange);
    /* The wait must end. Called on the watch thread or the connection's thread, without the lock; possibly more than once, and
     * after the answer. NULL for an endpoint that never suspends. */
    void (*give_up)(struct http_exchange *exchange, enum give_up_reason reason);
    /* The response was sent or never will be. NULL: nothing to release. */
    void (*release)(struct http_exchange *exchange);
};

enum http_exchange_state {
    HTTP_EXCHANGE_READING,   /* the request arrives */
    HTTP_EXCHANGE_SUSPENDED, /* waiting for a call */
    HTTP_EXCHANGE_ANSWERED,
    HTTP_EXCHANGE_STREAMING, /* the response is an event stream */
};

enum {
    HTTP_EXCHANGE_MAX_HEADERS = 12,
    /* A body of at most this size is collected before its credential is looked up, and is parsed on the connection's thread when
     * the caller is known. */
    HTTP_EXCHANGE_QUICK_BODY_BYTES = 16 * 1024,
    HTTP_EXCHANGE_QUICK_TREE_BYTES = 64 * 1024,   /* of a tree that needs no claim */
    HTTP_EXCHANGE_QUICK_ANSWER_BYTES = 64 * 1024, /* of an answer that is not counted; the connections bound these */
    /* A call with a larger body is slow from its beginning to its end: the database, too, works long on such a body. */
    HTTP_EXCHANGE_QUICK_CALL_BYTES = 256 * 1024,
};

struct http_exchange_header {
    const char *name;
    const char *value; /* lives as long as the response */
};

struct http_exchange {
    struct http_server *server;
    struct connection *connection;
    struct MHD_Connection *mhd;
    struct arena *arena;
    struct arena *call_arena; /* of an abandoned call; NULL: none */
    atomic_uint refs;
    pthread_mutex_t lock;

    /* The request. */
    const struct http_endpoint *endpoint;
    void *endpoint_state;
    const char *method;
    const char *target; /* as sent, percent-encoded, with its query */
    size_t path_size;   /* of target, up to '?' */
    const char *query;  /* behind '?', NULL when none */
    struct header_values headers;
    struct buf body;
    struct body_memory *body_memory; /* a reference */
    struct body_share body_share;    /* the memory of the body and its tree */
    struct body_pause body_pause;    /* while the body is throttled */
    struct error body_refusal;       /* the body was dropped because there was no memory for it */
    size_t max_body_bytes;
    uint64_t body_seen_bytes;
    bool begun;
    bool body_complete;
    bool too_large;
    bool drops_body; /* what arrives of the body is dropped */

    /* The response. Under the lock once suspended. */
    enum http_exchange_state state;
    bool was_suspended; /* since the last call of the handler; the connection's thread only */
    int status;
    const char *answer;
    size_t answer_size;
    int answer_fd; /* the response body is this file, when it is not -1 */
    struct http_exchange_header answer_headers[HTTP_EXCHANGE_MAX_HEADERS];
    unsigned answer_header_count;
    bool closes;                         /* the connection closes after this response */
    struct answer_memory *answer_memory; /* a reference */
    struct answer_share answer_share;    /* what this response holds until it was sent */

    /* The event stream, under the lock. */
    struct buf stream;
    size_t stream_sent;       /* number of its bytes that were sent */
    size_t stream_held_bytes; /* of its buffer, in answer_share */
    bool stream_ended;
    bool stream_parked; /* suspended until there is more data */
};

/* A new exchange with one reference. */
struct http_exchange *http_exchange_new(struct http_server *server) NONNULL(1) RETURNS_NONNULL;
void http_exchange_ref(struct http_exchange *exchange) NONNULL(1);
void http_exchange_unref(struct http_exchange *exchange);

/* True when there is no other reference, so that the exchange may serve the next request. */
bool http_exchange_is_unshared(const struct http_exchange *exchange) NONNULL(1);

/* Resets it for the next request of its connection. */
void http_exchange_reset(struct http_exchange *exchange) NONNULL(1);

/* ---- For endpoints, on the connection's thread ---- */

/* Suspends the connection. From now on any thread may answer. */
void http_exchange_suspend(struct http_exchange *exchange) NONNULL(1);

/* The length of the body that the headers declare; 0 without one or when it comes in chunks. */
uint64_t http_exchange_declared_bytes(const struct http_exchange *exchange) NONNULL(1);

/* True when the body comes in chunks, so that its length is not known. */
bool http_exchange_is_chunked(const struct http_exchange *exchange) NONNULL(1);

/* The peer's address; NULL when unknown. */
const struct sockaddr *http_exchange_peer(const struct http_exchange *exchange) NONNULL(1);

/* ---- For endpoints, any thread ---- */

/* Adds a header to the response; both texts must live as long as the response. Call it before http_exchange_answer or
 * http_exchange_stream. */
void http_exchange_add_header(struct http_exchange *exchange, const char *name, const char *value) NONNULL(1, 2, 3);

/* Claims memory for the JSON tree of the body; context is the exchange (struct json_bounds). */
bool http_exchange_claim_tree(void *exchange, size_t tree_bytes, struct error *err) NONNULL(1, 3);

/* Claims the memory for the body that follows. Without memory the body is dropped, and body_refusal says why. */
void http_exchange_claim_body(struct http_exchange *exchange) NONNULL(1);

/* Under the lock: leaves the arena to a call that does not end, with a reference that its completion drops. The answer is written
 * into a new arena, because the call may still allocate on its thread. */
void http_exchange_abandon(struct http_exchange *exchange) NONNULL(1);

/* True when the organization, or with 0 the unknown caller, has room for one more answer. Call it before the work of the
 * request. Errors: SERVICE_UNAVAILABLE. */
MUST_CHECK bool http_exchange_has_room(struct http_exchange *exchange, int64_t organization_id, struct error *err) NONNULL(1, 3);

/* Counts memory that the response holds until it was sent, besides the arena. Little memory is not counted. */
void http_exchange_hold(struct http_exchange *exchange, size_t bytes) NONNULL(1);

/* Ends the suspension by `admit`: the body is read now. */
void http_exchange_continue(struct http_exchange *exchange) NONNULL(1);

/* Sends the whole response and ends the suspension. The bytes must live until `release`. False: it was answered already. */
bool http_exchange_answer(struct http_exchange *exchange, int status, const char *content_type, const char *bytes, size_t size)
    NONNULL(1);

/* Sends a 200 response with the first `size` bytes of a file, which is closed afterwards. False: it was answered already. */
bool http_exchange_answer_file(struct http_exchange *exchange, const char *content_type, int fd, uint64_t size) NONNULL(1, 2);

/* Turns the response into an event stream. False: it was answered already. */
bool http_exchange_stream(struct http_exchange *exchange) NONNULL(1);

/* Adds bytes to the stream. False: it has ended, or its buffer is full because the client reads too slowly. A buffer of more than
 * 1 MiB is full when its owner has no room. */
bool http_exchange_stream_add(struct http_exchange *exchange, const char *bytes, size_t size) NONNULL(1, 2);

/* Ends the stream once all added bytes are sent. */
void http_exchange_stream_end(struct http_exchange *exchange) NONNULL(1);

/* ---- For the server and the watch thread ---- */

/* Collects a part of the body, or drops it. */
void http_exchange_add_body(struct http_exchange *exchange, const char *bytes, size_t size) NONNULL(1, 2);

/* The reader for MHD_create_response_from_callback: the number of bytes copied, or -1 at the end. Suspends the connection and
 * returns 0 when there is no data yet. */
ptrdiff_t http_exchange_stream_read(struct http_exchange *exchange, char *ret_bytes, size_t max_bytes) NONNULL(1, 2);

/* Passes the request to give up to the endpoint. */
void http_exchange_give_up(struct http_exchange *exchange, enum give_up_reason reason) NONNULL(1);
