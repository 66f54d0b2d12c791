/*
 * The rows of a source, read block by block. A reading belongs
 * to one thread and borrows its source; its memory is a block, a row and what
 * the source needs for them.
 */
#pragma once

#include "base/csv.h"
#include "engine/imports/source.h"

struct import_reading {
    const struct import_source *source;
    struct csv_reader csv;
    int64_t fed;         /* bytes of the source that the reader was given */
    unsigned char *room; /* in `kept` */
    struct arena *kept;
    struct arena *arena; /* of one block */
};

/* Begins with the row at an offset. Ends with import_reading_end in any case. */
void import_reading_begin(struct import_reading *reading, const struct import_source *source, enum charset charset, char delimiter,
                          int64_t offset, int64_t line) NONNULL(1, 2);
void import_reading_end(struct import_reading *reading) NONNULL(1);
#define IMPORT_READING_SCOPE CLEANUP(import_reading_end) struct import_reading

/* The next row; false in ret_got at the end. It lives until the next call. */
MUST_CHECK bool import_reading_next(struct import_reading *reading, bool *ret_got, struct csv_row *ret_row, struct error *err)
    NONNULL(1, 2, 3, 4);

/* What is wrong with a row that has a fault, as a sentence that names the line where that helps. */
const char *import_fault_message(struct arena *arena, const struct csv_row *row) NONNULL(1, 2) RETURNS_NONNULL;
