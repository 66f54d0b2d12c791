/*
 * Socket addresses of options: "127.0.0.1:8420", "[::1]:8420", "localhost:0".
 * Numeric hosts only, and localhost, which is 127.0.0.1: a listener must not
 * depend on name resolution. No ownership, any thread.
 */
#pragma once

#include "base/compiler.h"
#include "base/error.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

struct socket_address {
    struct sockaddr_storage socket;
    socklen_t size;
};

/* Reads "host:port". Errors: INVALID_REQUEST with the option as `param`. */
MUST_CHECK bool socket_address_parse(const char *text, const char *param, struct socket_address *ret_address, struct error *err)
    NONNULL(1, 2, 3, 4);

/* Opens a listening socket, close-on-exec and non-blocking. Errors: INVALID_REQUEST (address in use, not local, not permitted). */
MUST_CHECK bool socket_address_listen(const struct socket_address *address, const char *param, int *ret_fd, struct error *err)
    NONNULL(1, 2, 3, 4);

unsigned socket_address_port(const struct sockaddr *socket) NONNULL(1) PURE;

/* The port a listening socket is bound to. */
unsigned socket_address_bound_port(int fd);

/* True when it listens on all interfaces (0.0.0.0 or ::). */
bool socket_address_is_any(const struct socket_address *address) NONNULL(1) PURE;

/* The host as text, without brackets; an IPv4-mapped IPv6 address is shown as IPv4. */
enum { SOCKET_ADDRESS_HOST_BYTES = INET6_ADDRSTRLEN };
void socket_address_host(const struct sockaddr *socket, char ret_host[SOCKET_ADDRESS_HOST_BYTES]) NONNULL(1, 2);
