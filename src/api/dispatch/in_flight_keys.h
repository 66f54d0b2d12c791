/*
 * Idempotency keys in flight: duplicate calls of one process. A call whose
 * idempotency key is in use by a running call waits here, without a thread or a
 * connection. It is queued again when that call has completed, and then replays
 * the stored response. Duplicates in other processes wait in the database
 * (engine/ledger).
 */
#pragma once

#include "base/compiler.h"
#include "crypto/keys.h"

#include <stdbool.h>
#include <stdint.h>

struct call_state;
struct in_flight_keys;

struct in_flight_keys *in_flight_keys_new(void) RETURNS_NONNULL;
void in_flight_keys_free(struct in_flight_keys *in_flight);

/* True: no running call has this key, and this call now holds it. False: `state` waits for the call that holds it. */
bool in_flight_keys_enter(struct in_flight_keys *in_flight, int64_t organization_id,
                          const unsigned char key_hash[SECRET_HASH_BYTES], struct call_state *state) NONNULL(1, 3, 4);

/* Releases the key. Returns the calls that waited for it, linked by `next`, oldest first. */
struct call_state *in_flight_keys_leave(struct in_flight_keys *in_flight, int64_t organization_id,
                                        const unsigned char key_hash[SECRET_HASH_BYTES]) NONNULL(1, 3);
