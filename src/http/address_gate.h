/*
 * Address gate: bounds what one address on the network may ask for without a
 * credential. A token bucket an address, in a table of fixed size: addresses
 * that fall into the same bucket share it, and which do is not predictable.
 *
 * Thread-safe; lives in the arena it was made in.
 */
#pragma once

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct address_gate;

enum { ADDRESS_GATE_FULL = 2000, ADDRESS_GATE_PER_S = 50 }; /* of a bucket, in units of work */

struct address_gate *address_gate_new(struct arena *arena) NONNULL(1) RETURNS_NONNULL;

/* Whose requests are counted together: an IPv4 address, or the first 64 bits of an IPv6 address. */
struct gate_address {
    unsigned char bytes[8];
};

/* The address of a peer, or of the client that a proxy names in X-Forwarded-For (its last entry). False when there is none to
 * count: what cannot be read, and our own host, where a proxy may run that speaks for everybody. */
bool gate_address_of_peer(const struct sockaddr *peer, struct gate_address *ret_address) NONNULL(2);
bool gate_address_of_forwarded(const char *forwarded_for, struct gate_address *ret_address) NONNULL(2);

/* Whether the address may go on. Takes `units`; what is taken beyond the bottom has to be waited for. */
bool address_gate_take(struct address_gate *gate, const struct gate_address *address, int64_t units, int64_t now_us) NONNULL(1, 2);
