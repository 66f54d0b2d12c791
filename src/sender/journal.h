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
 * A file is removed when the queue has no attempt with a record in it.
 *
 * A journal is stale when its process has ended, so that its files can be locked.
 * recovery.c reads stale journals.
 *
 * Format: a header (magic, installation), then records of size (4 bytes),
 * checksum (4 bytes) and body, in the machine's byte order. A torn record ends
 * the file.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "smtp/event_loop.h"

enum { JOURNAL_FILE_BYTES = 16 * 1024 * 1024 };

/* An attempt to deliver to one recipient of a send. */
struct journal_key {
    int64_t organization_id;
    int64_t brand_id;
    int64_t send_id;
    int64_t ordinal;
    int64_t attempts; /* before this one; so a record of an earlier attempt is recognised */
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

/* Append a record, and give the number of its file. False when the write failed; then nothing of the record is in the file. */
MUST_CHECK bool journal_add_dot(struct journal *journal, const struct journal_key *key, int64_t *ret_file) NONNULL(1, 2, 3);
MUST_CHECK bool journal_add_reply(struct journal *journal, const struct journal_key *key, const struct smtp_outcome *outcome,
                                  int64_t *ret_file) NONNULL(1, 2, 3, 4);

/* The number of the file that is written now. */
int64_t journal_current_file(struct journal *journal) NONNULL(1);

/* Removes the files with lower numbers than this one. The current file stays. */
void journal_remove_before(struct journal *journal, int64_t file) NONNULL(1);

/* ---- Reading a stale journal ---- */

struct journal_entry {
    struct journal_key key;
    bool has_reply;              /* false: a dot record */
    struct smtp_outcome outcome; /* with has_reply; `relay` is in the arena */
};

struct stale_journal {
    const char *owner;
    struct journal_entry *entries; /* the last record of each recipient, ordered by key */
    size_t count;
    const char *const *paths;
    size_t path_count;
    int lock_fd; /* keeps other processes from reading stale journals of this folder */
};

/* Reads a stale journal of this installation and locks the folder until journal_close_stale. False when there is none, or when
 * another process holds the lock. Files that cannot be read are ignored. */
MUST_CHECK bool journal_find_stale(const struct journal_location *location, struct arena *arena, struct stale_journal *ret_stale)
    NONNULL(1, 2, 3);

/* Unlocks the folder. With `remove` the files of this journal are removed. */
void journal_close_stale(const struct stale_journal *stale, bool remove) NONNULL(1);
