#include "engine/imports/chunk.h"

#include "base/json_write.h"
#include "base/text.h"
#include "mail/address.h"

#include <stdlib.h>
#include <string.h>

/* The same limits as for the arguments that save a single contact. */
enum { NAME_MAX_CHARS = 200, SOURCE_MAX_CHARS = 100, CUSTOM_MAX_BYTES = 8 * 1024 * 1024, SHOWN_EMAIL_CHARS = 320 };

static void chunk_release_arena(void *arena)
{
    arena_free(arena);
}

struct import_chunk *import_chunk_new(struct arena *owner)
{
    struct import_chunk *chunk = arena_alloc(owner, sizeof(*chunk));
    chunk->arena = arena_new(0);
    arena_defer(owner, chunk_release_arena, chunk->arena);
    return chunk;
}

/* ---- One row ---- */

struct row_reader {
    struct import_chunk *chunk;
    const struct import_plan *plan;
    struct buf custom; /* the custom fields of the row */
};

/* Trims white space around a cell, in place. */
static char *trim_cell(const struct csv_cell *cell)
{
    char *text = cell->text;
    char *end = text + cell->size;
    while (*text == ' ' || *text == '\t')
        text++;
    while (end > text && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r' || end[-1] == '\n'))
        end--;
    *end = '\0';
    return text;
}

static bool check_length(const char *text, size_t max_chars, const char *field, struct error *err)
{
    if (strlen(text) <= max_chars || utf8_length(text) <= max_chars)
        return true;
    return fail(err, ERR_INVALID_REQUEST, field, "The value can have at most %zu characters.", max_chars);
}

static bool refuse_custom_cell(const struct import_column *column, struct error *err)
{
    if (column->type == FIELD_NONE)
        fail(err, ERR_INVALID_REQUEST, NULL, "This field no longer exists.");
    else
        fail(err, ERR_FIELD_TYPE_MISMATCH, NULL, "The value of this field must be %s.", field_type_holds(column->type));
    return error_set_param(err, "customFields.%s", column->name);
}

static bool read_custom_cell(struct row_reader *reader, const struct import_column *column, const char *text, struct error *err)
{
    if (column->type == FIELD_STRING && !check_length(text, FIELD_TEXT_MAX_CHARS, NULL, err))
        return error_set_param(err, "customFields.%s", column->name);
    struct json_writer json;
    if (reader->custom.size > 0)
        buf_add_char(&reader->custom, ',');
    buf_add_text(&reader->custom, column->json_key);
    json_writer_init(&json, &reader->custom);
    return import_cell_write(text, column, &json) || refuse_custom_cell(column, err);
}

static bool read_cell(struct row_reader *reader, const struct import_column *column, const char *text,
                      struct import_contact *contact, struct error *err)
{
    struct arena *arena = reader->chunk->arena;
    switch (column->kind) {
    case COLUMN_SKIP:
    case COLUMN_EMAIL:
        return true;
    case COLUMN_FIRST_NAME:
        contact->first_name = arena_dup(arena, text);
        return check_length(text, NAME_MAX_CHARS, column->name, err);
    case COLUMN_LAST_NAME:
        contact->last_name = arena_dup(arena, text);
        return check_length(text, NAME_MAX_CHARS, column->name, err);
    case COLUMN_USER_ID:
        contact->user_id = arena_dup(arena, text);
        return check_length(text, NAME_MAX_CHARS, column->name, err);
    case COLUMN_SOURCE:
        contact->source = arena_dup(arena, text);
        return check_length(text, SOURCE_MAX_CHARS, column->name, err);
    case COLUMN_SUBSCRIBED:
        contact->subscribed.set = true;
        return import_cell_bool(text, &contact->subscribed.value) ||
               fail(err, ERR_INVALID_REQUEST, column->name, "The value must be true or false.");
    case COLUMN_CUSTOM:
        return read_custom_cell(reader, column, text, err);
    }
    return true;
}

static bool read_email(struct row_reader *reader, const char *text, struct import_contact *contact, struct error *err)
{
    if (text[0] == '\0')
        return fail(err, ERR_MISSING_EMAIL, "email", "The row has no email address.");
    struct address address;
    if (!address_parse(reader->chunk->arena, text, "email", &address, err)) {
        err->code = ERR_INVALID_EMAIL;
        return false;
    }
    contact->key = address.key;
    contact->email = address.mailbox;
    return true;
}

/* Trims the cells in place. True when any cell has a value. */
static bool trim_cells(const struct csv_row *row, const char **ret_cells)
{
    bool any = false;
    for (size_t i = 0; i < row->count && i < CSV_MAX_CELLS; i++) {
        ret_cells[i] = trim_cell(&row->cells[i]);
        any = any || ret_cells[i][0] != '\0';
    }
    return any;
}

/* Spreadsheets pad short rows with delimiters, or omit them. Only a value beyond the last column is an error. */
static bool check_width(const struct csv_row *row, const char *const *cells, size_t columns, struct error *err)
{
    bool is_wide = row->count > CSV_MAX_CELLS;
    for (size_t i = columns; i < row->count && !is_wide; i++)
        is_wide = cells[i][0] != '\0';
    return !is_wide || fail(err, ERR_INVALID_REQUEST, NULL, "Line %lld has %zu cells; the header has %zu.", (long long)row->line,
                            row->count, columns);
}

static bool read_contact(struct row_reader *reader, const struct csv_row *row, const char *const *cells,
                         struct import_contact *ret_contact, struct error *err)
{
    const struct import_columns *columns = &reader->plan->columns;
    *ret_contact = (struct import_contact){ .custom = "" };
    buf_clear(&reader->custom);
    if (!check_width(row, cells, columns->count, err))
        return false;
    size_t count = row->count < columns->count ? row->count : columns->count;
    const char *email = "";
    for (size_t i = 0; i < count; i++) {
        if (columns->items[i].kind == COLUMN_EMAIL)
            email = cells[i];
        else if (cells[i][0] != '\0' && !read_cell(reader, &columns->items[i], cells[i], ret_contact, err))
            return false;
    }
    if (!read_email(reader, email, ret_contact, err))
        return false;
    if (reader->custom.overflowed)
        return fail(err, ERR_INVALID_REQUEST, NULL, "The custom fields of this row are too large.");
    if (reader->custom.size > 0)
        ret_contact->custom = arena_dup_bytes(reader->chunk->arena, reader->custom.data, reader->custom.size);
    reader->chunk->custom_bytes += reader->custom.size;
    return true;
}

/* ---- Rows of a chunk ---- */

static const char *row_record(struct arena *arena, const char *const *cells, size_t count, char delimiter)
{
    BUF_SCOPE record;
    buf_init(&record, IMPORT_RECORD_MAX_BYTES);
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            buf_add_char(&record, delimiter);
        csv_write_safe_cell(&record, cells[i]);
    }
    return record.overflowed ? NULL : arena_dup(arena, buf_text(&record));
}

