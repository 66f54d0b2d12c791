/*
 * CSV: rows of cells from a text that comes in blocks (RFC 4180, and what
 * spreadsheets write besides: other delimiters, other charsets, lone CR or LF
 * as line ends).
 *
 * A reader is begun at a row's start, fed with the bytes of the file and asked
 * for rows; its memory is bounded whatever the file holds. A row that is not
 * well-formed is given with its fault, and reading goes on behind it: a quote
 * that does not close ends with the line on which it opened, so that it takes
 * no other row with it. Offsets are those of the file, before decoding, so that
 * reading can begin again at any row.
 *
 * The cells of a row are NUL-terminated UTF-8, except those of a row with the
 * fault CSV_NOT_TEXT; they belong to the reader and may be changed in place until
 * it is asked or fed again. No other state; a reader belongs to one thread.
 */
#pragma once

#include "base/buf.h"
#include "base/charset.h"

#include <stdint.h>

enum {
    CSV_MAX_CELLS = 500,
    CSV_CELL_MAX_BYTES = 32 * 1024, /* as UTF-8 */
    CSV_ROW_MAX_BYTES = 1024 * 1024,
    CSV_BLOCK_BYTES = 256 * 1024, /* to be fed at once, at most */
};

enum csv_fault {
    CSV_FINE,
    CSV_NUL,         /* a NUL character, which text does not have */
    CSV_NOT_TEXT,    /* bytes that are nothing in the charset of the file */
    CSV_QUOTE_OPEN,  /* a quote that does not close within CSV_CELL_MAX_BYTES; fault_line is where it opens */
    CSV_AFTER_QUOTE, /* text between a closing quote and the delimiter */
    CSV_CELL_LONG,
    CSV_ROW_LONG,
};

struct csv_cell {
    char *text;
    size_t size;
};

struct csv_row {
    const struct csv_cell *cells; /* at most CSV_MAX_CELLS of them */
    size_t count;                 /* how many the row has */
    int64_t line;                 /* of its first character, from 1 */
    enum csv_fault fault;
    int64_t fault_line;
    bool is_blank; /* an empty line */
};

enum csv_step { CSV_ROW, CSV_HUNGRY, CSV_END };

struct csv_reader {
    enum charset charset;
    char delimiter;
    int64_t offset; /* in the file, of the next row */
    int64_t line;   /* of the next row */
    struct buf text;
    size_t at; /* the next row in `text` */
    bool is_complete;
    bool is_skipping; /* the rest of a row that is too long */
    int64_t skipped_line;
    struct csv_cell cells[CSV_MAX_CELLS];
};

/* A reader that begins with the row at `offset`, which stands on line `line`. */
void csv_begin(struct csv_reader *reader, enum charset charset, char delimiter, int64_t offset, int64_t line) NONNULL(1);
void csv_end(struct csv_reader *reader);

/* Takes the next bytes of the file, at most CSV_BLOCK_BYTES of them, and gives how many were taken: less than `size` only where
 * a character is cut. `is_last`: nothing comes behind them. To be called when the reader is hungry. */
size_t csv_feed(struct csv_reader *reader, const unsigned char *bytes, size_t size, bool is_last) NONNULL(1);

/* The next row. CSV_HUNGRY: feed it first. */
enum csv_step csv_next(struct csv_reader *reader, struct csv_row *ret_row) NONNULL(1, 2);

/* ---- Before reading ---- */

struct csv_dialect {
    char delimiter;
    size_t skip_bytes; /* a first line such as "sep=;", as Excel writes it */
};

/* Finds out from the beginning of a decoded text what parts its cells: a comma, semicolon, tab or bar. */
struct csv_dialect csv_sniff(const char *text, size_t size, bool is_whole) NONNULL(1);

/* ---- Writing ---- */

/* Appends a cell, in quotes where it needs them. */
void csv_write_cell(struct buf *out, const char *text) NONNULL(1, 2);

/* The same for a file that a spreadsheet will open: a text that it would take for a formula (CWE-1236) gets an apostrophe. */
void csv_write_safe_cell(struct buf *out, const char *text) NONNULL(1, 2);
