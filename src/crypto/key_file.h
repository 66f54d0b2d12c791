/*
 * The key file: the master keys of an installation (crypto/seal.h), outside of
 * its database. Lines "NUMBER KEY", the key in base64; the last one seals, all
 * of them open; empty lines and lines that begin with # are comments.
 *
 * The file is made whole or not at all, also by several processes at once,
 * readable by its owner only. A file that everybody may read is refused.
 * No state; any thread.
 */
#pragma once

#include "crypto/seal.h"

/* Reads the keys; a NULL ring when there is no file. Errors: SERVICE_UNAVAILABLE, whose cause names file and line. */
MUST_CHECK bool key_file_read(struct arena *arena, const char *path, struct seal_ring **ret_ring, struct error *err)
    NONNULL(1, 2, 3, 4);

/* Makes a file with one new key, unless another process was first; reads it. Its folder exists. Errors: SERVICE_UNAVAILABLE. */
MUST_CHECK bool key_file_make(struct arena *arena, const char *path, struct seal_ring **ret_ring, struct error *err)
    NONNULL(1, 2, 3, 4);

/* Adds a new key, with which everything is sealed from now on. Errors: SERVICE_UNAVAILABLE; INVALID_REQUEST when there is no
 * file yet, or no room for another key. */
MUST_CHECK bool key_file_add(struct arena *arena, const char *path, int *ret_id, struct error *err) NONNULL(1, 2, 3, 4);
