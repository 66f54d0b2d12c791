/*
 * Sealing: what must be read back but not by whoever gets hold of the database
 * (private keys, credentials) is kept as XChaCha20-Poly1305 under a master key
 * that lives outside of it (crypto/key_file.h).
 *
 * A sealed value is a version byte, a byte that tells which master key, the
 * nonce, and the ciphertext with its tag. `purpose` and `identity` (of the row)
 * are authenticated with it, so a sealed value does not open in another place.
 * Of several keys the newest seals and all open.
 *
 * Rings are read-only after they are made; any thread.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/values.h"

enum {
    SEAL_KEY_BYTES = 32,
    SEAL_MAX_KEYS = 16,
    SEAL_MAX_KEY_ID = 255,
    SEAL_OVERHEAD_BYTES = 2 + 24 + 16,
    SEAL_FINGERPRINT_BYTES = 16,
};

struct seal_ring;

/* An empty ring in the arena, which wipes its keys at its end. */
struct seal_ring *seal_ring_new(struct arena *arena) NONNULL(1) RETURNS_NONNULL;

/* Adds a key, which is the newest then. False when the ring is full, or the id is taken or not in 1 to SEAL_MAX_KEY_ID. */
MUST_CHECK bool seal_ring_add(struct seal_ring *ring, int id, const unsigned char key[SEAL_KEY_BYTES]) NONNULL(1, 3);

size_t seal_ring_count(const struct seal_ring *ring) NONNULL(1) PURE;
int seal_ring_newest(const struct seal_ring *ring) NONNULL(1) PURE;
/* The id for one more key; 0 when there can be none. */
int seal_ring_next(const struct seal_ring *ring) NONNULL(1) PURE;

/* What tells one key from another without telling anything about it. The newest key's. */
void seal_ring_fingerprint(const struct seal_ring *ring, unsigned char ret_fingerprint[SEAL_FINGERPRINT_BYTES]) NONNULL(1, 2);

/* Seals with the newest key; the ring has one. */
struct bytes seal(struct arena *arena, const struct seal_ring *ring, const char *purpose, const char *identity, struct bytes secret)
    NONNULL(1, 2, 3, 4);

/* The secret, in memory that the arena wipes. Errors: SERVICE_UNAVAILABLE, whose cause names the key that is missing, or
 * tells that key, place or value is another than it was sealed with. */
MUST_CHECK bool seal_open(struct arena *arena, const struct seal_ring *ring, const char *purpose, const char *identity,
                          struct bytes sealed, struct bytes *ret_secret, struct error *err) NONNULL(1, 2, 3, 4, 6, 7);
