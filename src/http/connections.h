/*
 * Connections: what libmicrohttpd does not see of them.
 *
 * A suspended connection neither times out there nor is its disconnect
 * noticed, and a client that trickles bytes is never too slow. So every socket
 * is also in an epoll set of our own, edge-triggered and for RDHUP only, which
 * costs nothing a request, and one watch thread follows the phases.
 *
 * A connection belongs to the thread that serves it, from connection_open to
 * connection_close; the watch thread looks at it under its lock and never
 * touches a socket after connection_close.
 */
#pragma once

#include "base/compiler.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct connection;
struct connections;
struct http_exchange;

/* What a connection does, and thereby how long it may take. */
enum phase {
    PHASE_CLOSED,
    PHASE_HEADERS, /* silent, or sending the head of a request: idle + request time-out */
    PHASE_BODY,    /* request time-out */
    PHASE_WORK,    /* waiting for the answer: call time-out */
    PHASE_SENDING, /* the peer reads the answer: ten idle time-outs, libmicrohttpd's own idle time-out apart */
    PHASE_STREAM,  /* events, without end */
};

struct connections_config {
    unsigned max_connections;
    unsigned idle_timeout_s;
    unsigned request_timeout_s;
    unsigned call_timeout_s;
    void (*tick)(void *context); /* once a second, on the watch thread */
    void *context;
};

/* Starts the watch thread. Errors: INTERNAL_ERROR. */
MUST_CHECK bool connections_new(const struct connections_config *config, struct connections **ret_connections, struct error *err)
    NONNULL(1, 2, 3);

/* Joins the watch thread; every connection is closed by now. NULL is allowed. */
void connections_free(struct connections *connections);

/* A place for a socket just accepted; NULL when all are taken. */
struct connection *connection_open(struct connections *connections, int fd) NONNULL(1);

/* Before the socket is closed. */
void connection_close(struct connection *connection) NONNULL(1);

void connection_set_phase(struct connection *connection, enum phase phase) NONNULL(1);

/* From now on `exchange` is told when the peer goes away or the time is up.
 * False: the peer is gone already. */
bool connection_watch(struct connection *connection, struct http_exchange *exchange) NONNULL(1, 2);
void connection_unwatch(struct connection *connection) NONNULL(1);

/* The exchange kept for this connection's next request; its serving thread's own business. */
struct http_exchange **connection_spare(struct connection *connection) NONNULL(1) RETURNS_NONNULL;

/* Ends the wait of every watched exchange for the reason of a shutdown; `abandon` also when its call does not end. */
void connections_give_up(struct connections *connections, bool abandon) NONNULL(1);

unsigned connections_open_count(const struct connections *connections) NONNULL(1);
