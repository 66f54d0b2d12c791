/*
 * Restore guard: finds out whether the database was restored from an older state,
 * and holds what may have gone out since then (engine/core/restore_holds.h).
 *
 * Each data folder has a random number and a generation. The generation is in the
 * database (data_folders) and in the file generation.json of the folder. A process
 * that sends compares them at its start, before it leases anything, and once a
 * minute. Then it moves both on. Folders do not compare with each other, so
 * processes with different folders can share a database, start in any order and
 * be stopped for any time.
 *
 * Order of the writes, and what a kill leaves:
 *
 *     1. a folder without a file: the file, with a new number and generation 0
 *     2. the database: the generation + 1, and the holds, in one transaction
 *     3. the file: the same generation
 *
 *     killed after 1: the file has generation 0, the database does not know the
 *                     folder. The next start judges as for a folder without a file.
 *     killed after 2: the file is one behind the database. A file that is behind
 *                     never raises an alarm. Holds are in the database already.
 *     power failure:  as after 2, because the file is synced after the commit.
 *
 * So the file is ahead of the database only when the database went back: its
 * generation is smaller, or it does not know the folder. Step 3 takes place under
 * the lock of the folder, and after its commit.
 *
 * A folder without a file, with a file of another installation, or with a copied
 * file cannot tell. Examples are the first start after an upgrade, a database that
 * moved to a new machine, and a data folder that was restored with its cluster.
 * Then the database decides: when every process has been away from it for
 * RESTORE_AWAY_US or longer, open sends are held. A database that no process has
 * ever moved on raises no alarm.
 *
 * Sends that went out in the minute after the dump can be missed, because the
 * generation moves once a minute. A snapshot that keeps inode numbers, such as one
 * of a virtual machine, is not recognized as a copy.
 */
#pragma once

#include "engine/core/work.h"

#define RESTORE_AWAY_US (INT64_C(15) * 60 * 1000000)
#define RESTORE_MOVE_US (INT64_C(60) * 1000000)

enum restore_finding {
    RESTORE_NOT_FOUND,
    RESTORE_OF_DATABASE, /* the database is older than the folder */
    RESTORE_UNCLEAR,     /* the folder cannot tell, and no process has used the database for long */
};

/* Compares, holds open sends when the database was restored, and moves both generations on. `ret_held`: the number of sends that
 * this call has held. Errors: SERVICE_UNAVAILABLE, and those of the database. */
MUST_CHECK bool restore_guard_check(const struct work *work, const char *data_dir, enum restore_finding *ret_finding,
                                    int64_t *ret_held, struct error *err) NONNULL(1, 2, 3, 4, 5);

/* restore_guard_check, with a warning in the log when sends were held. */
MUST_CHECK bool restore_guard_pass(const struct work *work, const char *data_dir, struct error *err) NONNULL(1, 2, 3);
