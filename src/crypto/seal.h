/*
 * Seal: encryption at rest for secrets in the database (private keys,
 * credentials), so that a stolen database does not reveal them. The cipher is
 * XChaCha20-Poly1305 with a master key from outside the database
 * (crypto/key_file.h).
 *
 * A sealed value has a version byte, the number of the master key (one byte), the
 * nonce, and the ciphertext with its tag. `purpose` and `identity` (of the row)
 * are associated data, so a value copied to another row cannot be decrypted.
 * The newest key of a ring encrypts, and all keys decrypt.
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

/* Adds a key, which becomes the newest. False when the ring is full, or the id is in use or not in 1 to SEAL_MAX_KEY_ID. */
MUST_CHECK bool seal_ring_add(struct seal_ring *ring, int id, const unsigned char key[SEAL_KEY_BYTES]) NONNULL(1, 3);

size_t seal_ring_count(const struct seal_ring *ring) NONNULL(1) PURE;
int seal_ring_newest(const struct seal_ring *ring) NONNULL(1) PURE;
/* The id for another key; 0 when the ring can have no more keys. */
int seal_ring_next(const struct seal_ring *ring) NONNULL(1) PURE;

/* The fingerprint of the newest key, which identifies the key without revealing it. */
void seal_ring_fingerprint(const struct seal_ring *ring, unsigned char ret_fingerprint[SEAL_FINGERPRINT_BYTES]) NONNULL(1, 2);

/* Whether the ring has the key `id` with this fingerprint. */
bool seal_ring_has(const struct seal_ring *ring, int id, struct bytes fingerprint) NONNULL(1);

/* The number of the master key of a sealed value; 0 when it is not a sealed value. */
int sealed_key_id(struct bytes sealed) PURE;

/* Encrypts with the newest key; the ring must have a key. */
struct bytes seal(struct arena *arena, const struct seal_ring *ring, const char *purpose, const char *identity, struct bytes secret)
    NONNULL(1, 2, 3, 4);

/* Decrypts a secret into memory that the arena wipes. Errors: SERVICE_UNAVAILABLE; the cause names the missing key, or says
 * that key, row or value differs from the sealed one. */
MUST_CHECK bool seal_open(struct arena *arena, const struct seal_ring *ring, const char *purpose, const char *identity,
                          struct bytes sealed, struct bytes *ret_secret, struct error *err) NONNULL(1, 2, 3, 4, 6, 7);
