/*
 * Rows for COPY … FROM STDIN (FORMAT binary): written into a buffer that
 * db_copy_put sends. A stream is the header, rows, and the trailer; a row says
 * how many fields it has and then gives each of them, in the order of the
 * columns, with the type of the column.
 */
#pragma once

#include "base/buf.h"
#include "db/db.h"

void db_row_header(struct buf *out) NONNULL(1);
void db_row_trailer(struct buf *out) NONNULL(1);

void db_row_begin(struct buf *out, int fields) NONNULL(1);
void db_row_null(struct buf *out) NONNULL(1);
void db_row_bigint(struct buf *out, int64_t value) NONNULL(1);
void db_row_boolean(struct buf *out, bool value) NONNULL(1);
void db_row_time(struct buf *out, int64_t time_us) NONNULL(1);

/* NULL writes null. */
void db_row_text(struct buf *out, const char *text) NONNULL(1);

/* JSON text in pieces, for a column of the type jsonb. */
void db_row_jsonb(struct buf *out, const char *const *pieces, size_t count) NONNULL(1, 2);
