/*
 * SSRF guard (server-side request forgery): decides which addresses an outgoing
 * request may reach. Only the public internet is allowed, because an untrusted
 * address in a design could otherwise read data of this machine or its network.
 * The guard checks the address that a socket is about to connect to, not a name,
 * so it also stops redirects and DNS rebinding.
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

/* Whether the port is usual for web servers: 80, 443, 8080, 8443. A fetch from another port could disturb its service. */
bool guard_port_is_web(unsigned port) PURE;
