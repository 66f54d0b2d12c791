/*
 * The HTTP server: the agent protocol at /mcp, the REST door under /v1, the
 * OpenAPI document at /openapi.json, hosted images at /assets/…, the pages of
 * unsubscribe links at /u/…, and, on a listener of its own, metrics.
 *
 * A few libmicrohttpd threads do all input and output. A call that is answered
 * in memory is answered there; any other suspends its connection until the
 * answer stands, so that no thread ever waits for a database. Connections,
 * bodies, headers and streams are bounded, and so is the time that a slow
 * client may take.
 *
 * The configuration is read while starting; only the callbacks and their
 * contexts must outlive the server. The server borrows the api and the MCP
 * server: stop it before either is freed.
 */
#pragma once

#include "base/buf.h"
#include "base/compiler.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct api;
struct http_server;
struct mcp_server;

/* A file to be served to anybody. */
struct http_asset {
    int fd; /* closed when it is sent */
    uint64_t bytes;
    const char *content_type; /* lives as long as the server */
};

struct http_server_config {
    const char *listen;                 /* "127.0.0.1:8420", "[::1]:8420"; port 0 lets the system choose */
    const char *metrics_listen;         /* the same form; NULL: no metrics listener */
    const char *const *allowed_hosts;   /* NULL-ended, further names /mcp may be asked for under; NULL: none */
    const char *const *allowed_origins; /* NULL-ended, further origins that may call /mcp; NULL: none */
    const char *const *trusted_proxies; /* NULL-ended addresses whose X-Forwarded-… are believed; NULL: none */

    unsigned io_threads;        /* 0: 2 */
    unsigned max_connections;   /* 0: 1024, over all threads */
    unsigned idle_timeout_s;    /* 0: 75; a silent connection is closed, and so is one whose peer does not read */
    unsigned request_timeout_s; /* 0: 60; for all of a request to arrive */
    unsigned call_timeout_s;    /* 0: 330; past it a call is cancelled and answered 503 */

    /* Opens what is served as /assets/NAME; false: there is no such. On an I/O thread. NULL: nothing is served there. */
    bool (*open_asset)(void *context, const char *name, struct http_asset *ret_asset);
    void *assets_context;

    /* Fills the Prometheus text; called on the metrics thread. NULL: the server's own figures only. */
    void (*write_metrics)(void *context, struct buf *out);
    void *metrics_context;
};

/* Figures for the metrics page and for tests. */
struct http_server_figures {
    uint64_t requests;    /* since the start */
    uint64_t refused;     /* of them, at the door: host, origin, size, form */
    uint64_t abandoned;   /* whose client went away before the answer */
    unsigned connections; /* open now */
    unsigned suspended;   /* waiting for an answer now */
    unsigned streams;     /* of events, open now */
};

/* Binds and serves until stopped. `api` NULL: no REST door; `mcp` NULL: no /mcp.
 * Errors: INVALID_REQUEST (an address or a bound that cannot be read), INTERNAL_ERROR (the address is taken). */
MUST_CHECK bool http_server_start(const struct http_server_config *config, struct api *api, struct mcp_server *mcp,
                                  struct http_server **ret_server, struct error *err) NONNULL(1, 4, 5);

/* The ports bound; of the metrics listener 0 when there is none. */
unsigned http_server_port(const struct http_server *server) NONNULL(1);
unsigned http_server_metrics_port(const struct http_server *server) NONNULL(1);

/* A snapshot; safe from any thread. */
struct http_server_figures http_server_figures(const struct http_server *server) NONNULL(1);

/* Takes no more connections, lets calls in flight end for at most `grace_ms`, cancels the rest, and frees the server.
 * NULL is allowed. */
void http_server_stop(struct http_server *server, unsigned grace_ms);
