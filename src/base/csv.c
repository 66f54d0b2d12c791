#include "base/csv.h"

#include "base/text.h"

#include <string.h>
#include <strings.h>

/* An overlong row is detected at most one block after its maximum; decoding makes at most three bytes of one. */
enum { TEXT_MAX_BYTES = CSV_ROW_MAX_BYTES + 4 * CSV_BLOCK_BYTES, SNIFF_ROWS = 20 };

static const char replacement[] = "\xEF\xBF\xBD";

void csv_begin(struct csv_reader *reader, enum charset charset, char delimiter, int64_t offset, int64_t line)
{
    *reader = (struct csv_reader){ .charset = charset, .delimiter = delimiter, .offset = offset, .line = line };
    buf_init(&reader->text, TEXT_MAX_BYTES);
}

void csv_end(struct csv_reader *reader)
{
    buf_done(&reader->text);
}

size_t csv_feed(struct csv_reader *reader, const unsigned char *bytes, size_t size, bool is_last)
{
    buf_drop_front(&reader->text, reader->at);
    reader->at = 0;
    size_t taken = charset_decode(reader->charset, bytes, size, is_last, &reader->text);
    reader->is_complete = is_last && taken == size;
    return taken;
}

/* ---- One row ---- */

struct scan {
    struct csv_reader *reader;
    char *cell; /* the start of the cell that is scanned */
    char *at;
    char *end;
    bool is_complete;
    struct csv_row *row;
    uint64_t escaped[(CSV_MAX_CELLS + 63) / 64]; /* cells that hold doubled quotes */
    bool any_escaped;
    int64_t line_ends; /* within quotes */
    char *open_quote;  /* the start of an unclosed quote */
};

enum scanned { SCAN_DONE, SCAN_CUT, SCAN_QUOTE_OPEN };

static void set_row_fault(struct csv_row *row, enum csv_fault fault, int64_t line)
{
    if (row->fault == CSV_FINE) {
        row->fault = fault;
        row->fault_line = line;
    }
}

static int64_t count_line_ends(const char *text, const char *end)
{
    int64_t count = 0;
    for (const char *at = text; at < end; at++)
        count += *at == '\n' || (*at == '\r' && (at + 1 == end || at[1] != '\n'));
    return count;
}

/* The end of an unquoted cell: a delimiter, a line end or the end of the text. */
static void skip_unquoted(struct scan *scan)
{
    const char delimiter = scan->reader->delimiter;
    char *at = scan->at;
    for (;; at++) {
        char byte = *at;
        if (byte == delimiter || byte == '\n' || byte == '\r')
            break;
        if (byte != '\0')
            continue;
        if (at == scan->end)
            break;
        set_row_fault(scan->row, CSV_NUL, scan->row->line + scan->line_ends);
    }
    scan->at = at;
}

static void add_csv_cell(struct scan *scan, char *text, const char *end, bool is_escaped)
{
    struct csv_row *row = scan->row;
    size_t index = row->count++;
    if (index >= CSV_MAX_CELLS)
        return;
    size_t size = (size_t)(end - text);
    scan->reader->cells[index] = (struct csv_cell){ text, size };
    if (is_escaped) {
        scan->escaped[index / 64] |= UINT64_C(1) << index % 64;
        scan->any_escaped = true;
    }
    if (size > CSV_CELL_MAX_BYTES)
        set_row_fault(row, CSV_CELL_LONG, row->line);
}

static enum scanned scan_quoted(struct scan *scan)
{
    char *open = scan->at;
    char *from = open + 1;
    bool is_escaped = false;
    for (;;) {
        char *close = memchr(from, '"', (size_t)(scan->end - from));
        bool is_far = (close != NULL ? close : scan->end) - open > CSV_CELL_MAX_BYTES + 1;
        scan->open_quote = open;
        if (is_far || (close == NULL && scan->is_complete))
            return SCAN_QUOTE_OPEN;
        if (close == NULL || (close + 1 == scan->end && !scan->is_complete))
            return SCAN_CUT;
        if (close[1] != '"') {
            scan->at = close + 1;
            break;
        }
        is_escaped = true;
        from = close + 2;
    }
    char *end = scan->at - 1;
    if (memchr(open, '\0', (size_t)(end - open)) != NULL)
        set_row_fault(scan->row, CSV_NUL, scan->row->line + scan->line_ends);
    scan->line_ends += count_line_ends(open, end);
    char *after_quote = scan->at;
    skip_unquoted(scan);
    if (scan->at != after_quote)
        set_row_fault(scan->row, CSV_AFTER_QUOTE, scan->row->line + scan->line_ends);
    add_csv_cell(scan, open + 1, end, is_escaped);
    return SCAN_DONE;
}

