#include "http/server.h"

#include "api/call.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/panic.h"
#include "http/address_gate.h"
#include "http/answer_memory.h"
#include "http/body_memory.h"
#include "http/body_throttle.h"
#include "http/connections.h"
#include "http/endpoints/metrics.h"
#include "http/endpoints/routes.h"
#include "http/guard.h"
#include "http/serve.h"
#include "http/server_state.h"
#include "http/socket_address.h"
#include "mcp/server.h"

#include <microhttpd.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum {
    DEFAULT_IO_THREADS = 2,
    DEFAULT_MAX_CONNECTIONS = 4096,
    DEFAULT_MAX_PER_PEER = 512,
    DEFAULT_HEADER_TIMEOUT_S = 10,
    DEFAULT_IDLE_TIMEOUT_S = 75,
    DEFAULT_REQUEST_TIMEOUT_S = 60,
    DEFAULT_CALL_TIMEOUT_S = 330,
    DEFAULT_BODY_MEMORY_MIB = 128,
    LEAST_BODY_MEMORY_MIB = 96, /* one body with its tree, at three quarters */
    LIMIT_BODY_MEMORY_MIB = 64 * 1024,
    MIB = 1024 * 1024,
    ANSWER_TIMES = 2, /* the memory of answers, in memories of bodies */
    LIMIT_IO_THREADS = 64,
    LIMIT_CONNECTIONS = 100000,
    LIMIT_TIMEOUT_S = 24 * 3600,
    CANCEL_GRACE_MS = 2000, /* for cancelled calls to complete */
    DRAIN_POLL_MS = 5,
};

static unsigned given_or(unsigned value, unsigned otherwise)
{
    return value != 0 ? value : otherwise;
}

/* ---- Start ---- */

static bool check_bounds(const struct http_server_config *config, struct error *err)
{
    if (config->io_threads > LIMIT_IO_THREADS)
        return fail(err, ERR_INVALID_REQUEST, "io-threads", "At most %d threads are accepted.", LIMIT_IO_THREADS);
    if (config->max_connections > LIMIT_CONNECTIONS)
        return fail(err, ERR_INVALID_REQUEST, "max-connections", "At most %d connections are accepted.", LIMIT_CONNECTIONS);
    if (config->max_per_peer > LIMIT_CONNECTIONS)
        return fail(err, ERR_INVALID_REQUEST, "connections-per-address", "At most %d connections are accepted.", LIMIT_CONNECTIONS);
    if (config->body_memory_mib != 0 &&
        (config->body_memory_mib < LEAST_BODY_MEMORY_MIB || config->body_memory_mib > LIMIT_BODY_MEMORY_MIB))
        return fail(err, ERR_INVALID_REQUEST, "body-memory", "The memory for request bodies must be %d to %d MiB.",
                    LEAST_BODY_MEMORY_MIB, LIMIT_BODY_MEMORY_MIB);
    if (config->idle_timeout_s > LIMIT_TIMEOUT_S || config->request_timeout_s > LIMIT_TIMEOUT_S ||
        config->header_timeout_s > LIMIT_TIMEOUT_S || config->call_timeout_s > LIMIT_TIMEOUT_S)
        return fail(err, ERR_INVALID_REQUEST, "timeout", "A time-out must be at most %d seconds.", LIMIT_TIMEOUT_S);
    return true;
}

static void server_tick(void *context)
{
    struct http_server *server = context;
    if (server->mcp != NULL)
        mcp_server_tick(server->mcp);
    body_memory_trim(server->body_memory);
}

static bool start_connections(struct http_server *server, const struct http_server_config *config, unsigned max_connections,
                              struct error *err)
{
    const struct connections_config connections = {
        .max_connections = max_connections,
        .max_per_peer = given_or(config->max_per_peer, DEFAULT_MAX_PER_PEER),
        .header_timeout_s = given_or(config->header_timeout_s, DEFAULT_HEADER_TIMEOUT_S),
        .idle_timeout_s = given_or(config->idle_timeout_s, DEFAULT_IDLE_TIMEOUT_S),
        .request_timeout_s = given_or(config->request_timeout_s, DEFAULT_REQUEST_TIMEOUT_S),
        .call_timeout_s = given_or(config->call_timeout_s, DEFAULT_CALL_TIMEOUT_S),
        .tick = server_tick,
        .context = server,
    };
    return connections_new(&connections, &server->connections, err);
}

