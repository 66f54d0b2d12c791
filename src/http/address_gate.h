/*
 * Address gate: a rate limit (throttle) for requests without a credential, with
 * one token bucket per client address. The buckets are a table of fixed size.
 * Addresses that hash to the same bucket share it, and a random seed makes this
 * unpredictable.
 *
 * Thread-safe. Owned by the arena it was created in.
 */
#pragma once

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct address_gate;

enum { ADDRESS_GATE_FULL = 2000, ADDRESS_GATE_PER_S = 50 }; /* capacity and refill rate of a bucket, in units of work */

struct address_gate *address_gate_new(struct arena *arena) NONNULL(1) RETURNS_NONNULL;

/* The address prefix whose requests share a bucket: an IPv4 address, or the first 64 bits of an IPv6 address. */
struct gate_address {
    unsigned char bytes[8];
};

/* Reads the address of a peer, or of the client that a proxy reports in X-Forwarded-For (its last entry). False for an unreadable
 * address, and for loopback, where a proxy may forward requests of many clients: these are not counted. */
bool gate_address_of_peer(const struct sockaddr *peer, struct gate_address *ret_address) NONNULL(2);
bool gate_address_of_forwarded(const char *forwarded_for, struct gate_address *ret_address) NONNULL(2);

/* Takes `units` from the bucket. False when the bucket was empty. A bucket may go below zero, which lengthens the wait. */
bool address_gate_take(struct address_gate *gate, const struct gate_address *address, int64_t units, int64_t now_us) NONNULL(1, 2);
