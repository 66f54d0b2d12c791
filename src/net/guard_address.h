/*
 * Which addresses a request on somebody's behalf may reach: those of the public
 * internet. An address in a design is a stranger's wish; without this guard it
 * could read what only this machine or its network may (server-side request
 * forgery). Judged is the address that a socket is about to connect to, not a
 * name, so neither a redirect nor a name that changes its answer gets by.
 *
 * No state, any thread.
 */
#pragma once

#include "base/compiler.h"

#include <stdbool.h>
#include <sys/socket.h>

/* Whether it is a public unicast address: not loopback, private, shared (CGNAT), link-local, unique local, multicast,
 * documentation, reserved, IPv4 inside IPv6 (mapped, NAT64, 6to4, Teredo), or a cloud's metadata service.
 * Sources: the IANA special-purpose registries for IPv4 and IPv6 (RFC 6890). */
bool guard_address_is_public(const struct sockaddr *address) NONNULL(1) PURE;

/* 127.0.0.0/8 and ::1. */
bool guard_address_is_loopback(const struct sockaddr *address) NONNULL(1) PURE;

/* The ports that web servers use: 80, 443, 8080, 8443. Others belong to services that a fetch could only disturb. */
bool guard_port_is_web(unsigned port) PURE;
