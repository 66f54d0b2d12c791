/*
 * Import report: the result of an import, and the error file with the rows that
 * failed.
 */
#include "engine/imports/imports.h"

#include "base/clock.h"
#include "base/json_read.h"
#include "engine/validation/address_warning.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

enum { ERROR_FILE_MAX_BYTES = 64 * 1024 * 1024, LINK_NUMBERS = 3 };
static const int64_t link_lifetime_us = INT64_C(24) * 3600 * US_PER_S;
static const char link_purpose[] = "import errors";

struct import_view {
    const struct import_row *row;
    struct import_totals totals;
    const struct import_error_row *errors;
    size_t error_count;
    const struct import_error_count_row *counts; /* of the stored errors, by code */
    size_t count_count;
};

static bool view_import(const struct work *work, int64_t id, int64_t max_errors, struct import_view *ret_view, struct error *err)
{
    struct import_find_params find = { .brand_id = work->brand_id, .id = id };
    struct import_shards_find_params shards = { .brand_id = work->brand_id, .id = id };
    struct import_errors_find_params errors = { .brand_id = work->brand_id, .id = id, .limit = max_errors };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    size_t row_at = db_batch_add(batch, &import_find_statement, &find);
    size_t shards_at = db_batch_add(batch, &import_shards_find_statement, &shards);
    size_t errors_at = db_batch_add(batch, &import_errors_find_statement, &errors);
    struct import_errors_count_params counts = { .brand_id = work->brand_id, .id = id };
    size_t counts_at = db_batch_add(batch, &import_errors_count_statement, &counts);
    if (!db_batch_run(batch, err))
        return false;
    const struct db_rows *shard_rows = db_batch_rows(batch, shards_at);
    *ret_view = (struct import_view){
        .row = db_batch_rows(batch, row_at)->rows,
        .totals = import_totals_of(shard_rows->rows, shard_rows->count),
        .errors = db_batch_rows(batch, errors_at)->rows,
        .error_count = db_batch_rows(batch, errors_at)->count,
        .counts = db_batch_rows(batch, counts_at)->rows,
        .count_count = db_batch_rows(batch, counts_at)->count,
    };
    return ret_view->row != NULL || fail(err, ERR_NOT_FOUND, "importId", "No import with this id in this brand.");
}

/* ---- The result ---- */

static void write_summary(const struct import_totals *totals, struct json_writer *json)
{
    json_key(json, "summary");
    json_object_begin(json);
    json_member_int(json, "inserted", totals->inserted);
    json_member_int(json, "updated", totals->updated);
    json_member_int(json, "unchanged", totals->unchanged);
    json_member_int(json, "skipped", totals->skipped);
    json_member_int(json, "failed", totals->failed);
    json_object_end(json);
}

static void write_errors(const struct import_view *view, struct json_writer *json)
{
    json_key(json, "errors");
    json_array_begin(json);
    for (size_t i = 0; i < view->error_count; i++) {
        const struct import_error_row *error = &view->errors[i];
        json_object_begin(json);
        json_member_int(json, "line", error->line);
        json_member_text(json, "email", error->email);
        json_member_text(json, "code", error->code);
        json_member_text_if(json, "field", error->field);
        json_member_text(json, "message", error->message);
        json_object_end(json);
    }
    json_array_end(json);
    if (view->count_count == 0)
        return;
    json_key(json, "errorCounts");
    json_object_begin(json);
    for (size_t i = 0; i < view->count_count; i++)
        json_member_int(json, view->counts[i].code, view->counts[i].count);
    json_object_end(json);
}

static int by_address(const void *left, const void *right)
{
    const struct address_check *const *a = left;
    const struct address_check *const *b = right;
    return strcmp((*a)->given, (*b)->given);
}

/* The shards give the contacts their ids in any order, so the warnings are in the order of the addresses. */
static void write_address_warnings(const struct work *work, const struct validation_round *checked, struct json_writer *json)
{
    size_t count = checked->list.count;
    const struct address_check **sorted = arena_array(work->arena, count, sizeof(*sorted));
    for (size_t i = 0; i < count; i++)
        sorted[i] = &checked->list.items[i];
    qsort(sorted, count, sizeof(*sorted), by_address);
    for (size_t i = 0; i < count; i++)
        address_warning_write(work->arena, sorted[i], json);
    if (checked->unpaid == 0)
        return;
    json_object_begin(json);
    json_member_text(json, "code", "ADDRESS_UNCHECKED");
    json_member_text(json, "field", "email");
    json_member_text(
        json, "message",
        arena_printf(work->arena, "The credits do not suffice for all addresses. Not checked: %lld.", (long long)checked->unpaid));
    json_object_end(json);
}

