/*
 * Imports: contacts from a CSV text or file of any size. A request is a row. A
 * job executes it in rounds, chunk by chunk. Each chunk is committed with its
 * position (checkpoint), so that after a crash another worker resumes after the
 * last chunk, and no row is saved twice or lost. Rows that cannot be saved are
 * reported with their lines. The others are saved by the rules of
 * contacts/contacts.h; an empty cell or a missing column changes nothing.
 *
 * A round is: import_open, then chunks (chunk.h), which one thread reads and the
 * shards (shard.h) apply on other threads. Results are allocated in the arena of
 * the work.
 */
#pragma once

#include "engine/imports/shard.h"
#include "engine/validation/validation.h"
#include "sql/imports.h"

enum { IMPORT_TEXT_MAX_BYTES = 6 * 1024 * 1024, IMPORT_SHOWN_ERRORS = 100 };

/* ---- Creating ---- */

struct import_request {
    const char *csv;  /* either csv or path is set */
    const char *path; /* a file below the import root of the engine */
    const json_t *mapping;
    bool validate;
    bool over_http;
    bool may_join; /* a running import of the same file may answer the request */
};

/* A requested import: a new one, which needs a job, or a running one with its job. */
struct import_asked {
    int64_t id;     /* 0 when joined */
    int64_t job_id; /* 0 when new */
};

/* Checks a request before its text is read. Errors: INVALID_REQUEST with param csv, path or mapping. */
MUST_CHECK bool import_request_check(const struct work *work, const struct import_request *request, struct error *err)
    NONNULL(1, 2, 3);

/* Stores the request in the open transaction. Errors: INVALID_REQUEST with param csv, path or mapping; with `validate`
 * INSUFFICIENT_CREDITS. */
MUST_CHECK bool import_create(const struct work *work, const struct import_request *request, struct import_asked *ret_asked,
                              struct error *err) NONNULL(1, 2, 3, 4);

/* Stores the job that executes the import. */
MUST_CHECK bool import_set_job(const struct work *work, int64_t id, int64_t job_id, struct error *err) NONNULL(1, 4);

/* ---- Preview ---- */

enum { IMPORT_PREVIEW_ROWS = 100000 };

/* Reads the text of a request, about IMPORT_PREVIEW_ROWS rows at most, and writes what an import would do: the resource
 * "contactImportPreview". Writes nothing to the database. Errors: those of import_create and of the plan. */
MUST_CHECK bool import_preview(const struct work *work, const struct import_request *request, struct json_writer *json,
                               struct error *err) NONNULL(1, 2, 3, 4);

/* ---- Executing ---- */

struct import {
    const struct import_row *row;
    struct import_plan plan;
    struct import_source source;
    const struct import_shard_row *shards; /* IMPORT_SHARDS of them */
    struct import_error_budget budget;
    bool has_ended; /* nothing is left to do */
};

/* Opens an import for a round of work, and makes its plan if it has none. No transaction may be open. Call import_close also
 * after a failure. Errors: INVALID_REQUEST for a text that cannot be imported, or a file that has changed. */
MUST_CHECK bool import_open(const struct work *work, int64_t id, struct import *ret_import, struct error *err) NONNULL(1, 3, 4);
void import_close(struct import *import) NONNULL(1);
#define IMPORT_SCOPE CLEANUP(import_close) struct import

/* Appends the number of rows saved before to the error of a round. */
void import_explain_stop(const struct work *work, int64_t id, struct error *err) NONNULL(1, 3);

/* The shard with the fewest committed chunks. A round starts to read at its position. */
const struct import_shard_row *import_hindmost(const struct import *import) NONNULL(1) RETURNS_NONNULL;

enum import_end { IMPORT_COMPLETED, IMPORT_CANCELED, IMPORT_FAILED };

/* Finishes the import in the open transaction: deletes the text and starts the validation of the saved contacts. `message` is
 * the reason of a failure, else NULL. `waiting_job_id` as in validation_start; `ret_checks_follow` is true when that job makes the
 * validation in its next round. */
MUST_CHECK bool import_finish(const struct work *work, int64_t id, enum import_end end, const char *message, int64_t waiting_job_id,
                              bool *ret_checks_follow, struct error *err) NONNULL(1, 6, 7);

/* ---- Reporting ---- */

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

/* The resource "contactImport". `checked`: the addresses that its job has validated, for the warnings, or NULL. Errors: NOT_FOUND.
 */
MUST_CHECK bool import_write(const struct work *work, int64_t id, const struct validation_round *checked, struct json_writer *json,
                             struct error *err) NONNULL(1, 4, 5);

/* The rows that failed, as a CSV with their lines and reasons. Errors: NOT_FOUND. */
MUST_CHECK bool import_error_file(const struct work *work, int64_t id, const char **ret_csv, struct error *err) NONNULL(1, 3, 4);

/* ---- Links to the error file ---- */

/* Makes a sealed token for the file, valid for a day, and opens one. False when it is invalid or expired. */
char *import_link_token(const struct work *work, int64_t id) NONNULL(1) RETURNS_NONNULL;
bool import_link_open(const struct work *work, const char *token, int64_t *ret_brand_id, int64_t *ret_id) NONNULL(1, 2, 3, 4);
