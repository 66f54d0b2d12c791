/*
 * DNS rebinding guard of /mcp. A web page in the user's browser can reach a
 * loopback port under a name of its own. So the requested name (Host) and the
 * page's origin (Origin) must both be allowed. Loopback names and the listening
 * address are allowed; an operator adds others.
 *
 * Created at start and constant afterwards; any thread may use it.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "http/socket_address.h"

#include <stdbool.h>

struct guard;

struct guard_config {
    const char *const *allowed_hosts;   /* NULL-terminated names, without ports; NULL: none */
    const char *const *allowed_origins; /* NULL-terminated "scheme://host[:port]"; NULL: none */
    const char *const *trusted_proxies; /* NULL-terminated numeric addresses; NULL: none */
    const char *public_url;             /* of this server, with http or https; NULL: none */
};

/* Errors: INVALID_REQUEST with the option whose entry cannot be read. */
MUST_CHECK bool guard_new(struct arena *arena, const struct guard_config *config, const struct socket_address *listen,
                          struct guard **ret_guard, struct error *err) NONNULL(1, 2, 3, 4, 5);

/* True when a Host (RFC 9110 §7.2) names this server. The port is ignored, because a proxy or a port forwarding changes it. */
bool guard_host_is_known(const struct guard *guard, const char *host) NONNULL(1);

/* True when an Origin (RFC 6454 §7) may call: it is on a known host, or the operator allowed it. */
bool guard_origin_is_known(const struct guard *guard, const char *origin) NONNULL(1, 2);

/* True when the operator allowed exactly this origin. */
bool guard_origin_is_listed(const struct guard *guard, const char *origin) NONNULL(1, 2);

/* True when the origin is that of this server: scheme, host and port equal those of the request, or of the public URL. A default
 * port may be left out. */
bool guard_origin_is_own(const struct guard *guard, const char *origin, const char *scheme, const char *host) NONNULL(1, 2, 3);

/* True when the peer is a proxy whose X-Forwarded-… headers are trusted. */
bool guard_peer_is_trusted(const struct guard *guard, const struct sockaddr *peer) NONNULL(1);
