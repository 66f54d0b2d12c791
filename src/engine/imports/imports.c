#include "engine/imports/imports.h"

#include "base/json_read.h"
#include "base/text.h"

#include <string.h>

enum {
    ANALYZE_ABOVE = 5000, /* new contacts; with fewer, the statistics wait for autovacuum (migration 48) */
};

/* ---- Creating ---- */

/* The file has no longer names of columns. The rows of an import store the mapping, and read it within a bound. */
static bool check_mapping(const json_t *mapping, struct error *err)
{
    const char *header;
    json_t *name;
    if (json_object_size(mapping) > CSV_MAX_CELLS)
        return fail(err, ERR_INVALID_REQUEST, "mapping", "A mapping can have at most %d columns.", CSV_MAX_CELLS);
    json_object_foreach (json_for_iteration(mapping), header, name) {
        if (strlen(header) > IMPORT_HEADER_MAX_BYTES || json_string_length(name) > IMPORT_HEADER_MAX_BYTES)
            return fail(err, ERR_INVALID_REQUEST, "mapping", "A name in the mapping is longer than %d bytes.",
                        IMPORT_HEADER_MAX_BYTES);
        if (json_is_null(name) || json_is_string(name))
            continue;
        fail(err, ERR_INVALID_REQUEST, NULL, "A mapping value must be a field name, or null to skip the column.");
        return error_set_param(err, "mapping.%s", header);
    }
    return true;
}

bool import_request_check(const struct work *work, const struct import_request *request, struct error *err)
{
    if ((request->csv != NULL) == (request->path != NULL))
        return fail(err, ERR_INVALID_REQUEST, request->csv != NULL ? "path" : "csv", "Pass either csv or path.");
    if (request->csv != NULL && strlen(request->csv) > IMPORT_TEXT_MAX_BYTES)
        return fail(err, ERR_INVALID_REQUEST, "csv", "csv can have at most %d bytes; import larger data from a file with path.",
                    IMPORT_TEXT_MAX_BYTES);
    if (request->path != NULL && request->over_http)
        return fail(err, ERR_INVALID_REQUEST, "path", "path is available only to local callers. Pass the text as csv.");
    if (request->path != NULL && work->engine->import_root == NULL)
        return fail(err, ERR_INVALID_REQUEST, "path", "No import folder is configured; start the server with --import-root DIR.");
    return check_mapping(request->mapping, err);
}

static struct opt_int set_int(int64_t value)
{
    return (struct opt_int){ .set = true, .value = value };
}

/* Finds a running import of the same file. A caller that repeats a call after a timeout then waits for that import. */
static bool find_open(const struct work *work, const struct import_insert_params *wanted, int64_t *ret_job_id, struct error *err)
{
    struct import_find_open_params params = {
        .brand_id = work->brand_id,
        .root = wanted->root,
        .path = wanted->path,
        .device = wanted->device.value,
        .inode = wanted->inode.value,
        .modified_ns = wanted->modified_ns.value,
        .size_bytes = wanted->size_bytes,
        .mapping = wanted->mapping,
        .validate = wanted->validate,
    };
    struct import_find_open_row *row;
    if (!sql_import_find_open(work->conn, work->arena, &params, &row, err))
        return false;
    *ret_job_id = row != NULL ? row->job_id.value : 0;
    return true;
}

static bool identify_file(const struct work *work, const char *path, struct import_insert_params *insert, struct error *err)
{
    struct import_file file;
    insert->root = work->engine->import_root;
    if (!import_path_relative(work->arena, insert->root, path, &insert->path, err) ||
        !import_file_look(insert->root, insert->path, &file, err))
        return false;
    insert->device = set_int(file.device);
    insert->inode = set_int(file.inode);
    insert->modified_ns = set_int(file.modified_ns);
    insert->size_bytes = file.size_bytes;
    return true;
}

