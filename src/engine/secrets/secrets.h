/*
 * Secrets that the database keeps sealed (crypto/seal.h): the way to the master
 * keys of this installation. They are read when they are needed and wiped with
 * the arena, so a key that was added is known at once, everywhere.
 *
 * The database remembers a fingerprint of each key that sealed something. A
 * process that has another key file (another machine, a folder that was lost)
 * is refused before it seals what nobody else could open.
 */
#pragma once

#include "crypto/seal.h"
#include "engine/core/work.h"

/* The keys to open with. Errors: SERVICE_UNAVAILABLE when the file is missing or not the right one. */
MUST_CHECK bool secrets_opening(const struct work *work, struct arena *arena, struct seal_ring **ret_ring, struct error *err)
    NONNULL(1, 2, 3, 4);

/* The keys to seal with, in the transaction that keeps what is sealed; the first use makes the key file.
 * Errors: SERVICE_UNAVAILABLE. */
MUST_CHECK bool secrets_sealing(const struct work *work, struct arena *arena, struct seal_ring **ret_ring, struct error *err)
    NONNULL(1, 2, 3, 4);
