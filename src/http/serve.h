/*
 * HTTP callbacks of libmicrohttpd: handle a connection and its requests, from
 * accept to the last byte, on the event loop thread that serves it.
 */
#pragma once

#include "base/compiler.h"

struct http_server;
struct MHD_Daemon;

struct serve_limits {
    unsigned io_threads;
    unsigned max_connections;
    unsigned idle_timeout_s;
};

/* Starts a daemon on the listening socket and takes ownership of it; NULL when it cannot be started. */
struct MHD_Daemon *serve_start(struct http_server *server, int listen_fd, const struct serve_limits *limits) NONNULL(1, 3);
