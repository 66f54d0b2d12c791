/*
 * Monthly partitions of the events table. A query reads only the months of its
 * time range, and an old month can be dropped as a whole. Partitions are made in
 * advance. An event of a month without a partition goes to the default partition
 * and is found there.
 */
#pragma once

#include "db/db.h"

/* Makes the missing partitions of the two months after that of `now_us`. When the table stays locked, it makes none; a later call
 * makes them. */
MUST_CHECK bool event_partitions_make(struct db_conn *conn, struct arena *arena, int64_t now_us, struct error *err)
    NONNULL(1, 2, 4);
