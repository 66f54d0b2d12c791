/*
 * Journal: the write-ahead record of what a process sends to relays. It has two
 * kinds of records for a message: a dot record, written before the final dot
 * leaves, and a reply record, written when the final reply has come. Each is one
 * write(2) to a file in the data folder.
 *
 * The journal survives a crash of the process, not of the machine: nothing is
 * synced. Results that are written to the database need no journal any more.
 *
 * Files are DATA/journal/OWNER.N.journal. The process that writes them holds a
 * lock on each. A file above JOURNAL_FILE_BYTES is followed by the next number.
 * A file is removed when no attempt needs a record in it. An attempt that lasts
 * long does not keep a file: journal_carry appends its record again.
 *
 * The journal has at most JOURNAL_FILES_MAX files. Beyond that it takes no dot
 * record, so nothing is sent to relays until files are removed.
 *
 * A journal is stale when its process has ended, so that its files can be locked.
 * journal_reader.h reads stale journals.
 *
 * Format: a header (magic, installation), then records of size (4 bytes),
 * checksum (4 bytes) and body, in the machine's byte order. A torn record ends
 * the file.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "smtp/event_loop.h"

#include <stdatomic.h>

enum {
    JOURNAL_FILE_BYTES = 16 * 1024 * 1024,
    JOURNAL_FILES_MAX = 8,
    JOURNAL_FILES_BEFORE_CARRY = 4, /* from this number on the records in old files are appended again */
};

/* An attempt to deliver to one recipient of a send. */
struct journal_key {
    int64_t organization_id;
    int64_t brand_id;
    int64_t send_id;
    int64_t ordinal;
    int64_t attempts; /* before this one; so a record of an earlier attempt is recognised */
};

/* The place of the last record of an attempt. `file` is 0 when the journal has no record that recovery needs. */
struct journal_mark {
    atomic_int_fast64_t file;
    int64_t offset; /* guarded by the journal */
};

struct journal;

/* The folder of the journals, and the installation whose rows they name. Journals of another installation, or from before a
 * restored backup, are ignored. */
struct journal_location {
    const char *data_dir;
    uint64_t installation; /* a fingerprint */
};

/* ---- Writing; from any thread ---- */

/* Opens the journal of this process. `owner`: its unique name, of letters, digits and spaces. Errors: SERVICE_UNAVAILABLE. */
MUST_CHECK bool journal_open(const struct journal_location *location, const char *owner, struct journal **ret_journal,
                             struct error *err) NONNULL(1, 2, 3, 4);

/* Closes it and removes its files, when every result is in the database. NULL is allowed. */
void journal_remove(struct journal *journal);
/* Closes it and leaves its files for recovery. NULL is allowed. */
void journal_close(struct journal *journal);

/* Append a record and mark its place. False when the write failed, then nothing of the record is in the file. journal_add_dot gives
 * false at the bound of the journal, too. A reply record of SMTP_NOT_SENT clears the mark: recovery needs no record of the attempt.
 */
MUST_CHECK bool journal_add_dot(struct journal *journal, const struct journal_key *key, struct journal_mark *mark) NONNULL(1, 2, 3);
MUST_CHECK bool journal_add_reply(struct journal *journal, const struct journal_key *key, const struct smtp_outcome *outcome,
                                  struct journal_mark *mark) NONNULL(1, 2, 3, 4);

/* The file of the marked record, or 0. */
int64_t journal_mark_file(const struct journal_mark *mark) NONNULL(1);
/* Clears the mark. */
void journal_forget(struct journal_mark *mark) NONNULL(1);

/* Appends the marked record again if it is not in the current file, and marks the new place. It stays the last record of its
 * attempt, also while another thread adds one. A record that cannot be written stays where it is. */
void journal_carry(struct journal *journal, struct journal_mark *mark) NONNULL(1, 2);

/* The number of the file that is written now. */
int64_t journal_current_file(struct journal *journal) NONNULL(1);

/* Removes the files with lower numbers than this one. The current file stays. */
void journal_remove_before(struct journal *journal, int64_t file) NONNULL(1);
