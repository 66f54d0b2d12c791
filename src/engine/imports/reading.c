#include "engine/imports/reading.h"

void import_reading_begin(struct import_reading *reading, const struct import_source *source, enum charset charset, char delimiter,
                          int64_t offset, int64_t line)
{
    reading->source = source;
    reading->fed = offset;
    reading->kept = arena_new(0);
    reading->buffer = arena_alloc(reading->kept, CSV_BLOCK_BYTES);
    reading->arena = arena_new(0);
    csv_begin(&reading->csv, charset, delimiter, offset, line);
}

void import_reading_end(struct import_reading *reading)
{
    csv_end(&reading->csv);
    arena_free(reading->arena);
    arena_free(reading->kept);
}

static bool feed_block(struct import_reading *reading, struct error *err)
{
    struct bytes block;
    arena_reset(reading->arena);
    if (!import_source_read(reading->source, reading->arena, reading->fed, reading->buffer, CSV_BLOCK_BYTES, &block, err))
        return false;
    bool is_last = reading->fed + (int64_t)block.size >= reading->source->file.size_bytes;
    reading->fed += (int64_t)csv_feed(&reading->csv, block.data, block.size, is_last);
    return true;
}

bool import_reading_next(struct import_reading *reading, bool *ret_got, struct csv_row *ret_row, struct error *err)
{
    for (;;) {
        enum csv_step step = csv_next(&reading->csv, ret_row);
        if (step != CSV_NEEDS_INPUT) {
            *ret_got = step == CSV_ROW;
            return true;
        }
        if (!feed_block(reading, err))
            return false;
    }
}

const char *import_fault_message(struct arena *arena, const struct csv_row *row)
{
    long long line = (long long)row->fault_line;
    switch (row->fault) {
    case CSV_FINE:
        break;
    case CSV_NUL:
        return arena_printf(arena, "Line %lld contains a NUL character.", line);
    case CSV_NOT_TEXT:
        return arena_printf(arena, "Line %lld is not in the encoding of the rest of the file.", line);
    case CSV_QUOTE_OPEN:
        return arena_printf(arena, "The quote that opens in line %lld does not close within %d bytes.", line, CSV_CELL_MAX_BYTES);
    case CSV_AFTER_QUOTE:
        return arena_printf(arena, "In line %lld, text follows a closing quote.", line);
    case CSV_CELL_LONG:
        return arena_printf(arena, "A cell of line %lld is longer than %d bytes.", line, CSV_CELL_MAX_BYTES);
    case CSV_ROW_LONG:
        return arena_printf(arena, "Line %lld is longer than %d bytes.", line, CSV_ROW_MAX_BYTES);
    }
    return "The row cannot be read.";
}
