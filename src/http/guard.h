/*
 * The guard of /mcp against DNS rebinding: a page in the user's browser can
 * reach a loopback port under a name of its own, so the name asked for (Host)
 * and the page that asks (Origin) must both be known. Loopback names and the
 * address listened on are; an operator adds others.
 *
 * Made at start and constant afterwards; any thread may ask.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "http/socket_address.h"

#include <stdbool.h>

struct guard;

struct guard_config {
    const char *const *allowed_hosts;   /* NULL-ended names, without ports; NULL: none */
    const char *const *allowed_origins; /* NULL-ended "scheme://host[:port]"; NULL: none */
    const char *const *trusted_proxies; /* NULL-ended numeric addresses; NULL: none */
};

/* Errors: INVALID_REQUEST naming the option whose entry cannot be read. */
MUST_CHECK bool guard_new(struct arena *arena, const struct guard_config *config, const struct socket_address *listen,
                          struct guard **ret_guard, struct error *err) NONNULL(1, 2, 3, 4, 5);

/* Whether a Host (RFC 9110 §7.2) names this server. The port is not looked at: a proxy or a forward changes it. */
bool guard_host_is_known(const struct guard *guard, const char *host) NONNULL(1);

/* Whether an Origin (RFC 6454 §7) may call: one of the known hosts, or an origin the operator allowed. */
bool guard_origin_is_known(const struct guard *guard, const char *origin) NONNULL(1, 2);

/* Whether the operator allowed exactly this origin. */
bool guard_origin_is_listed(const struct guard *guard, const char *origin) NONNULL(1, 2);

/* Whether a page of this origin is served by this very host: scheme aside, host and port are equal. */
bool guard_origin_is_host(const char *origin, const char *host) NONNULL(1);

/* Whether the peer is a proxy whose X-Forwarded-… headers are believed. */
bool guard_peer_is_trusted(const struct guard *guard, const struct sockaddr *peer) NONNULL(1);