static bool start_listener(struct http_server *server, const struct http_server_config *config,
                           const struct socket_address *address, struct error *err)
{
    int fd;
    if (!socket_address_listen(address, "listen", &fd, err))
        return false;
    unsigned threads = given_or(config->io_threads, DEFAULT_IO_THREADS);
    unsigned max_connections = given_or(config->max_connections, DEFAULT_MAX_CONNECTIONS);
    max_connections = max_connections < threads ? threads : max_connections; /* each thread needs a connection */
    const struct serve_limits limits = {
        .io_threads = threads,
        .max_connections = max_connections,
        .idle_timeout_s = given_or(config->idle_timeout_s, DEFAULT_IDLE_TIMEOUT_S),
    };
    server->port = socket_address_bound_port(fd);
    if (!start_connections(server, config, max_connections, err) || !body_throttle_new(&server->body_throttle, err)) {
        close(fd);
        return false;
    }
    server->daemon = serve_start(server, fd, &limits);
    if (server->daemon == NULL) {
        close(fd);
        return fail(err, ERR_INTERNAL_ERROR, "listen", "The HTTP server cannot be started.");
    }
    return true;
}

static void server_release(struct http_server *server)
{
    metrics_listener_free(server->metrics);
    if (server->daemon != NULL)
        MHD_stop_daemon(server->daemon);
    connections_free(server->connections);
    body_throttle_free(server->body_throttle);
    body_memory_unref(server->body_memory);
    answer_memory_unref(server->answer_memory);
    arena_free(server->arena);
    free(server);
}

static bool server_start_all(struct http_server *server, const struct http_server_config *config, struct error *err)
{
    const struct guard_config guard = { config->allowed_hosts, config->allowed_origins, config->trusted_proxies,
                                        config->public_url };
    struct socket_address address;
    if (!check_bounds(config, err) || !socket_address_parse(config->listen, "listen", &address, err) ||
        !guard_new(server->arena, &guard, &address, &server->guard, err))
        return false;
    if (server->api != NULL)
        server->routes = route_table_new(server->arena, routes, route_count);
    if (!start_listener(server, config, &address, err))
        return false;
    return config->metrics_listen == NULL || metrics_listener_new(config->metrics_listen, server, &server->metrics, err);
}

bool http_server_start(const struct http_server_config *config, struct api *api, struct mcp_server *mcp,
                       struct http_server **ret_server, struct error *err)
{
    struct http_server *server = calloc(1, sizeof(*server));
    if (server == NULL)
        panic(PANIC_NO_MEMORY);
    server->arena = arena_new(0);
    server->gate = address_gate_new(server->arena);
    size_t body_bytes = (size_t)given_or(config->body_memory_mib, DEFAULT_BODY_MEMORY_MIB) * MIB;
    server->body_memory = body_memory_new(body_bytes);
    server->answer_memory = answer_memory_new(ANSWER_TIMES * body_bytes);
    server->api = api;
    server->mcp = mcp;
    server->hits = config->hits;
    server->open_asset = config->open_asset;
    server->assets_context = config->assets_context;
    server->write_metrics = config->write_metrics;
    server->metrics_context = config->metrics_context;
    if (!server_start_all(server, config, err)) {
        server_release(server);
        return false;
    }
    *ret_server = server;
    return true;
}

/* ---- Running ---- */

unsigned http_server_port(const struct http_server *server)
{
    return server->port;
}

unsigned http_server_metrics_port(const struct http_server *server)
{
    return server->metrics != NULL ? metrics_listener_port(server->metrics) : 0;
}

/* ---- Stop ---- */

/* Waits until every response was sent; false when the time is over first. */
static bool wait_until_idle(const struct http_server *server, int64_t wait_ms)
{
    const struct timespec pause = { .tv_nsec = DRAIN_POLL_MS * 1000000L };
    int64_t until_us = clock_monotonic_us() + wait_ms * US_PER_MS;
    while (atomic_load_explicit(&server->active, memory_order_acquire) > 0) {
        if (clock_monotonic_us() >= until_us)
            return false;
        nanosleep(&pause, NULL);
    }
    return true;
}

/* libmicrohttpd must not be stopped with a suspended connection. Answered connections are resumed, but that takes a moment. */
static void wait_until_resumed(const struct http_server *server)
{
    const struct timespec pause = { .tv_nsec = DRAIN_POLL_MS * 1000000L };
    while (atomic_load_explicit(&server->suspended, memory_order_acquire) > 0 ||
           atomic_load_explicit(&server->parked, memory_order_acquire) > 0) {
        connections_give_up(server->connections, true);
        nanosleep(&pause, NULL);
    }
}

void http_server_stop(struct http_server *server, unsigned grace_ms)
{
    if (server == NULL)
        return;
    atomic_store(&server->stopping, true);
    int listen_fd = MHD_quiesce_daemon(server->daemon);
    if (server->mcp != NULL)
        mcp_server_stop(server->mcp);
    if (!wait_until_idle(server, grace_ms)) {
        connections_give_up(server->connections, false);
        if (!wait_until_idle(server, CANCEL_GRACE_MS))
            log_event(LOG_WARNING, "http.stop", "Some calls did not end when they were cancelled.");
    }
    body_throttle_end(server->body_throttle);
    wait_until_resumed(server);
    MHD_stop_daemon(TAKE_PTR(server->daemon));
    if (listen_fd >= 0)
        close(listen_fd);
    server_release(server);
}
