/*
 * CSV reader for the rows of an import source, block by block (streaming). A
 * reading belongs to one thread and borrows its source. It needs memory for one
 * block, one row and the buffers of the source.
 */
#pragma once

#include "base/csv.h"
#include "engine/imports/source.h"

struct import_reading {
    const struct import_source *source;
    struct csv_reader csv;
    int64_t fed;           /* offset after the bytes that were passed to the CSV reader */
    unsigned char *buffer; /* in `kept` */
    struct arena *kept;
    struct arena *arena; /* reset for each block */
};

/* Begins with the row at an offset. Always call import_reading_end. */
void import_reading_begin(struct import_reading *reading, const struct import_source *source, enum charset charset, char delimiter,
                          int64_t offset, int64_t line) NONNULL(1, 2);
void import_reading_end(struct import_reading *reading) NONNULL(1);
#define IMPORT_READING_SCOPE CLEANUP(import_reading_end) struct import_reading

/* Reads the next row; `ret_got` is false at the end. The row is valid until the next call. */
MUST_CHECK bool import_reading_next(struct import_reading *reading, bool *ret_got, struct csv_row *ret_row, struct error *err)
    NONNULL(1, 2, 3, 4);

/* An error message for a row with a fault. */
const char *import_fault_message(struct arena *arena, const struct csv_row *row) NONNULL(1, 2) RETURNS_NONNULL;
