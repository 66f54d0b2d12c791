/*
 * Metrics listener: GET /metrics in the Prometheus text format, on a port of
 * its own, so that the network of the API need not reach it. One thread.
 */
#pragma once

#include "base/error.h"

struct http_server;
struct metrics_listener;

/* `server` is borrowed. Errors: INVALID_REQUEST (the address), INTERNAL_ERROR. */
MUST_CHECK bool metrics_listener_new(const char *listen, struct http_server *server, struct metrics_listener **ret_listener,
                                     struct error *err) NONNULL(1, 2, 3, 4);

/* NULL is allowed. */
void metrics_listener_free(struct metrics_listener *listener);

unsigned metrics_listener_port(const struct metrics_listener *listener) NONNULL(1);
