/*
 * Import preview: reads and checks the rows of a text as an import does, and
 * writes what the import would do. It keeps the keys of the rows, so that rows of
 * one address count once.
 */
#include "engine/imports/imports.h"

#include "base/json_read.h"

#include <stdlib.h>
#include <string.h>

enum { KEYS_PER_QUERY = 65536 };

struct refusal_count {
    enum error_code code;
    int64_t count;
};

struct preview {
    const struct work *work;
    struct import_source source;
    struct import_plan plan;
    bool is_whole;
    int64_t rows;
    int64_t skipped;
    int64_t failed;
    const char **keys; /* of the rows that can be saved */
    size_t key_count;
    size_t key_room;
    int64_t known; /* keys that are contacts */
    struct import_refusal errors[IMPORT_SHOWN_ERRORS];
    size_t error_count;
    struct refusal_count *counts; /* by code */
    size_t count_count;
    size_t count_room;
};

/* ---- Reading ---- */

static bool open_preview_source(struct preview *preview, const struct import_request *request, struct error *err)
{
    const struct work *work = preview->work;
    struct import_file file;
    const char *path;
    preview->source.work = work;
    if (request->csv != NULL) {
        import_source_open_given(&preview->source, request->csv);
        return true;
    }
    const char *root = work->engine->import_root;
    return import_path_relative(work->arena, root, request->path, &path, err) && import_file_look(root, path, &file, err) &&
           import_source_open_file(&preview->source, root, path, &file, err);
}

static void keep_keys(struct preview *preview, const struct import_part *part)
{
    struct arena *arena = preview->work->arena;
    if (preview->key_count + part->count > preview->key_room) {
        size_t room = 2 * (preview->key_count + part->count);
        const char **keys = arena_array(arena, room, sizeof(*keys));
        if (preview->key_count > 0)
            memcpy(keys, preview->keys, preview->key_count * sizeof(*keys));
        preview->keys = keys;
        preview->key_room = room;
    }
    for (size_t i = 0; i < part->count; i++)
        preview->keys[preview->key_count++] = arena_dup(arena, part->contacts[i].key);
}

static void count_code(struct preview *preview, enum error_code code)
{
    size_t at = 0;
    while (at < preview->count_count && preview->counts[at].code != code)
        at++;
    if (at == preview->count_room) {
        struct refusal_count *counts = arena_array(preview->work->arena, 2 * at + 4, sizeof(*counts));
        if (at > 0)
            memcpy(counts, preview->counts, at * sizeof(*counts));
        preview->counts = counts;
        preview->count_room = 2 * at + 4;
    }
    if (at == preview->count_count)
        preview->counts[preview->count_count++] = (struct refusal_count){ .code = code };
    preview->counts[at].count++;
}

/* The chunk frees its texts before the next one is read. */
static void keep_refusal(struct preview *preview, const struct import_refusal *refusal)
{
    struct arena *arena = preview->work->arena;
    count_code(preview, refusal->code);
    if (preview->error_count == IMPORT_SHOWN_ERRORS)
        return;
    preview->errors[preview->error_count++] = (struct import_refusal){
        .line = refusal->line,
        .email = refusal->email != NULL ? arena_dup(arena, refusal->email) : NULL,
        .code = refusal->code,
        .field = refusal->field != NULL ? arena_dup(arena, refusal->field) : NULL,
        .message = arena_dup(arena, refusal->message),
    };
}

static void take_chunk(struct preview *preview, const struct import_chunk *chunk)
{
    for (size_t i = 0; i < IMPORT_SHARDS; i++) {
        keep_keys(preview, &chunk->parts[i]);
        preview->rows += (int64_t)chunk->parts[i].count;
    }
    for (size_t i = 0; i < chunk->refusal_count; i++)
        keep_refusal(preview, &chunk->refusals[i]);
    preview->rows += chunk->failed + chunk->skipped;
    preview->failed += chunk->failed;
    preview->skipped += chunk->skipped;
    preview->is_whole = chunk->is_last;
}

static bool read_rows(struct preview *preview, struct error *err)
{
    const struct import_plan *plan = &preview->plan;
    struct import_error_budget budget = { .kept = 0 };
    struct import_chunk *chunk = import_chunk_new(preview->work->arena);
    IMPORT_READING_SCOPE reading;
    import_reading_begin(&reading, &preview->source, plan->charset, plan->delimiter, plan->data_offset, plan->data_line);
    while (!preview->is_whole && preview->rows < IMPORT_PREVIEW_ROWS) {
        if (!import_chunk_read(chunk, plan, &reading, &budget, err))
            return false;
        take_chunk(preview, chunk);
    }
    return true;
}

/* ---- Known contacts ---- */

static int by_text(const void *left, const void *right)
{
    const char *const *a = left;
    const char *const *b = right;
    return strcmp(*a, *b);
}

