/*
 * Peer counts: the number of open connections of each client address, so that
 * one address cannot hold all connections. An IPv6 address counts by its first
 * 64 bits. Private to connections.c, which locks it.
 */
#pragma once

#include "http/address_gate.h"

struct peer_counts;

/* `max_connections`: of all addresses together; `max_per_peer`: of one. */
struct peer_counts *peer_counts_new(unsigned max_connections, unsigned max_per_peer) RETURNS_NONNULL;
void peer_counts_free(struct peer_counts *counts);

/* Counts a connection. False when its address has as many as it may. */
bool peer_counts_add(struct peer_counts *counts, const struct gate_address *peer) NONNULL(1, 2);
void peer_counts_remove(struct peer_counts *counts, const struct gate_address *peer) NONNULL(1, 2);
