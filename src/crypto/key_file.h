/*
 * Key file: the master keys of an installation (crypto/seal.h), outside of its
 * database. A line is "NUMBER KEY", with the key in base64. The last key encrypts,
 * and all keys decrypt. Empty lines and lines that begin with # are ignored.
 *
 * The file is created atomically, also by several processes at once, and only its
 * owner can read it. A file that everybody can read is refused.
 * No state; any thread.
 */
#pragma once

#include "crypto/seal.h"

/* Reads the keys; a NULL ring when there is no file. Errors: SERVICE_UNAVAILABLE with file and line in the cause. */
MUST_CHECK bool key_file_read(struct arena *arena, const char *path, struct seal_ring **ret_ring, struct error *err)
    NONNULL(1, 2, 3, 4);

/* Creates a file with one new key, unless another process was first, and reads it. The folder must exist.
 * Errors: SERVICE_UNAVAILABLE. */
MUST_CHECK bool key_file_make(struct arena *arena, const char *path, struct seal_ring **ret_ring, struct error *err)
    NONNULL(1, 2, 3, 4);

/* Adds a new key, which encrypts all later secrets. Errors: SERVICE_UNAVAILABLE; INVALID_REQUEST when there is no file yet, or
 * no room for another key. */
MUST_CHECK bool key_file_add(struct arena *arena, const char *path, int *ret_id, struct error *err) NONNULL(1, 2, 3, 4);
