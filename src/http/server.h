/*
 * HTTP server: the MCP server at /mcp, the REST API under /v1, the OpenAPI
 * document at /openapi.json, the error codes at /docs/errors, hosted images at
 * /assets/…, unsubscribe pages at /u/…, and metrics on a listener of its own.
 *
 * A few libmicrohttpd threads run event loops for all input and output. A call
 * that is answered in memory is answered there. Any other call suspends its
 * connection until it completes, so no thread waits for a database.
 * Connections, bodies, headers and streams are bounded, and so is the time that
 * a slow client may take.
 *
 * The configuration is read at the start; only the callbacks and their contexts
 * must outlive the server. The server borrows the api and the MCP server: stop
 * it before either is freed.
 */
#pragma once

#include "base/buf.h"
#include "base/compiler.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct api;
struct hit_recorder;
struct http_server;
struct mcp_server;

/* A public file. */
struct http_asset {
    int fd; /* closed after it was sent */
    uint64_t bytes;
    const char *content_type; /* lives as long as the server */
};

struct http_server_config {
    const char *listen;                 /* "127.0.0.1:8420", "[::1]:8420"; port 0 lets the system choose */
    const char *metrics_listen;         /* the same form; NULL: no metrics listener */
    const char *const *allowed_hosts;   /* NULL-terminated, further names that Host may have at /mcp; NULL: none */
    const char *const *allowed_origins; /* NULL-terminated, further origins that may call /mcp; NULL: none */
    const char *const *trusted_proxies; /* NULL-terminated addresses whose X-Forwarded-… headers are trusted; NULL: none */
    const char *public_url;             /* of this server; its pages may write with a session cookie; NULL: none */

    unsigned io_threads;        /* 0: 2 */
    unsigned max_connections;   /* 0: 4096, over all threads */
    unsigned max_per_peer;      /* 0: 512; connections of one client address that is no proxy */
    unsigned header_timeout_s;  /* 0: 10; for the headers of a request, from its first line or the start of the connection */
    unsigned body_memory_mib;   /* 0: 128; for all request bodies and their JSON trees; beyond it 503. Answers have twice as much */
    unsigned idle_timeout_s;    /* 0: 75; an idle connection is closed, and so is one whose peer does not read */
    unsigned request_timeout_s; /* 0: 60; for the whole request to arrive */
    unsigned call_timeout_s;    /* 0: 330; after it a call is cancelled and answered 503 */

    struct hit_recorder *hits; /* serves tracked links; NULL: they are not served */

    /* Opens the file served as /assets/NAME; false when there is none. Called on an I/O thread. NULL: no assets are served. */
    bool (*open_asset)(void *context, const char *name, struct http_asset *ret_asset);
    void *assets_context;

    /* Writes metrics in the Prometheus text format; called on the metrics thread. NULL: only the server's own figures. */
    void (*write_metrics)(void *context, struct buf *out);
    void *metrics_context;
};

/* Counters for the metrics page and for tests. */
struct http_server_figures {
    uint64_t requests;            /* since the start */
    uint64_t refused;             /* refused before a call: host, origin, size, form */
    uint64_t abandoned;           /* whose client disconnected before the response */
    uint64_t connections_refused; /* beyond the bound of all, or of one address */
    uint64_t drops_paused;        /* times that a connection waited because too much of refused bodies arrived */
    uint64_t bodies_paused;       /* the same, because too much of large bodies of its organization arrived beside others */
    unsigned connections;         /* open now */
    unsigned suspended;           /* waiting for a call now */
    unsigned streams;             /* event streams open now */
    uint64_t body_bytes;          /* memory claimed for request bodies now */
    uint64_t answer_bytes;        /* memory of large answers that are not sent yet */
};

/* Binds and serves until stopped. `api` NULL: no REST API; `mcp` NULL: no /mcp. Errors: INVALID_REQUEST (an address or a bound
 * that cannot be read), INTERNAL_ERROR (the address is in use). */
MUST_CHECK bool http_server_start(const struct http_server_config *config, struct api *api, struct mcp_server *mcp,
                                  struct http_server **ret_server, struct error *err) NONNULL(1, 4, 5);

/* The bound ports; 0 for the metrics port when there is no metrics listener. */
unsigned http_server_port(const struct http_server *server) NONNULL(1);
unsigned http_server_metrics_port(const struct http_server *server) NONNULL(1);

/* A snapshot; safe from any thread. */
struct http_server_figures http_server_figures(const struct http_server *server) NONNULL(1);

/* Graceful shutdown: accepts no more connections, waits at most `grace_ms` for running calls, cancels the rest, and frees the
 * server. NULL is allowed. */
void http_server_stop(struct http_server *server, unsigned grace_ms);
