/*
 * Resealing: seals the secrets of a table anew with the newest master key, some rows a transaction. The module of each table has
 * a function that reads one batch of rows and adds their updates; the loop, its transactions and the keys are here. The row keeps
 * its identity, and its contents stay the same.
 */
#pragma once

#include "engine/secrets/secrets.h"

/* The open transaction of one batch. */
struct reseal {
    const struct work *work;
    struct arena *arena; /* of the batch; it wipes the opened secrets */
    const struct seal_ring *ring;
    struct db_batch *updates;
    int64_t key_id; /* the newest key: rows that it sealed are left out */
    int64_t limit;  /* of rows in a batch */
};

/* Adds the updates of the next rows after `position` and advances `position`, which outlives the batch. */
typedef bool reseal_next(const struct reseal *reseal, void *position, size_t *ret_count, struct error *err);

/* Opens one sealed secret and seals it anew, in the arena of the batch. Errors: SERVICE_UNAVAILABLE. */
MUST_CHECK bool reseal_secret(const struct reseal *reseal, const char *purpose, const char *identity, struct bytes sealed,
                              struct bytes *ret_sealed, struct error *err) NONNULL(1, 2, 3, 5, 6);

/* Reseals a table from `position` to its end. `ret_count` counts the resealed rows. Errors: SERVICE_UNAVAILABLE. */
MUST_CHECK bool reseal_table(const struct work *work, reseal_next *next, void *position, int64_t *ret_count, struct error *err)
    NONNULL(1, 2, 3, 4, 5);