static bool write_import_warnings(const struct work *work, const struct import_row *row, const struct validation_round *checked,
                                  struct json_writer *json, struct error *err)
{
    struct import_plan plan = { .delimiter = ',' };
    if (row->plan != NULL && !import_plan_load(work->arena, row->plan, &plan, err))
        return false;
    json_key(json, "warnings");
    json_array_begin(json);
    for (size_t i = 0; i < json_array_size(plan.columns.warnings); i++)
        json_raw(json, json_compact(work->arena, json_array_get(plan.columns.warnings, i)));
    if (checked != NULL)
        write_address_warnings(work, checked, json);
    json_array_end(json);
    return true;
}

bool import_write(const struct work *work, int64_t id, const struct validation_round *checked, struct json_writer *json,
                  struct error *err)
{
    struct import_view view;
    if (!view_import(work, id, IMPORT_SHOWN_ERRORS, &view, err))
        return false;
    json_object_begin(json);
    json_member_id(json, work, "importId", ID_IMPORT, id);
    json_member_text(json, "status", view.row->status);
    write_summary(&view.totals, json);
    json_member_texts(json, "fieldsCreated", view.row->fields_created);
    write_errors(&view, json);
    if (!write_import_warnings(work, view.row, checked, json, err))
        return false;
    if (view.error_count > 0 && view.row->over_http) {
        const char *base = work->engine->public_url != NULL ? work->engine->public_url : "";
        json_member_text(json, "errorFileUrl", arena_printf(work->arena, "%s/downloads/%s", base, import_link_token(work, id)));
    }
    json_member_id_if(json, work, "validationJobId", ID_JOB, view.row->validation_job);
    json_member_text_if(json, "message", view.row->message);
    json_object_end(json);
    return true;
}

/* ---- The error file ---- */

static void write_file_header(const struct import_plan *plan, struct buf *out)
{
    for (size_t i = 0; i < plan->columns.count; i++) {
        csv_write_safe_cell(out, plan->columns.items[i].header);
        buf_add_char(out, plan->delimiter);
    }
    buf_printf(out, "importLine%cimportError\r\n", plan->delimiter);
}

/* A row can have fewer or more cells than the header. The error follows the last column of the longer one. */
static size_t cells_in(const char *record, char delimiter)
{
    size_t count = 1;
    bool is_quoted = false;
    for (const char *at = record; *at != '\0'; at++) {
        is_quoted = is_quoted != (*at == '"');
        count += !is_quoted && *at == delimiter;
    }
    return count;
}

static void write_file_row(const struct import_plan *plan, const struct import_error_row *error, struct buf *out)
{
    const char *record = error->record != NULL ? error->record : "";
    buf_add_text(out, record);
    for (size_t cells = cells_in(record, plan->delimiter); cells < plan->columns.count; cells++)
        buf_add_char(out, plan->delimiter);
    buf_printf(out, "%c%lld%c", plan->delimiter, (long long)error->line, plan->delimiter);
    csv_write_safe_cell(out, error->message);
    buf_add_text(out, "\r\n");
}

bool import_error_file(const struct work *work, int64_t id, const char **ret_csv, struct error *err)
{
    struct import_view view;
    struct import_plan plan;
    if (!view_import(work, id, IMPORT_MAX_ERRORS_KEPT, &view, err))
        return false;
    *ret_csv = "";
    if (view.row->plan == NULL)
        return true;
    if (!import_plan_load(work->arena, view.row->plan, &plan, err))
        return false;
    struct buf *out = buf_in_arena(work->arena, ERROR_FILE_MAX_BYTES);
    write_file_header(&plan, out);
    for (size_t i = 0; i < view.error_count; i++)
        write_file_row(&plan, &view.errors[i], out);
    *ret_csv = buf_text(out);
    return !out->overflowed || fail(err, ERR_INTERNAL_ERROR, NULL, "The error file is too large.");
}

/* ---- Links ---- */

char *import_link_token(const struct work *work, int64_t id)
{
    const uint64_t numbers[LINK_NUMBERS] = { htobe64((uint64_t)work->brand_id), htobe64((uint64_t)id),
                                             htobe64((uint64_t)(work->now_us + link_lifetime_us)) };
    return token_seal(work->arena, &work->engine->token_keys, link_purpose, numbers, sizeof(numbers));
}

bool import_link_open(const struct work *work, const char *token, int64_t *ret_brand_id, int64_t *ret_id)
{
    uint64_t numbers[LINK_NUMBERS];
    struct bytes payload;
    if (!token_open(work->arena, &work->engine->token_keys, link_purpose, token, &payload) || payload.size != sizeof(numbers))
        return false;
    memcpy(numbers, payload.data, sizeof(numbers));
    *ret_brand_id = (int64_t)be64toh(numbers[0]);
    *ret_id = (int64_t)be64toh(numbers[1]);
    return work->now_us < (int64_t)be64toh(numbers[2]);
}
