/*
 * Rows that are sorted by a text, of which several rows may have the same one.
 * The text is the first member of a row. Private to src/engine/search. Any
 * thread.
 */
#pragma once

#include "base/compiler.h"

#include <stddef.h>

struct sorted_rows {
    const void *rows;
    size_t count;
    size_t row_bytes;
};

/* The index of the first row whose text is not before this one; the number of rows when all are. */
size_t sorted_rows_find(struct sorted_rows sorted, const char *text) NONNULL(2);
