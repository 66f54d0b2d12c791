/*
 * Master keys for sealed secrets in the database (encryption at rest,
 * crypto/seal.h). The key file is read for each use and wiped with the arena, so
 * every process uses an added key at once.
 *
 * The database stores the fingerprint of each key that sealed a secret. A process
 * with another key file (another machine, a lost folder) gets an error before it
 * seals a secret that no other process could open.
 */
#pragma once

#include "crypto/seal.h"
#include "engine/core/work.h"

/* Reads the keys for opening secrets. Errors: SERVICE_UNAVAILABLE when the file is missing or invalid. */
MUST_CHECK bool secrets_opening(const struct work *work, struct arena *arena, struct seal_ring **ret_ring, struct error *err)
    NONNULL(1, 2, 3, 4);

/* For a value that does not open: checks that the ring has the key that sealed it, so that the value itself is damaged. Errors:
 * SERVICE_UNAVAILABLE when the key file is not the one of the database, or lacks the key. */
MUST_CHECK bool secrets_check_key(const struct work *work, const struct seal_ring *ring, struct bytes sealed, struct error *err)
    NONNULL(1, 2, 4);

/* Reads the keys for sealing, in the transaction that stores the sealed secret. The first use makes the key file.
 * Errors: SERVICE_UNAVAILABLE. */
MUST_CHECK bool secrets_sealing(const struct work *work, struct arena *arena, struct seal_ring **ret_ring, struct error *err)
    NONNULL(1, 2, 3, 4);
