/*
 * Chunk: the unit of work that an import commits. Its rows are checked and
 * assigned to shards by the key of their address, so that all rows of one person
 * go through one shard, in the order of the text. The boundaries of chunks
 * depend on the text and its plan alone: a round that resumes at a chunk's start
 * reads the same chunks again.
 *
 * One thread fills a chunk; then other threads only read it. Its memory belongs
 * to its arena.
 */
#pragma once

#include "engine/imports/plan.h"

enum {
    IMPORT_SHARDS = 2,
    IMPORT_CHUNK_ROWS = 16384,
    IMPORT_CHUNK_BYTES = 4 * 1024 * 1024,
    IMPORT_CHUNK_CUSTOM_BYTES = 8 * 1024 * 1024, /* of custom fields as JSON, which repeats the names of the columns in each row */
    IMPORT_MAX_ERRORS_KEPT = 10000,
    IMPORT_MAX_ERROR_BYTES = 16 * 1024 * 1024,
    IMPORT_RECORD_MAX_BYTES = 8 * 1024,
};

/* The values of one row. Members that are NULL or not set stay unchanged in the contact. */
struct import_contact {
    const char *key;
    const char *email;
    const char *first_name;
    const char *last_name;
    const char *user_id;
    const char *source;
    struct opt_bool subscribed;
    const char *custom; /* members of a JSON object, "" for none; the last of duplicate names counts */
};

/* A row that was not saved, and the error. */
struct import_refusal {
    int64_t line;
    const char *email; /* as given; NULL when missing */
    enum error_code code;
    const char *field; /* NULL when the error concerns no field */
    const char *message;
    const char *record; /* the row as CSV; NULL when it cannot be returned */
};

struct import_part {
    struct import_contact *contacts;
    size_t count;
};

struct import_chunk {
    struct arena *arena;
    int64_t number;
    int64_t end_offset; /* start of the next chunk */
    int64_t end_line;
    bool is_last;
    struct import_part parts[IMPORT_SHARDS];
    size_t custom_bytes;
    int64_t skipped; /* rows without any value */
    int64_t failed;
    struct import_refusal *refusals; /* the stored ones, limited by import_error_budget */
    size_t refusal_count;
    int64_t error_bytes;
};

/* The errors stored so far. When the budget is used up, further errors are only counted. */
struct import_error_budget {
    int64_t kept;
    int64_t bytes;
};

/* Makes an empty chunk. It is freed, with its contents, together with `owner`. */
struct import_chunk *import_chunk_new(struct arena *owner) NONNULL(1) RETURNS_NONNULL;

/* Fills the chunk with the next rows and sets `is_last` at the end of the text. The caller sets `number`. */
MUST_CHECK bool import_chunk_read(struct import_chunk *chunk, const struct import_plan *plan, struct import_reading *reading,
                                  struct import_error_budget *budget, struct error *err) NONNULL(1, 2, 3, 4, 5);
