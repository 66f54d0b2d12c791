/*
 * Fuzzes what an import reads of a file before it needs the database. The first
 * byte chooses the charset and the delimiter; the rest is a file, after a line of
 * JSON with the mapping when it begins with '{'. Besides not crashing: decoding
 * in pieces gives what decoding at once gives, as UTF-8 of the right size; every
 * sampled value fits the type that the sample gives its column, in the form of
 * that type; and a stored plan is read back unchanged.
 */
#include "base/json_read.h"
#include "base/text.h"
#include "engine/imports/plan.h"
#include "fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    TEXT_MAX_BYTES = 32 * 1024,
    CHARSETS = 4,
    DELIMITERS = 4,
    ROWS_KEPT = 64,
    COLUMNS_KEPT = 32,
    CELL_JSON_MAX_BYTES = 256 * 1024
};

static void check_error(const struct error *err)
{
    require(err->code == ERR_INVALID_REQUEST && err->message[0] != '\0');
    require(utf8_is_valid(err->message, strlen(err->message)) && utf8_is_valid(err->param, strlen(err->param)));
}

/* ---- Charsets ---- */

static void decode_in_pieces(enum charset charset, const unsigned char *data, size_t size, size_t piece, struct buf *out)
{
    size_t at = 0;
    size_t held = piece;
    while (at < size) {
        bool is_last = held >= size - at;
        size_t given = is_last ? size - at : held;
        size_t taken = charset_decode(charset, data + at, given, is_last, out);
        require(taken <= given && (taken == given || !is_last));
        at += taken;
        held = taken == 0 ? held + 1 : piece; /* an incomplete character needs more */
    }
}

static void check_charset(enum charset charset, const unsigned char *data, size_t size)
{
    BUF_SCOPE at_once;
    BUF_SCOPE in_pieces;
    buf_init(&at_once, SIZE_MAX);
    buf_init(&in_pieces, SIZE_MAX);
    require(charset_decode(charset, data, size, true, &at_once) == size);
    decode_in_pieces(charset, data, size, 1 + size % 7, &in_pieces);
    require(at_once.size == in_pieces.size && memcmp(buf_text(&at_once), buf_text(&in_pieces), at_once.size) == 0);
    require(at_once.size <= 3 * size);
    if (charset != CHARSET_UTF8 && memchr(buf_text(&at_once), '\0', at_once.size) == NULL)
        require(utf8_is_valid(buf_text(&at_once), at_once.size));
    size_t whole = charset == CHARSET_UTF16LE || charset == CHARSET_UTF16BE ? size & ~(size_t)1 : size;
    require(charset_encoded_bytes(charset, buf_text(&at_once), at_once.size) == whole);
    require(charset_from_name(charset_name(charset)) == charset);
}

/* ---- A file ---- */

struct import_under_test {
    struct arena *arena;
    struct import_source source;
    struct import_reading reading;
    struct import_plan plan;
    const json_t *mapping; /* NULL: none */
    const char *cells[ROWS_KEPT][COLUMNS_KEPT];
    size_t rows;
    struct column_sample samples[CSV_MAX_CELLS];
};

static void open_file(struct import_under_test *test, const unsigned char *data, size_t size)
{
    int fd = memfd_create("import", MFD_CLOEXEC);
    require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    test->source = (struct import_source){ .fd = fd, .file = { .size_bytes = (int64_t)size } };
}

static bool next_row(struct import_under_test *test, struct csv_row *ret_row)
{
    struct error err = { .code = ERR_NONE };
    bool got;
    require(import_reading_next(&test->reading, &got, ret_row, &err));
    if (got && ret_row->fault != CSV_FINE)
        require(import_fault_message(test->arena, ret_row)[0] != '\0');
    return got;
}

static bool read_header(struct import_under_test *test)
{
    struct csv_row row;
    struct error err = { .code = ERR_NONE };
    if (!next_row(test, &row) || row.fault != CSV_FINE)
        return false;
    if (import_columns_read(test->arena, &row, test->mapping, SIZE_MAX, "csv", &test->plan.columns, &err))
        return true;
    check_error(&err);
    return false;
}

static void sample_row(struct import_under_test *test, const struct csv_row *row)
{
    for (size_t i = 0; i < test->plan.columns.count && i < row->count && i < COLUMNS_KEPT; i++) {
        const char *cell = text_trim(test->arena, row->cells[i].text);
        test->cells[test->rows][i] = cell;
        if (cell[0] != '\0' && test->plan.columns.items[i].kind == COLUMN_CUSTOM)
            column_sample_add(&test->samples[i], cell);
    }
    test->rows++;
}

/* ---- Columns ---- */

