/*
 * HTTP server state: private to the files of src/http. Constant after the start
 * except for the counters, which are atomic.
 */
#pragma once

#include "base/arena.h"
#include "http/exchange.h"
#include "http/server.h"

#include <stdatomic.h>

struct address_gate;
struct body_throttle;
struct connections;
struct guard;
struct hit_recorder;
struct MHD_Daemon;
struct metrics_listener;
struct route_table;

struct http_server {
    struct arena *arena;
    struct api *api;           /* NULL: no REST API */
    struct mcp_server *mcp;    /* NULL: no /mcp */
    struct hit_recorder *hits; /* NULL: no tracked links */
    struct guard *guard;
    struct address_gate *gate;
    struct body_memory *body_memory;
    struct answer_memory *answer_memory;
    struct body_throttle *body_throttle;
    struct route_table *routes;
    struct connections *connections;
    struct MHD_Daemon *daemon;
    struct metrics_listener *metrics;
    bool (*open_asset)(void *context, const char *name, struct http_asset *ret_asset);
    void *assets_context;
    void (*write_metrics)(void *context, struct buf *out);
    void *metrics_context;
    unsigned port;

    atomic_bool stopping;
    atomic_uint_fast64_t requests;
    atomic_uint_fast64_t refused;
    atomic_uint_fast64_t abandoned;
    atomic_uint_fast64_t connections_refused;
    atomic_uint_fast64_t drops_paused;
    atomic_uint_fast64_t bodies_paused;
    atomic_uint active; /* requests whose response is not sent yet */
    atomic_uint suspended;
    atomic_uint streams;
    atomic_uint parked; /* streams suspended until there is more data */
};

/* ---- Endpoints ---- */

extern const struct http_endpoint rest_endpoint;        /* /v1/…, and 404 for every unknown path */
extern const struct http_endpoint mcp_endpoint;         /* /mcp */
extern const struct http_endpoint document_endpoint;    /* /openapi.json */
extern const struct http_endpoint error_page_endpoint;  /* /docs/errors */
extern const struct http_endpoint asset_endpoint;       /* /assets/… */
extern const struct http_endpoint download_endpoint;    /* /downloads/…, /previews/… */
extern const struct http_endpoint unsubscribe_endpoint; /* /u/… */
extern const struct http_endpoint tracking_endpoint;    /* /c/… and /o/… */
extern const struct http_endpoint reports_endpoint;     /* /reports/… */
extern const struct http_endpoint hooks_endpoint;       /* /integrations/… */

/* True when the path belongs to the endpoint. */
bool asset_path(const struct http_exchange *exchange) NONNULL(1);
bool download_path(const struct http_exchange *exchange) NONNULL(1);
bool unsubscribe_path(const struct http_exchange *exchange) NONNULL(1);
bool tracking_path(const struct http_exchange *exchange) NONNULL(1);
bool reports_path(const struct http_exchange *exchange) NONNULL(1);
bool hooks_path(const struct http_exchange *exchange) NONNULL(1);

/* ---- Shared by the endpoints ---- */

/* The host name in the request: Host, or X-Forwarded-Host from a trusted proxy. NULL when absent. */
const char *http_exchange_host(const struct http_exchange *exchange) NONNULL(1);

/* The scheme of the request: http, or that of X-Forwarded-Proto from a trusted proxy. */
const char *http_exchange_scheme(const struct http_exchange *exchange) NONNULL(1) RETURNS_NONNULL;

/* Counts and logs a request that is refused before it becomes a call. Neither path nor arguments are logged. */
void http_exchange_log_refusal(struct http_exchange *exchange, int status, const char *code) NONNULL(1, 3);
