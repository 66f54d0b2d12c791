/*
 * Keys of the servers of models, in the place of a file or a variable. They
 * belong to the installation. A key is sealed (engine/secrets) and bound to the
 * name of its server, so it cannot be sent to another one.
 *
 * A server is anthropic, openai, or the base address of another server without
 * slashes at its end. Processes read the keys when they start.
 */
#pragma once

#include "engine/core/work.h"

enum { MODEL_KEYS_MAX = 20, MODEL_SERVER_MAX_CHARS = 512, MODEL_KEY_SECRET_MAX_BYTES = 1024 };

/* Stores the key of a server, or replaces it, in the open transaction. Errors: INVALID_REQUEST (server, secret),
 * SERVICE_UNAVAILABLE (the master keys). */
MUST_CHECK bool model_key_set(const struct work *work, const char *server, const char *key, struct error *err) NONNULL(1, 2, 3, 4);

/* Removes the key of a server in the open transaction. Errors: NOT_FOUND. */
MUST_CHECK bool model_key_remove(const struct work *work, const char *server, struct error *err) NONNULL(1, 2, 3);

/* Writes the servers as {"data":[…]}, without their keys. */
MUST_CHECK bool model_keys_write(const struct work *work, struct json_writer *json, struct error *err) NONNULL(1, 2, 3);

/* Opens the key of a server in an arena that wipes it; NULL when none is stored. Errors: SERVICE_UNAVAILABLE. */
MUST_CHECK bool model_key_find(const struct work *work, struct arena *secrets, const char *server, const char **ret_key,
                               struct error *err) NONNULL(1, 2, 3, 4, 5);

/* Seals the keys that an older master key sealed with the newest one, a batch of them a transaction. */
MUST_CHECK bool model_keys_reseal(const struct work *work, int64_t *ret_count, struct error *err) NONNULL(1, 2, 3);