static const char *row_email(const struct row_reader *reader, const struct csv_row *row, const char *const *cells)
{
    const struct import_columns *columns = &reader->plan->columns;
    for (size_t i = 0; i < columns->count && i < row->count; i++)
        if (columns->items[i].kind == COLUMN_EMAIL && cells[i][0] != '\0')
            return text_visible(reader->chunk->arena, cells[i], SHOWN_EMAIL_CHARS);
    return NULL;
}

/* Reports a row as failed. `cells` is NULL when the row cannot be returned as CSV. */
static void refuse_row(struct row_reader *reader, struct import_error_budget *budget, const struct csv_row *row,
                       const char *const *cells, const struct error *error)
{
    struct import_chunk *chunk = reader->chunk;
    chunk->failed++;
    if (budget->kept >= IMPORT_MAX_ERRORS_KEPT || budget->bytes >= IMPORT_MAX_ERROR_BYTES)
        return;
    struct import_refusal refusal = {
        .line = row->line,
        .code = error->code,
        .field = error->param[0] != '\0' ? arena_dup(chunk->arena, error->param) : NULL,
        .message = arena_dup(chunk->arena, error->message),
    };
    if (cells != NULL) {
        refusal.email = row_email(reader, row, cells);
        size_t count = row->count < CSV_MAX_CELLS ? row->count : (size_t)CSV_MAX_CELLS;
        refusal.record = row_record(chunk->arena, cells, count, reader->plan->delimiter);
    }
    int64_t bytes = (int64_t)(strlen(refusal.message) + (refusal.record != NULL ? strlen(refusal.record) : 0));
    budget->kept++;
    budget->bytes += bytes;
    chunk->error_bytes += bytes;
    chunk->refusals[chunk->refusal_count++] = refusal;
}

