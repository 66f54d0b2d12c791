/*
 * COPY rows: writes rows for COPY … FROM STDIN (FORMAT binary) into a buffer
 * that db_copy_put sends. A stream has the header, rows, and the trailer. A row
 * has the number of its fields and then each field, in the order of the columns
 * and with the type of its column.
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

/* Concatenates JSON text, for a column of the type jsonb. */
void db_row_jsonb(struct buf *out, const char *const *pieces, size_t count) NONNULL(1, 2);
