/*
 * A chunk: the unit in which an import is committed. Its rows
 * are checked and shared out among the shards by the key of their address, so
 * that everything about one person goes through one shard, in the order of the
 * text. Where a chunk ends depends on the text alone: a round that begins again
 * at a chunk's start cuts the same chunks.
 *
 * A chunk is filled by one thread and then only read by others; its memory is
 * its arena's.
 */
#pragma once

#include "engine/imports/plan.h"

enum {
    IMPORT_SHARDS = 2,
    IMPORT_CHUNK_ROWS = 16384,
    IMPORT_CHUNK_BYTES = 4 * 1024 * 1024,
    IMPORT_MAX_ERRORS_KEPT = 10000,
    IMPORT_MAX_ERROR_BYTES = 16 * 1024 * 1024,
    IMPORT_RECORD_MAX_BYTES = 8 * 1024,
};

/* What a row says of a contact; what is NULL or not set stays as it is. */
struct import_contact {
    const char *key;
    const char *email;
    const char *first_name;
    const char *last_name;
    const char *user_id;
    const char *source;
    struct opt_bool subscribed;
    const char *custom; /* members of a JSON object, "" for none; of equal names the last counts */
};

/* A row that was not saved. */
struct import_refusal {
    int64_t line;
    const char *email; /* as given; NULL when missing */
    enum error_code code;
    const char *field; /* NULL when it is about no field */
    const char *message;
    const char *record; /* the row as CSV; NULL when it cannot be given back */
};

struct import_part {
    struct import_contact *contacts;
    size_t count;
};

struct import_chunk {
    struct arena *arena;
    int64_t number;
    int64_t end_offset; /* where the next one begins */
    int64_t end_line;
    bool is_last;
    struct import_part parts[IMPORT_SHARDS];
    int64_t skipped; /* rows without any value */
    int64_t failed;
    struct import_refusal *refusals; /* those that are kept */
    size_t refusal_count;
    int64_t error_bytes;
};

/* What has been kept of errors so far, by which later ones are counted only. */
struct import_error_budget {
    int64_t kept;
    int64_t bytes;
};

/* An empty chunk; with what it will hold it goes when `owner` goes. */
struct import_chunk *import_chunk_new(struct arena *owner) NONNULL(1) RETURNS_NONNULL;

/* Fills the chunk with the next rows; its `is_last` tells that the text has ended. Numbering is the caller's. */
MUST_CHECK bool import_chunk_read(struct import_chunk *chunk, const struct import_plan *plan, struct import_reading *reading,
                                  struct import_error_budget *budget, struct error *err) NONNULL(1, 2, 3, 4, 5);