/* Scans the cells up to the line end. It does not change the text, because an incomplete row is scanned again. */
static enum scanned scan_row(struct scan *scan, char **ret_next)
{
    bool is_in_cell = scan->reader->skip == CSV_SKIP_UNQUOTED;
    for (;; is_in_cell = false) {
        scan->cell = scan->at;
        if (*scan->at == '"' && scan->at < scan->end && !is_in_cell) {
            enum scanned scanned = scan_quoted(scan);
            if (scanned != SCAN_DONE)
                return scanned;
        } else {
            char *start = scan->at;
            skip_unquoted(scan);
            add_csv_cell(scan, start, scan->at, false);
        }
        if (scan->at < scan->end && *scan->at == scan->reader->delimiter) {
            scan->at++;
            continue;
        }
        if (scan->at == scan->end) {
            *ret_next = scan->at;
            return scan->is_complete ? SCAN_DONE : SCAN_CUT;
        }
        bool may_be_pair = *scan->at == '\r';
        if (may_be_pair && scan->at + 1 == scan->end && !scan->is_complete)
            return SCAN_CUT;
        *ret_next = scan->at + (may_be_pair && scan->at[1] == '\n' ? 2 : 1);
        return SCAN_DONE;
    }
}

static void unescape_quotes(struct csv_cell *cell)
{
    char *out = cell->text;
    const char *end = cell->text + cell->size;
    for (const char *at = cell->text; at < end; at++) {
        *out++ = *at;
        if (*at == '"' && at + 1 < end && at[1] == '"')
            at++;
    }
    cell->size = (size_t)(out - cell->text);
}

static bool range_is_ascii(const char *text, size_t size)
{
    uint64_t seen = 0;
    size_t at = 0;
    for (; at + sizeof(uint64_t) <= size; at += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, text + at, sizeof(word));
        seen |= word;
    }
    for (; at < size; at++)
        seen |= (unsigned char)text[at];
    return (seen & UINT64_C(0x8080808080808080)) == 0;
}

static bool is_text(const struct csv_reader *reader, const char *text, size_t size)
{
    if (range_is_ascii(text, size))
        return true;
    if (reader->charset != CHARSET_UTF8)
        return memmem(text, size, replacement, strlen(replacement)) == NULL;
    return utf8_is_valid(text, size);
}

/* Moves to a later place in the text. */
static void move_to(struct csv_reader *reader, const char *place)
{
    const char *start = reader->text.data + reader->at;
    size_t size = (size_t)(place - start);
    reader->offset += (int64_t)charset_encoded_bytes(reader->charset, start, size);
    reader->at += size;
}

/* Terminates the texts of the cells and moves past the row. */
static void finish_row(struct scan *scan, const char *next)
{
    struct csv_reader *reader = scan->reader;
    struct csv_row *row = scan->row;
    char *start = reader->text.data + reader->at;
    size_t size = (size_t)(next - start);
    reader->line += scan->line_ends + 1;
    move_to(reader, next);
    if (reader->skip != CSV_SKIP_NONE || size > CSV_ROW_MAX_BYTES) {
        *row = (struct csv_row){ .cells = reader->cells, .line = row->line, .fault = CSV_ROW_LONG, .fault_line = row->line };
        reader->skip = CSV_SKIP_NONE;
        return;
    }
    if (row->fault == CSV_FINE && !is_text(reader, start, size))
        set_row_fault(row, CSV_NOT_TEXT, row->line);

    size_t kept = row->count < CSV_MAX_CELLS ? row->count : (size_t)CSV_MAX_CELLS;
    for (size_t i = 0; i < kept; i++) {
        struct csv_cell *cell = &reader->cells[i];
        if (scan->any_escaped && (scan->escaped[i / 64] >> i % 64 & 1) != 0)
            unescape_quotes(cell);
        cell->text[cell->size] = '\0';
    }
    row->cells = reader->cells;
    row->is_blank =
        row->count == 1 && row->fault == CSV_FINE && strspn(reader->cells[0].text, " \t") == reader->cells[0].size && *start != '"';
}

static char *next_line_start(char *at, const char *end)
{
    while (at < end && *at != '\n' && *at != '\r')
        at++;
    if (at + 1 < end && at[0] == '\r' && at[1] == '\n')
        at++;
    return at < end ? at + 1 : at;
}

/* Ends a row with an unclosed quote at the end of the line where the quote opens; false when that end is not read yet. The cells of
 * the row are unusable. */
static bool end_unclosed_quote(struct scan *scan)
{
    struct csv_row *row = scan->row;
    char *next = next_line_start(scan->open_quote, scan->end);
    if (next == scan->end && !scan->is_complete && next[-1] != '\n')
        return false;
    *row = (struct csv_row){ .line = row->line };
    set_row_fault(row, CSV_QUOTE_OPEN, row->line + scan->line_ends);
    scan->any_escaped = false;
    finish_row(scan, next);
    return true;
}

/* ---- Overlong rows ---- */

/* Drops what was scanned of an overlong row, so that the reader goes on in the middle of it. */
static void drop_scanned(struct scan *scan, enum scanned scanned)
{
    struct csv_reader *reader = scan->reader;
    if (reader->skip == CSV_SKIP_NONE)
        reader->skipped_line = reader->line;
    const char *place = scan->at; /* an incomplete quoted cell, a CR that may be half of a line end, or the end */
    if (scanned == SCAN_QUOTE_OPEN) {
        place = scan->end[-1] == '\r' ? scan->end - 1 : scan->end;
        reader->skip = CSV_SKIP_LINE;
    } else if (place == scan->cell && *place != '\r') {
        reader->skip = CSV_SKIP_CELLS;
    } else {
        reader->skip = CSV_SKIP_UNQUOTED;
    }
    reader->line += scan->line_ends;
    move_to(reader, place);
}

