/*
 * Lease expiry: frees the leases of processes that are gone and left no journal
 * here, such as those of another machine. What such a process sent is unknown, so
 * its recipients are uncertain.
 *
 * The lease of a process is freed when its time is over and the process had no
 * connection in two passes, between which its journal did not become readable. One
 * pass is not enough: a process that ends may lose its connections before the
 * kernel releases the lock on its journal, and the clock of the database may jump.
 */
#pragma once

#include "sender/journal.h"

#include "base/values.h"
#include "db/db.h"

/* Zeroed before the first pass. Belongs to one thread. */
struct lease_expiry {
    struct arena *arena;   /* owns the list */
    struct text_list gone; /* the processes without a connection at the last pass */
};

/* To be called every few seconds, after the recovery of journals. Errors: SERVICE_UNAVAILABLE. */
MUST_CHECK bool lease_expiry_pass(struct lease_expiry *expiry, const struct journal_location *location, struct db_conn *conn,
                                  struct error *err) NONNULL(1, 2, 3, 4);

/* Frees the list. */
void lease_expiry_end(struct lease_expiry *expiry) NONNULL(1);
