/*
 * Monthly partitions of the tables events, hits and trigger_instances. A query reads only the
 * months of its time range, and an old month is dropped as a whole. Partitions are made in
 * advance. A row of a month without a partition goes to the default partition
 * and is found there; it moves to a partition when its month has passed.
 */
#pragma once

#include "db/db.h"

enum {
    EVENTS_KEPT_MONTHS = 24, /* when the operator has set nothing */
    EVENTS_KEPT_MONTHS_MAX = 1200,
};

/* Makes the missing partitions of the two months after that of `now_us`. When a table stays locked, it makes none; a later call
 * makes them. */
MUST_CHECK bool months_make(struct db_conn *conn, struct arena *arena, int64_t now_us, struct error *err) NONNULL(1, 2, 4);

/* Moves rows of the default partitions whose month has passed, up to a limit. Drops the months that are older
 * than the installation keeps. A month that is read stays until a later call. For a call once a minute, outside a transaction. */
MUST_CHECK bool months_tend(struct db_conn *conn, struct arena *arena, int64_t now_us, struct error *err) NONNULL(1, 2, 4);

/* For how many whole months events and hits are kept besides the current one, and sets it. Errors: INVALID_REQUEST (months). */
MUST_CHECK bool months_kept(struct db_conn *conn, struct arena *arena, int64_t *ret_months, struct error *err) NONNULL(1, 2, 3, 4);
MUST_CHECK bool months_keep(struct db_conn *conn, struct arena *arena, int64_t months, struct error *err) NONNULL(1, 2, 4);
