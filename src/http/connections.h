/*
 * Connections: disconnects and time-outs that libmicrohttpd does not detect.
 *
 * libmicrohttpd neither times out a suspended connection nor notices its
 * disconnect. A client that sends its bytes slowly never times out either. So
 * every socket is also in an epoll set of this module, edge-triggered and for
 * RDHUP only, which costs nothing per request. One watch thread checks the
 * phases of all connections.
 *
 * A connection belongs to the thread that serves it, from connection_open to
 * connection_close. The watch thread reads it under its lock and never touches
 * a socket after connection_close.
 */
#pragma once

#include "base/compiler.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct connection;
struct connections;
struct gate_address;
struct http_exchange;

/* The phase of a connection, which sets its time-out. */
enum phase {
    PHASE_CLOSED,
    PHASE_HEADERS, /* a new connection, or receiving the head of a request: header time-out */
    PHASE_IDLE,    /* between two requests: idle time-out */
    PHASE_BODY,    /* receiving the body: request time-out */
    PHASE_WORK,    /* waiting for the response: call time-out */
    PHASE_SENDING, /* sending the response: ten idle time-outs, besides libmicrohttpd's own idle time-out */
    PHASE_STREAM,  /* event stream: no time-out */
};

struct connections_config {
    unsigned max_connections;
    unsigned max_per_peer; /* of one client address */
    unsigned header_timeout_s;
    unsigned idle_timeout_s;
    unsigned request_timeout_s;
    unsigned call_timeout_s;
    void (*tick)(void *context); /* once a second, on the watch thread */
    void *context;
};

/* Starts the watch thread. Errors: INTERNAL_ERROR. */
MUST_CHECK bool connections_new(const struct connections_config *config, struct connections **ret_connections, struct error *err)
    NONNULL(1, 2, 3);

/* Joins the watch thread. Every connection must be closed. NULL is allowed. */
void connections_free(struct connections *connections);

/* Takes a slot for an accepted socket; NULL when all slots are in use, or as many as `peer` may have. `peer` NULL: the connection
 * is not counted for an address. */
struct connection *connection_open(struct connections *connections, int fd, const struct gate_address *peer) NONNULL(1);

/* The connection carries the requests of several clients: it no longer counts for its address. */
void connection_uncount(struct connection *connection) NONNULL(1);

/* Call this before the socket is closed. */
void connection_close(struct connection *connection) NONNULL(1);

void connection_set_phase(struct connection *connection, enum phase phase) NONNULL(1);

/* Registers `exchange` for give_up on a disconnect or time-out. False: the peer has already disconnected. */
bool connection_watch(struct connection *connection, struct http_exchange *exchange) NONNULL(1, 2);
void connection_unwatch(struct connection *connection) NONNULL(1);

/* The exchange kept for the next request of this connection. Only the serving thread may use it. */
struct http_exchange **connection_spare(struct connection *connection) NONNULL(1) RETURNS_NONNULL;

/* Calls give_up for every watched exchange because of a shutdown. `abandon`: also when its call does not end. */
void connections_give_up(struct connections *connections, bool abandon) NONNULL(1);

unsigned connections_open_count(const struct connections *connections) NONNULL(1);
