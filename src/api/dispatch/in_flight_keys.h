/*
 * Duplicates: calls of this process with the idempotency key of a call that is
 * at work. They wait here, without a thread or a connection, and are queued
 * again when that call has ended; then they find its stored response. Another
 * process's duplicates wait in the database (engine/ledger).
 */
#pragma once

#include "base/compiler.h"
#include "crypto/keys.h"

#include <stdbool.h>
#include <stdint.h>

struct call_state;
struct in_flight_keys;

struct in_flight_keys *in_flight_keys_new(void) RETURNS_NONNULL;
void in_flight_keys_free(struct in_flight_keys *duplicates);

/* True: no call with this key is at work, and this one now is. False: the state waits for the one that is. */
bool in_flight_keys_enter(struct in_flight_keys *duplicates, int64_t organization_id,
                          const unsigned char key_hash[SECRET_HASH_BYTES], struct call_state *state) NONNULL(1, 3, 4);

/* The call with this key has ended: gives the states that waited for it, linked by `next`, oldest first. */
struct call_state *in_flight_keys_leave(struct in_flight_keys *duplicates, int64_t organization_id,
                                        const unsigned char key_hash[SECRET_HASH_BYTES]) NONNULL(1, 3);