/* Sorts the keys and removes repeated ones. */
static void unite_keys(struct preview *preview)
{
    size_t count = 0;
    if (preview->key_count > 0)
        qsort(preview->keys, preview->key_count, sizeof(*preview->keys), by_text);
    for (size_t i = 0; i < preview->key_count; i++)
        if (count == 0 || strcmp(preview->keys[i], preview->keys[count - 1]) != 0)
            preview->keys[count++] = preview->keys[i];
    preview->key_count = count;
}

static bool count_known(struct preview *preview, struct error *err)
{
    const struct work *work = preview->work;
    for (size_t from = 0; from < preview->key_count; from += KEYS_PER_QUERY) {
        size_t left = preview->key_count - from;
        struct import_known_keys_params params = {
            .brand_id = work->brand_id,
            .email_keys = { preview->keys + from, left < KEYS_PER_QUERY ? left : (size_t)KEYS_PER_QUERY },
        };
        struct db_batch *batch = db_batch_new(work->conn, work->arena);
        db_batch_add(batch, &import_planner_statement, NULL);
        size_t known_at = db_batch_add(batch, &import_known_keys_statement, &params);
        if (!db_batch_run(batch, err))
            return false;
        preview->known += (int64_t)db_batch_rows(batch, known_at)->count;
    }
    return true;
}

/* ---- Writing ---- */

static void write_preview_summary(const struct preview *preview, struct json_writer *json)
{
    json_key(json, "summary");
    json_object_begin(json);
    json_member_int(json, "inserted", (int64_t)preview->key_count - preview->known);
    json_member_int(json, "updated", preview->known);
    json_member_int(json, "skipped", preview->skipped);
    json_member_int(json, "failed", preview->failed);
    json_object_end(json);
}

static const char *column_type(const struct import_column *column)
{
    static const char *const names[] = {
        [FIELD_NONE] = "string", [FIELD_STRING] = "string", [FIELD_NUMBER] = "number", [FIELD_DATE] = "date", [FIELD_BOOL] = "bool",
    };
    if (column->kind == COLUMN_SUBSCRIBED)
        return "bool";
    return column->kind == COLUMN_CUSTOM ? names[column->type] : "string";
}

static void write_columns(const struct import_columns *columns, struct json_writer *json)
{
    json_key(json, "columns");
    json_array_begin(json);
    for (size_t i = 0; i < columns->count; i++) {
        const struct import_column *column = &columns->items[i];
        json_object_begin(json);
        json_member_text(json, "column", column->header);
        json_member_text(json, "field", column->name);
        if (column->kind != COLUMN_SKIP)
            json_member_text(json, "type", column_type(column));
        json_object_end(json);
    }
    json_array_end(json);
}

static void write_preview_errors(const struct preview *preview, struct json_writer *json)
{
    json_key(json, "errors");
    json_array_begin(json);
    for (size_t i = 0; i < preview->error_count; i++) {
        const struct import_refusal *error = &preview->errors[i];
        json_object_begin(json);
        json_member_int(json, "line", error->line);
        json_member_text(json, "email", error->email);
        json_member_text(json, "code", error_info(error->code)->name);
        json_member_text_if(json, "field", error->field);
        json_member_text(json, "message", error->message);
        json_object_end(json);
    }
    json_array_end(json);
    if (preview->count_count == 0)
        return;
    json_key(json, "errorCounts");
    json_object_begin(json);
    for (size_t i = 0; i < preview->count_count; i++)
        json_member_int(json, error_info(preview->counts[i].code)->name, preview->counts[i].count);
    json_object_end(json);
}

static void write_preview(const struct preview *preview, struct json_writer *json)
{
    const struct text_list *created = &preview->plan.fields_created;
    json_object_begin(json);
    json_member_bool(json, "dryRun", true);
    json_member_int(json, "rowsRead", preview->rows);
    json_member_bool(json, "isWhole", preview->is_whole);
    write_preview_summary(preview, json);
    write_columns(&preview->plan.columns, json);
    json_member_texts(json, "fieldsCreated", *created);
    write_preview_errors(preview, json);
    json_member_raw(json, "warnings", json_compact(preview->work->arena, preview->plan.columns.warnings));
    json_object_end(json);
}

static bool make_preview(struct preview *preview, const struct import_request *request, struct error *err)
{
    const char *param = request->path != NULL ? "path" : "csv";
    if (!open_preview_source(preview, request, err) ||
        !import_plan_preview(preview->work, &preview->source, request->mapping, param, &preview->plan, err) ||
        !read_rows(preview, err))
        return false;
    unite_keys(preview);
    return count_known(preview, err);
}

bool import_preview(const struct work *work, const struct import_request *request, struct json_writer *json, struct error *err)
{
    if (!import_request_check(work, request, err))
        return false;
    struct preview *preview = arena_alloc(work->arena, sizeof(*preview));
    *preview = (struct preview){ .work = work, .source = { .fd = -1 } };
    bool ok = make_preview(preview, request, err);
    import_source_close(&preview->source);
    if (ok)
        write_preview(preview, json);
    return ok;
}