enum csv_step csv_next(struct csv_reader *reader, struct csv_row *ret_row)
{
    bool is_skipping = reader->skip != CSV_SKIP_NONE;
    if (reader->at == reader->text.size && !(is_skipping && reader->is_complete))
        return reader->is_complete ? CSV_END : CSV_NEEDS_INPUT;

    *ret_row = (struct csv_row){ .line = is_skipping ? reader->skipped_line : reader->line };
    struct scan scan = {
        .reader = reader,
        .at = reader->text.data + reader->at,
        .end = reader->text.data + reader->text.size,
        .is_complete = reader->is_complete,
        .row = ret_row,
    };
    scan.open_quote = scan.at;
    char *next;
    enum scanned scanned = reader->skip == CSV_SKIP_LINE ? SCAN_QUOTE_OPEN : scan_row(&scan, &next);
    if (scanned == SCAN_DONE) {
        finish_row(&scan, next);
        return CSV_ROW;
    }
    if (scanned == SCAN_QUOTE_OPEN && end_unclosed_quote(&scan))
        return CSV_ROW;
    if (is_skipping || reader->text.size - reader->at > CSV_ROW_MAX_BYTES)
        drop_scanned(&scan, scanned);
    return CSV_NEEDS_INPUT;
}

/* ---- Detection of the delimiter ---- */

static const char delimiters[] = ",;\t|";

/* The score of a delimiter: the share of the first rows that have as many cells as the first row. 0 when that has one cell. */
static size_t score_delimiter(const char *text, size_t size, bool is_whole, char delimiter)
{
    struct csv_reader reader;
    struct csv_row row;
    size_t columns = 0;
    size_t alike = 0;
    size_t rows = 0;
    csv_begin(&reader, CHARSET_UTF8, delimiter, 0, 1);
    csv_feed(&reader, (const unsigned char *)text, size, is_whole);
    while (rows < SNIFF_ROWS && csv_next(&reader, &row) == CSV_ROW) {
        if (row.is_blank)
            continue;
        if (rows++ == 0)
            columns = row.count;
        alike += row.count == columns;
    }
    csv_end(&reader);
    if (columns < 2)
        return 0;
    /* The share of equal rows counts first, then the number of columns. */
    size_t share = alike * 100 / rows;
    return share * 1000 + (columns < 1000 ? columns : 999);
}

struct csv_dialect csv_sniff(const char *text, size_t size, bool is_whole)
{
    static const char declaration[] = "sep=";
    size_t length = strlen(declaration);
    if (size > length + 1 && strncasecmp(text, declaration, length) == 0 &&
        (text[length + 1] == '\r' || text[length + 1] == '\n')) {
        bool is_pair = size > length + 2 && text[length + 1] == '\r' && text[length + 2] == '\n';
        return (struct csv_dialect){ .delimiter = text[length], .skip_bytes = length + (is_pair ? 3 : 2) };
    }
    size_t sample = size < CSV_BLOCK_BYTES ? size : (size_t)CSV_BLOCK_BYTES;
    struct csv_dialect dialect = { .delimiter = ',' };
    size_t best = 0;
    for (const char *candidate = delimiters; *candidate != '\0'; candidate++) {
        size_t candidate_score = score_delimiter(text, sample, is_whole && sample == size, *candidate);
        if (candidate_score > best) {
            best = candidate_score;
            dialect.delimiter = *candidate;
        }
    }
    return dialect;
}

/* ---- Writing ---- */

static void write_cell(struct buf *out, const char *text, bool with_apostrophe)
{
    bool needs_quotes = strpbrk(text, ",;\t|\"\r\n") != NULL || text[0] == ' ';
    if (needs_quotes)
        buf_add_char(out, '"');
    if (with_apostrophe)
        buf_add_char(out, '\'');
    for (const char *at = text; *at != '\0';) {
        size_t size = strcspn(at, "\"");
        buf_add(out, at, size);
        at += size;
        if (*at == '"') {
            buf_add_text(out, "\"\"");
            at++;
        }
    }
    if (needs_quotes)
        buf_add_char(out, '"');
}

void csv_write_cell(struct buf *out, const char *text)
{
    write_cell(out, text, false);
}

/* A sign before digits is a number or a telephone number and not a formula. */
static bool is_formula(const char *text)
{
    if (text[0] == '\0' || strchr("=+-@\t\r", text[0]) == NULL)
        return false;
    bool is_signed_number = (text[0] == '+' || text[0] == '-') && strspn(text + 1, "0123456789 .,") == strlen(text + 1);
    return !is_signed_number;
}

void csv_write_safe_cell(struct buf *out, const char *text)
{
    write_cell(out, text, is_formula(text));
}