bool import_create(const struct work *work, const struct import_request *request, struct import_asked *ret_asked, struct error *err)
{
    *ret_asked = (struct import_asked){ .id = 0 };
    if (!import_request_check(work, request, err) || (request->validate && !validation_check_credits(work, 1, err)))
        return false;
    struct import_insert_params insert = {
        .brand_id = work->brand_id,
        .shards = IMPORT_SHARDS,
        .mapping = request->mapping != NULL ? json_compact(work->arena, request->mapping) : NULL,
        .validate = request->validate,
        .over_http = request->over_http,
        .now = work->now_us,
    };
    if (request->csv != NULL) {
        insert.csv = (struct bytes){ (const unsigned char *)request->csv, strlen(request->csv) };
        insert.size_bytes = (int64_t)insert.csv.size;
    } else {
        if (!identify_file(work, request->path, &insert, err) ||
            (request->may_join && !find_open(work, &insert, &ret_asked->job_id, err)))
            return false;
        if (ret_asked->job_id != 0)
            return true;
    }
    struct import_insert_row *row;
    if (!sql_import_insert(work->conn, work->arena, &insert, &row, err))
        return false;
    ret_asked->id = row->id;
    return true;
}

bool import_set_job(const struct work *work, int64_t id, int64_t job_id, struct error *err)
{
    struct import_bind_job_params params = { .brand_id = work->brand_id, .id = id, .job_id = job_id };
    return sql_import_bind_job(work->conn, work->arena, &params, NULL, err);
}

/* ---- Rounds ---- */

static bool import_not_found(struct error *err)
{
    return fail(err, ERR_NOT_FOUND, "importId", "No import with this id in this brand.");
}

static bool find_import(const struct work *work, int64_t id, const struct import_row **ret_row,
                        const struct import_shard_row **ret_shards, struct error *err)
{
    struct import_find_params find = { .brand_id = work->brand_id, .id = id };
    struct import_shards_find_params shards = { .brand_id = work->brand_id, .id = id };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    size_t row_at = db_batch_add(batch, &import_find_statement, &find);
    size_t shards_at = db_batch_add(batch, &import_shards_find_statement, &shards);
    if (!db_batch_run(batch, err))
        return false;
    *ret_row = db_batch_rows(batch, row_at)->rows;
    *ret_shards = db_batch_rows(batch, shards_at)->rows;
    return (*ret_row != NULL && db_batch_rows(batch, shards_at)->count == IMPORT_SHARDS) || import_not_found(err);
}

static bool open_import_source(const struct work *work, struct import *import, struct error *err)
{
    const struct import_row *row = import->row;
    import->source.work = work;
    import->source.import_id = row->id;
    if (row->path == NULL) {
        import_source_open_text(&import->source, row->size_bytes);
        return true;
    }
    struct import_file expected = {
        .device = row->device.value,
        .inode = row->inode.value,
        .modified_ns = row->modified_ns.value,
        .size_bytes = row->size_bytes,
    };
    return import_source_open_file(&import->source, row->root, row->path, &expected, err);
}

static bool read_mapping(const struct work *work, const struct import_row *row, const json_t **ret_mapping, struct error *err)
{
    struct json_bounds bounds = { .max_bytes = IMPORT_MAPPING_MAX_BYTES };
    *ret_mapping = NULL;
    return row->mapping == NULL || json_read(work->arena, row->mapping, strlen(row->mapping), bounds, ret_mapping, err);
}

/* Commits the plan, the fields it defines and the start positions of the shards in one transaction. */
static bool make_plan(const struct work *work, const struct import *import, struct error *err)
{
    const struct import_row *row = import->row;
    struct import_plan plan;
    const json_t *mapping;
    int64_t validation_id = 0;
    if (!read_mapping(work, row, &mapping, err))
        return false;
    DB_TX tx = { .conn = NULL };
    if (!db_tx_begin(work->conn, &tx, err) ||
        !import_plan_make(work, &import->source, mapping, row->path != NULL ? "path" : "csv", &plan, err) ||
        (row->validate && !validation_open(work, &validation_id, err)))
        return false;
    struct import_plan_keep_params keep = {
        .brand_id = work->brand_id,
        .id = row->id,
        .plan = import_plan_json(work->arena, &plan),
        .fields_created = plan.fields_created,
        .validation_id = { .set = validation_id != 0, .value = validation_id },
        .offset = plan.data_offset,
        .line = plan.data_line,
    };
    return sql_import_plan_keep(work->conn, work->arena, &keep, NULL, err) && db_tx_commit(&tx, err);
}

