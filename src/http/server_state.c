#include "http/server_state.h"

#include "http/connections.h"

struct http_server_figures http_server_figures(const struct http_server *server)
{
    return (struct http_server_figures){
        .requests = atomic_load_explicit(&server->requests, memory_order_relaxed),
        .refused = atomic_load_explicit(&server->refused, memory_order_relaxed),
        .abandoned = atomic_load_explicit(&server->abandoned, memory_order_relaxed),
        .connections_refused = atomic_load_explicit(&server->connections_refused, memory_order_relaxed),
        .drops_paused = atomic_load_explicit(&server->drops_paused, memory_order_relaxed),
        .bodies_paused = atomic_load_explicit(&server->bodies_paused, memory_order_relaxed),
        .connections = server->connections != NULL ? connections_open_count(server->connections) : 0,
        .suspended = atomic_load_explicit(&server->suspended, memory_order_relaxed),
        .body_bytes = body_memory_used(server->body_memory),
        .answer_bytes = answer_memory_used(server->answer_memory),
        .streams = atomic_load_explicit(&server->streams, memory_order_relaxed),
    };
}