/* Hashes a key with FNV-1a (64 bits), so that a key belongs to the same shard in every round and in every version. */
static size_t shard_of(const char *key)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (const unsigned char *at = (const unsigned char *)key; *at != '\0'; at++)
        hash = (hash ^ *at) * UINT64_C(0x100000001b3);
    return (size_t)(hash >> 32) % IMPORT_SHARDS;
}

static void take_row(struct row_reader *reader, struct import_error_budget *budget, const struct csv_row *row)
{
    struct import_chunk *chunk = reader->chunk;
    const char *cells[CSV_MAX_CELLS];
    struct error error = { .code = ERR_NONE };
    if (row->fault != CSV_FINE) {
        fail(&error, ERR_INVALID_REQUEST, NULL, "%s", import_fault_message(chunk->arena, row));
        refuse_row(reader, budget, row, NULL, &error);
        return;
    }
    if (!trim_cells(row, cells)) {
        chunk->skipped += !row->is_blank;
        return;
    }
    struct import_contact contact;
    if (!read_contact(reader, row, cells, &contact, &error)) {
        refuse_row(reader, budget, row, cells, &error);
        return;
    }
    struct import_part *part = &chunk->parts[shard_of(contact.key)];
    part->contacts[part->count++] = contact;
}

static void row_reader_done(struct row_reader *reader)
{
    buf_done(&reader->custom);
}

static void clear_chunk(struct import_chunk *chunk)
{
    struct arena *arena = chunk->arena;
    arena_reset(arena);
    *chunk = (struct import_chunk){ .arena = arena, .number = chunk->number };
    for (size_t i = 0; i < IMPORT_SHARDS; i++)
        chunk->parts[i].contacts = arena_array(arena, IMPORT_CHUNK_ROWS, sizeof(struct import_contact));
    chunk->refusals = arena_array(arena, IMPORT_CHUNK_ROWS, sizeof(struct import_refusal));
}

static bool is_full(const struct import_chunk *chunk, size_t rows, int64_t text_bytes)
{
    return rows >= IMPORT_CHUNK_ROWS || text_bytes >= IMPORT_CHUNK_BYTES || chunk->custom_bytes >= IMPORT_CHUNK_CUSTOM_BYTES;
}

bool import_chunk_read(struct import_chunk *chunk, const struct import_plan *plan, struct import_reading *reading,
                       struct import_error_budget *budget, struct error *err)
{
    clear_chunk(chunk);
    CLEANUP(row_reader_done) struct row_reader reader = { .chunk = chunk, .plan = plan };
    buf_init(&reader.custom, CUSTOM_MAX_BYTES);
    int64_t begin = reading->csv.offset;
    bool got = true;
    bool ok = true;
    for (size_t rows = 0; !is_full(chunk, rows, reading->csv.offset - begin); rows++) {
        struct csv_row row;
        ok = import_reading_next(reading, &got, &row, err);
        if (!ok || !got)
            break;
        take_row(&reader, budget, &row);
    }
    chunk->end_offset = reading->csv.offset;
    chunk->end_line = reading->csv.line;
    chunk->is_last = !got;
    return ok;
}
