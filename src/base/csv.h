/*
 * CSV: a streaming parser for rows of cells (RFC 4180 and the variants that
 * spreadsheets write: other delimiters, other charsets, single CR or LF as line
 * ends).
 *
 * A reader starts at the start of a row. The caller feeds the bytes of the file
 * and takes rows; the reader's memory is bounded for any file. A malformed row is
 * returned with its fault, and the reader continues after it. An unclosed quote
 * ends with the line on which it opened, so that it does not affect other rows.
 * Offsets count the bytes of the file before decoding, so that a reader can start
 * at any row again.
 *
 * The cells of a row are NUL-terminated UTF-8, except those of a row with the
 * fault CSV_NOT_TEXT. They belong to the reader and may be changed in place until
 * its next call. No other state; a reader belongs to one thread.
 */
#pragma once

#include "base/buf.h"
#include "base/charset.h"

#include <stdint.h>

enum {
    CSV_MAX_CELLS = 500,
    CSV_CELL_MAX_BYTES = 32 * 1024, /* as UTF-8 */
    CSV_ROW_MAX_BYTES = 1024 * 1024,
    CSV_BLOCK_BYTES = 256 * 1024, /* the maximum of one csv_feed */
};

enum csv_fault {
    CSV_FINE,
    CSV_NUL,         /* a NUL character, which is not allowed in text */
    CSV_NOT_TEXT,    /* bytes that are invalid in the charset of the file */
    CSV_QUOTE_OPEN,  /* a quote without its end within CSV_CELL_MAX_BYTES; fault_line has its start */
    CSV_AFTER_QUOTE, /* text between a closing quote and the delimiter */
    CSV_CELL_LONG,
    CSV_ROW_LONG, /* the row has no cells */
};

struct csv_cell {
    char *text;
    size_t size;
};

struct csv_row {
    const struct csv_cell *cells; /* at most CSV_MAX_CELLS of them */
    size_t count;                 /* of all cells of the row */
    int64_t line;                 /* of its first character, from 1 */
    enum csv_fault fault;
    int64_t fault_line;
    bool is_blank; /* an empty line */
};

enum csv_step { CSV_ROW, CSV_NEEDS_INPUT, CSV_END };

enum csv_skip {
    CSV_SKIP_NONE,
    CSV_SKIP_CELLS,    /* at the start of a cell */
    CSV_SKIP_UNQUOTED, /* in a cell without quotes, or behind its closing quote */
    CSV_SKIP_LINE,     /* in the line of an unclosed quote, with which the row ends */
};

struct csv_reader {
    enum charset charset;
    char delimiter;
    int64_t offset; /* of the next row in the file */
    int64_t line;   /* of the next row */
    struct buf text;
    size_t at; /* of the next row in `text` */
    bool is_complete;
    enum csv_skip skip; /* the place in an overlong row whose beginning is dropped */
    int64_t skipped_line;
    struct csv_cell cells[CSV_MAX_CELLS];
};

/* Starts a reader with the row at `offset`, which is on line `line`. */
void csv_begin(struct csv_reader *reader, enum charset charset, char delimiter, int64_t offset, int64_t line) NONNULL(1);
void csv_end(struct csv_reader *reader);

/* Feeds the next bytes of the file, at most CSV_BLOCK_BYTES, after CSV_NEEDS_INPUT. Returns the number of consumed bytes, which is
 * less than `size` only if the last character is incomplete. `is_last`: the file ends after them. */
size_t csv_feed(struct csv_reader *reader, const unsigned char *bytes, size_t size, bool is_last) NONNULL(1);

/* Takes the next row. CSV_NEEDS_INPUT: the reader needs more bytes. */
enum csv_step csv_next(struct csv_reader *reader, struct csv_row *ret_row) NONNULL(1, 2);

/* ---- Detection of the dialect ---- */

struct csv_dialect {
    char delimiter;
    size_t skip_bytes; /* the size of a first line such as "sep=;", which Excel writes */
};

/* Detects the delimiter from the beginning of a decoded text: a comma, semicolon, tab or vertical bar. */
struct csv_dialect csv_sniff(const char *text, size_t size, bool is_whole) NONNULL(1);

/* ---- Writing ---- */

/* Appends a cell, in quotation marks if necessary. */
void csv_write_cell(struct buf *out, const char *text) NONNULL(1, 2);

/* The same for a file for spreadsheets: prevents formula injection (CWE-1236) by an apostrophe before a formula. */
void csv_write_safe_cell(struct buf *out, const char *text) NONNULL(1, 2);