/* A name that was normalized is a name as it is, so that a filter or another file finds the field by it. */
static void check_name(struct arena *arena, const struct import_column *column)
{
    const char *again;
    struct error err = { .code = ERR_NONE };
    require(column->name != NULL && utf8_is_valid(column->name, strlen(column->name)));
    if (column->kind == COLUMN_CUSTOM)
        require(field_name_normalize(arena, column->name, &again, &err) && strcmp(again, column->name) == 0);
}

static bool has_form(const json_t *json, enum field_type type)
{
    switch (type) {
    case FIELD_NUMBER:
        return json_is_number(json);
    case FIELD_BOOL:
        return json_is_boolean(json);
    case FIELD_DATE:
    case FIELD_STRING:
        return json_is_string(json);
    case FIELD_NONE:
        break;
    }
    return false;
}

/* Writes the cell in its form; a stored value is stored again unchanged. */
static bool write_cell(struct arena *arena, const struct import_column *column, const char *cell)
{
    struct buf *out = buf_in_arena(arena, CELL_JSON_MAX_BYTES);
    struct buf *again = buf_in_arena(arena, CELL_JSON_MAX_BYTES);
    struct json_writer json;
    struct error err = { .code = ERR_NONE };
    const json_t *value;
    json_writer_init(&json, out);
    if (!import_cell_write(cell, column, &json)) {
        require(out->size == 0);
        return false;
    }
    require(json_read(arena, out->data, out->size, (struct json_bounds){ .max_bytes = SIZE_MAX }, &value, &err));
    require(has_form(value, column->type));
    json_writer_init(&json, again);
    require(field_value_write(value, column->type, &json));
    require(strcmp(buf_text(out), buf_text(again)) == 0);
    return true;
}

static void check_column(struct import_under_test *test, size_t index)
{
    struct import_column *column = &test->plan.columns.items[index];
    if (column->kind != COLUMN_SKIP)
        check_name(test->arena, column);
    if (column->kind != COLUMN_CUSTOM)
        return;
    enum field_type type = column_sample_type(&test->samples[index], test->plan.delimiter, &column->decimal_comma);
    for (enum field_type any = FIELD_STRING; any <= FIELD_BOOL; any++) {
        import_column_set_type(test->arena, column, any);
        for (size_t i = 0; i < test->rows; i++) {
            const char *cell = test->cells[i][index];
            bool fits = cell == NULL || cell[0] == '\0' || write_cell(test->arena, column, cell);
            require(fits || any != type);
        }
    }
    import_column_set_type(test->arena, column, type != FIELD_NONE ? type : FIELD_STRING);
}

static void check_plan(struct arena *arena, const struct import_plan *plan)
{
    struct import_plan loaded;
    struct error err = { .code = ERR_NONE };
    const char *text = import_plan_json(arena, plan);
    require(import_plan_load(arena, text, &loaded, &err));
    require(strcmp(import_plan_json(arena, &loaded), text) == 0);
    require(loaded.charset == plan->charset && loaded.delimiter == plan->delimiter);
}

static void read_file(struct import_under_test *test, const unsigned char *data, size_t size)
{
    struct csv_row row;
    open_file(test, data, size);
    import_reading_begin(&test->reading, &test->source, test->plan.charset, test->plan.delimiter, 0, 1);
    if (read_header(test)) {
        while (test->rows < ROWS_KEPT && next_row(test, &row))
            if (row.fault == CSV_FINE)
                sample_row(test, &row);
        for (size_t i = 0; i < test->plan.columns.count && i < COLUMNS_KEPT; i++)
            check_column(test, i);
        check_plan(test->arena, &test->plan);
    }
    import_reading_end(&test->reading);
    import_source_close(&test->source);
}

/* The size of the line with the mapping; 0 when there is none. */
static size_t take_mapping(struct arena *arena, const unsigned char *data, size_t size, const json_t **ret_mapping)
{
    struct error err = { .code = ERR_NONE };
    const unsigned char *end = memchr(data, '\n', size);
    if (size == 0 || data[0] != '{' || end == NULL)
        return 0;
    size_t line = (size_t)(end - data);
    if (!json_read(arena, (const char *)data, line, (struct json_bounds){ .max_bytes = TEXT_MAX_BYTES }, ret_mapping, &err))
        *ret_mapping = NULL;
    return line + 1;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static const char delimiters[DELIMITERS] = { ',', ';', '\t', '|' };
    if (size == 0 || size > TEXT_MAX_BYTES)
        return 0;
    ARENA_SCOPE arena = arena_new(0);
    struct import_under_test *test = arena_alloc(arena, sizeof(*test));
    test->arena = arena;
    test->plan.charset = (enum charset)(data[0] % CHARSETS);
    test->plan.delimiter = delimiters[data[0] / CHARSETS % DELIMITERS];
    size_t at = 1 + take_mapping(arena, data + 1, size - 1, &test->mapping);
    check_charset(test->plan.charset, data + at, size - at);
    read_file(test, data + at, size - at);
    return 0;
}
