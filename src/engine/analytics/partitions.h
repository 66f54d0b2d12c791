/*
 * Partitions of events, one a month, so that a window of time reads the months
 * it touches and old months can be dropped whole. They are made ahead; an event
 * of a month without one goes to the partition of strays and is found all the
 * same.
 */
#pragma once

#include "db/db.h"

/* Makes what is missing of the two months behind that of `now_us`. When the table is in use for long, nothing is made and
 * another time will do. */
MUST_CHECK bool event_partitions_make(struct db_conn *conn, struct arena *arena, int64_t now_us, struct error *err)
    NONNULL(1, 2, 4);
