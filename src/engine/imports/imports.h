/*
 * Imports: contacts from a CSV text or file of any size. What is asked for is a
 * row; a job does it in rounds, chunk by chunk, each committed with its place,
 * so that whoever takes over after a crash goes on where the last chunk ended
 * and no row is saved twice or left out. Rows that cannot be saved are reported
 * with their lines; the others are saved by the rules of contacts/contacts.h,
 * where an empty cell and a missing column leave things as they are.
 *
 * A round is: import_open, then chunks (chunk.h) read by one thread and applied
 * by the shards (shard.h) on others. Results live in the arena of the work.
 */
#pragma once

#include "engine/imports/shard.h"
#include "sql/imports.h"

enum { IMPORT_TEXT_MAX_BYTES = 6 * 1024 * 1024, IMPORT_SHOWN_ERRORS = 100 };

/* ---- Asking for one ---- */

struct import_request {
    const char *csv;  /* one of the two */
    const char *path; /* of a file beneath the import root of the engine */
    const json_t *mapping;
    bool validate;
    bool over_http;
    bool may_join; /* be answered by an import of the same file that is under way */
};

/* An import that was asked for: a new one, which wants a job, or one that has a job already. */
struct import_asked {
    int64_t id;     /* 0 when joined */
    int64_t job_id; /* 0 when new */
};

/* Keeps the request in the open transaction. Errors: INVALID_REQUEST with param csv, path or mapping; with `validate`
 * INSUFFICIENT_CREDITS. */
MUST_CHECK bool import_create(const struct work *work, const struct import_request *request, struct import_asked *ret_asked,
                              struct error *err) NONNULL(1, 2, 3, 4);

/* Tells the import which job does it. */
MUST_CHECK bool import_set_job(const struct work *work, int64_t id, int64_t job_id, struct error *err) NONNULL(1, 4);

/* ---- Doing it ---- */

struct import {
    const struct import_row *row;
    struct import_plan plan;
    struct import_source source;
    const struct import_shard_row *shards; /* IMPORT_SHARDS of them */
    struct import_error_budget budget;
    bool has_ended; /* nothing is left to do */
};

/* Opens an import for a round of work, making its plan first when it has none; no transaction may be open. Ends with
 * import_close in any case. Errors: INVALID_REQUEST for a text that cannot be imported, or a file that is not what it was. */
MUST_CHECK bool import_open(const struct work *work, int64_t id, struct import *ret_import, struct error *err) NONNULL(1, 3, 4);
void import_close(struct import *import) NONNULL(1);
#define IMPORT_SCOPE CLEANUP(import_close) struct import

/* Adds to the error of a round what the import has saved before. */
void import_explain_stop(const struct work *work, int64_t id, struct error *err) NONNULL(1, 3);

/* The shard that is furthest back: where a round begins to read. */
const struct import_shard_row *import_hindmost(const struct import *import) NONNULL(1) RETURNS_NONNULL;

enum import_end { IMPORT_COMPLETED, IMPORT_CANCELED, IMPORT_FAILED };

/* The end, in the open transaction: the text is dropped and the validation of what was saved begins. `message` tells why it
 * failed, else NULL. */
MUST_CHECK bool import_finish(const struct work *work, int64_t id, enum import_end end, const char *message, struct error *err)
    NONNULL(1, 5);

/* ---- Telling of it ---- */

/* The counts of all shards. */
struct import_totals {
    int64_t inserted;
    int64_t updated;
    int64_t unchanged;
    int64_t skipped;
    int64_t failed;
    int64_t errors_kept;
};
struct import_totals import_totals_of(const struct import_shard_row *shards, size_t count);

/* The resource "contactImport". Errors: NOT_FOUND. */
MUST_CHECK bool import_write(const struct work *work, int64_t id, struct json_writer *json, struct error *err) NONNULL(1, 3, 4);

/* The rows that failed, as a CSV with their lines and reasons. Errors: NOT_FOUND. */
MUST_CHECK bool import_error_file(const struct work *work, int64_t id, const char **ret_csv, struct error *err) NONNULL(1, 3, 4);

/* ---- Links to the error file ---- */

/* A signed token for the file, good for a day; and the import it stands for. False: it is none, or too old. */
char *import_link_token(const struct work *work, int64_t id) NONNULL(1) RETURNS_NONNULL;
bool import_link_open(const struct work *work, const char *token, int64_t *ret_brand_id, int64_t *ret_id) NONNULL(1, 2, 3, 4);