static bool import_has_ended(const struct import_row *row)
{
    return strcmp(row->status, "queued") != 0 && strcmp(row->status, "running") != 0;
}

bool import_open(const struct work *work, int64_t id, struct import *ret_import, struct error *err)
{
    *ret_import = (struct import){ .source = { .fd = -1 } };
    if (!find_import(work, id, &ret_import->row, &ret_import->shards, err))
        return false;
    ret_import->has_ended = import_has_ended(ret_import->row);
    if (ret_import->has_ended)
        return true;
    if (!open_import_source(work, ret_import, err))
        return false;
    if (ret_import->row->plan == NULL &&
        (!make_plan(work, ret_import, err) || !find_import(work, id, &ret_import->row, &ret_import->shards, err)))
        return false;
    ret_import->budget = (struct import_error_budget){ ret_import->shards[0].errors_kept, ret_import->shards[0].error_bytes };
    return import_plan_load(work->arena, ret_import->row->plan, &ret_import->plan, err);
}

void import_close(struct import *import)
{
    import_source_close(&import->source);
}

const struct import_shard_row *import_hindmost(const struct import *import)
{
    const struct import_shard_row *hindmost = &import->shards[0];
    for (size_t i = 1; i < IMPORT_SHARDS; i++)
        if (import->shards[i].chunks < hindmost->chunks)
            hindmost = &import->shards[i];
    return hindmost;
}

void import_explain_stop(const struct work *work, int64_t id, struct error *err)
{
    const struct import_row *row;
    const struct import_shard_row *shards;
    struct error ignored = { .code = ERR_NONE };
    if (!find_import(work, id, &row, &shards, &ignored))
        return;
    struct import_totals totals = import_totals_of(shards, IMPORT_SHARDS);
    int64_t saved = totals.inserted + totals.updated + totals.unchanged;
    size_t size = strlen(err->message);
    if (saved > 0)
        snprintf(err->message + size, sizeof(err->message) - size, " %lld rows were saved before that, and stay saved.",
                 (long long)saved);
}

/* ---- Finishing ---- */

bool import_finish(const struct work *work, int64_t id, enum import_end end, const char *message, int64_t waiting_job_id,
                   bool *ret_checks_follow, struct error *err)
{
    static const char *const statuses[] = {
        [IMPORT_COMPLETED] = "completed", [IMPORT_CANCELED] = "canceled", [IMPORT_FAILED] = "failed"
    };
    const struct import_row *row;
    const struct import_shard_row *shards;
    int64_t job_id = 0;
    *ret_checks_follow = false;
    if (!find_import(work, id, &row, &shards, err))
        return false;
    if (import_has_ended(row))
        return true;
    if (row->validation_id.set && !validation_start(work, row->validation_id.value, waiting_job_id, &job_id, err))
        return false;
    if (import_totals_of(shards, IMPORT_SHARDS).inserted > ANALYZE_ABOVE && !sql_import_analyze(work->conn, work->arena, NULL, err))
        return false;
    *ret_checks_follow = job_id != 0 && job_id == waiting_job_id;
    struct import_finish_params finish = {
        .brand_id = work->brand_id,
        .id = id,
        .status = statuses[end],
        .message = message,
        .validation_job = { .set = job_id != 0 && !*ret_checks_follow, .value = job_id },
        .now = work->now_us,
    };
    return sql_import_finish(work->conn, work->arena, &finish, NULL, err);
}

struct import_totals import_totals_of(const struct import_shard_row *shards, size_t count)
{
    struct import_totals totals = { 0 };
    for (size_t i = 0; i < count; i++) {
        totals.inserted += shards[i].inserted;
        totals.updated += shards[i].updated;
        totals.unchanged += shards[i].unchanged;
        totals.skipped += shards[i].skipped;
        totals.failed += shards[i].failed;
        totals.errors_kept += shards[i].errors_kept;
    }
    return totals;
}
