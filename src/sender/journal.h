/*
 * Journal: what a process that sends has said to relays and what they replied,
 * written down in the data folder as it happens: one write(2) when the final
 * dot of a message is about to leave, one when its reply has come. It survives
 * the process, not the machine: nothing is synced, since the database keeps
 * what was settled.
 *
 * Whoever starts in the same data folder reads the journals of processes that
 * are gone: a message with a reply is settled as it was; one with a dot alone
 * may have arrived.
 *
 * Files are DATA/journal/OWNER.N.journal, locked while their process lives. A
 * file that has grown is followed by the next; it is removed when nothing
 * written in it is unwritten (journal_forget).
 *
 * A file is a header (a mark, the fingerprint) and records: size (4 bytes), checksum (4), then the body,
 * in the byte order of the machine. A torn record ends it.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "smtp/event_loop.h"

enum { JOURNAL_FILE_BYTES = 16 * 1024 * 1024 };

/* The recipient of a message. */
struct journal_key {
    int64_t organization_id;
    int64_t brand_id;
    int64_t send_id;
    int64_t ordinal;
    int64_t attempts; /* before this one: what an earlier attempt left is not mistaken for this one's */
};

struct journal;

/* Where journals are kept, and of which installation: one of another database, or of what a backup has replaced, tells nothing. */
struct journal_place {
    const char *data_dir;
    uint64_t installation; /* a fingerprint */
};

/* Opens the journal of a process; `owner` is its unique name (letters, digits, spaces). Errors: SERVICE_UNAVAILABLE. */
MUST_CHECK bool journal_open(const struct journal_place *place, const char *owner, struct journal **ret_journal, struct error *err)
    NONNULL(1, 2, 3, 4);

/* Removes its files: everything is settled. */
void journal_remove(struct journal *journal);
/* Leaves its files for a later process to read. */
void journal_close(struct journal *journal);

/* Appends; from any thread. False when the disk would not take it, after which nothing of the record is there.
 * The number names the file it went to, for journal_forget. */
MUST_CHECK bool journal_dot(struct journal *journal, const struct journal_key *key, int64_t *ret_file) NONNULL(1, 2, 3);
MUST_CHECK bool journal_reply(struct journal *journal, const struct journal_key *key, const struct smtp_outcome *outcome,
                              int64_t *ret_file) NONNULL(1, 2, 3, 4);

/* The number of the file that is written now. */
int64_t journal_file(struct journal *journal) NONNULL(1);

/* Nothing in files before this one matters any more. */
void journal_forget(struct journal *journal, int64_t before_file) NONNULL(1);

/* ---- After a process is gone ---- */

struct journal_entry {
    struct journal_key key;
    bool has_reply;
    struct smtp_outcome outcome; /* with has_reply; `relay` lives in the arena */
};

struct journal_remains {
    const char *owner;
    struct journal_entry *entries; /* the last of each message, ordered by key */
    size_t count;
    int lock_fd; /* -1: there are none */
    const char *const *paths;
    size_t path_count;
};

/* The journal of one process of this installation that is gone, held by a lock until it is discarded; lock_fd -1 when there is
 * none. What cannot be read is logged and passed over. */
void journal_find_remains(const struct journal_place *place, struct arena *arena, struct journal_remains *ret_remains)
    NONNULL(1, 2, 3);

/* Done with it: with `remove` its files go. */
void journal_discard(const struct journal_remains *remains, bool remove) NONNULL(1);
