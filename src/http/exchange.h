/*
 * An exchange: one HTTP request and its answer, between libmicrohttpd and a
 * door (REST, /mcp, a fixed document).
 *
 * The door is asked three times: `begin` when the headers are there, `run` when
 * the body is, `release` when the answer is out. In `run` it answers at once, or
 * suspends the exchange and answers later from any thread. Whoever waits may be
 * told to `give_up`, because the client left, the time is over or the server
 * stops.
 *
 * The exchange and its arena belong to the connection's thread, except that
 * while it is suspended or streaming the door's functions marked "any thread"
 * may be called; its lock, which is recursive, orders them. It is kept for the
 * next request of the connection, so that a call costs few allocations.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/compiler.h"
#include "http/headers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct connection;
struct http_exchange;
struct http_server;
struct MHD_Connection;
struct sockaddr;

enum give_up_reason {
    GIVE_UP_CLIENT_GONE,
    GIVE_UP_TIMEOUT,
    GIVE_UP_STOPPING, /* the server stops and the grace is over */
    GIVE_UP_ABANDON,  /* and the call did not end even when cancelled: answer now, forget the call */
};

struct http_endpoint {
    /* The headers are known. Sets max_body_bytes, or answers already. */
    void (*begin)(struct http_exchange *exchange);
    /* The body is complete. Answers, or suspends and sees to an answer. */
    void (*run)(struct http_exchange *exchange);
    /* The wait should end. Watch thread or the connection's, without the lock; may come more than once, and late.
     * NULL for a door that never suspends. */
    void (*give_up)(struct http_exchange *exchange, enum give_up_reason reason);
    /* The answer is out or will never be. NULL: nothing to release. */
    void (*release)(struct http_exchange *exchange);
};

enum http_exchange_state {
    HTTP_EXCHANGE_READING,   /* the request arrives */
    HTTP_EXCHANGE_SUSPENDED, /* a call works on the answer */
    HTTP_EXCHANGE_ANSWERED,
    HTTP_EXCHANGE_STREAMING, /* the answer is a stream of events */
};

enum { HTTP_EXCHANGE_MAX_HEADERS = 12 };

struct http_exchange_header {
    const char *name;
    const char *value; /* lives as long as the answer */
};

struct http_exchange {
    struct http_server *server;
    struct connection *connection;
    struct MHD_Connection *mhd;
    struct arena *arena;
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
    size_t max_body_bytes;
    uint64_t body_seen_bytes;
    bool begun;
    bool body_complete;
    bool too_large;

    /* The answer. Under the lock once suspended. */
    enum http_exchange_state state;
    bool was_suspended; /* in this round of the handler; the connection's thread only */
    int status;
    const char *answer;
    size_t answer_size;
    int answer_fd; /* the answer is this file instead, when it is not -1 */
    struct http_exchange_header answer_headers[HTTP_EXCHANGE_MAX_HEADERS];
    unsigned answer_header_count;
    bool closes; /* the connection ends with this answer */

    /* The stream of events, under the lock. */
    struct buf stream;
    size_t stream_sent; /* of its bytes */
    bool stream_ended;
    bool stream_parked; /* suspended until there is more */
};

/* A new exchange with one reference. */
struct http_exchange *http_exchange_new(struct http_server *server) NONNULL(1) RETURNS_NONNULL;
void http_exchange_ref(struct http_exchange *exchange) NONNULL(1);
void http_exchange_unref(struct http_exchange *exchange);

/* Whether nobody else holds it, so that it may serve the next request. */
bool http_exchange_is_unshared(const struct http_exchange *exchange) NONNULL(1);

/* Empties it for the next request of its connection. */
void http_exchange_reset(struct http_exchange *exchange) NONNULL(1);

/* ---- For doors, on the connection's thread ---- */

/* Suspends the connection; from now on the answer may come from any thread. */
void http_exchange_suspend(struct http_exchange *exchange) NONNULL(1);

/* The peer's address; NULL when unknown. */
const struct sockaddr *http_exchange_peer(const struct http_exchange *exchange) NONNULL(1);

/* ---- For doors, any thread ---- */

/* A header of the answer; both texts live as long as the exchange's answer. Before http_exchange_answer or http_exchange_stream. */
void http_exchange_add_header(struct http_exchange *exchange, const char *name, const char *value) NONNULL(1, 2, 3);

/* The whole answer, and the end of the suspension. The bytes live until `release`. False: it was answered already. */
bool http_exchange_answer(struct http_exchange *exchange, int status, const char *content_type, const char *bytes, size_t size)
    NONNULL(1);

/* The answer 200 with the first `size` bytes of a file, which is closed when they are out. False: it was answered already. */
bool http_exchange_answer_file(struct http_exchange *exchange, const char *content_type, int fd, uint64_t size) NONNULL(1, 2);

/* The answer becomes a stream of events. False: it was answered already. */
bool http_exchange_stream(struct http_exchange *exchange) NONNULL(1);

/* Adds to the stream. False: it has ended, or the client reads so slowly that it must end. */
bool http_exchange_stream_add(struct http_exchange *exchange, const char *bytes, size_t size) NONNULL(1, 2);

/* The stream ends once what was added is sent. */
void http_exchange_stream_end(struct http_exchange *exchange) NONNULL(1);

/* ---- For the server and the watch thread ---- */

/* What MHD_create_response_from_callback reads the stream with: bytes copied, or -1 at the end.
 * Suspends the connection and gives 0 when there is nothing yet. */
ptrdiff_t http_exchange_stream_read(struct http_exchange *exchange, char *ret_bytes, size_t max_bytes) NONNULL(1, 2);

/* Passes the wish on to the door. */
void http_exchange_give_up(struct http_exchange *exchange, enum give_up_reason reason) NONNULL(1);
