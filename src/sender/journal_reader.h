/*
 * Journal reader: reads the stale journal of an ended process, one range of one
 * send after the other, with the last record of each recipient. A range here is
 * `range_size` ordinals, counted from 1; that of the queue may begin elsewhere.
 *
 * Memory is bounded, however large the journal is. The reader goes through the
 * files in passes. A pass indexes the records of a part of the ranges (32 bytes
 * for each record, at most JOURNAL_INDEX_RECORDS), sorts the index, and reads the
 * records that count. A journal within its own bound needs at most two passes.
 *
 * A reader belongs to one thread.
 */
#pragma once

#include "sender/journal.h"

#include "base/values.h"

enum { JOURNAL_INDEX_RECORDS = 512 * 1024 };

struct journal_entry {
    struct journal_key key;
    bool has_reply;              /* false: a dot record */
    struct smtp_outcome outcome; /* with has_reply; `relay` is in the arena */
};

struct stale_journal {
    const char *owner;
    const char *const *paths;
    size_t path_count;
    int lock_fd; /* keeps other processes from reading stale journals of this folder */
};

/* The owners of all stale journals of this installation in the folder, in the arena; an owner with several files is there several
 * times. */
struct text_list journal_stale_owners(const struct journal_location *location, struct arena *arena) NONNULL(1, 2);

/* Finds the files of one of these owners and locks the folder until journal_close_stale. False when there are none any more, or
 * when another process holds the lock. */
MUST_CHECK bool journal_open_stale(const struct journal_location *location, const char *owner, struct arena *arena,
                                   struct stale_journal *ret_stale) NONNULL(1, 2, 3, 4);

/* Unlocks the folder. With `remove` the files of this journal are removed. */
void journal_close_stale(const struct stale_journal *stale, bool remove) NONNULL(1);

struct journal_reader;

/* A reader of this journal, which is borrowed. `range_size`: recipients of a range. `index_records`: the bound of the index, at
 * least 4 ranges. Files that cannot be read are ignored. */
struct journal_reader *journal_reader_new(const struct stale_journal *stale, int64_t range_size, size_t index_records)
    NONNULL(1) RETURNS_NONNULL;
void journal_reader_free(struct journal_reader *reader);

/* The next range: the last record of each of its recipients, ordered by ordinal, in the arena. False at the end. Each range is
 * given once, those of a pass in the order of their keys. */
MUST_CHECK bool journal_reader_next(struct journal_reader *reader, struct arena *arena, const struct journal_entry **ret_entries,
                                    size_t *ret_count) NONNULL(1, 2, 3, 4);

/* What the reader did. For the log and for tests. */
struct journal_reader_figures {
    size_t records; /* in the journal */
    size_t passes;
    size_t compares;  /* of two index entries */
    size_t max_bytes; /* of the index, at its largest */
};
struct journal_reader_figures journal_reader_figures(const struct journal_reader *reader) NONNULL(1);

void journal_reader_cleanup(struct journal_reader **reader);
#define JOURNAL_READER_SCOPE CLEANUP(journal_reader_cleanup) struct journal_reader *
