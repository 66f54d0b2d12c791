/*
 * Tables for people: columns are aligned by display width and cut to the
 * terminal. Control characters are shown as escapes instead of obeyed by the
 * terminal. Widths come from the first page, so that rows can be streamed.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum { TABLE_MAX_COLUMNS = 64 };

struct column {
    const char *name; /* a member; a.b is a member of a member */
    size_t width;
};

struct table {
    struct arena *arena;       /* for the names of columns */
    const char *const *fields; /* the columns, NULL-terminated; NULL: the members of the rows that are scalar */
    size_t terminal_width;     /* 0: lines may be of any length */
    struct column columns[TABLE_MAX_COLUMNS];
    size_t column_count;
    size_t hidden_count; /* columns that did not fit */
    bool has_head;
};

/* Adds the lines of rows. The column names come before the first row. */
void table_rows(struct table *table, struct arena *scratch, const json_t *rows, struct buf *out) NONNULL(1, 2, 3, 4);

/* Adds one resource as lines of name and value; members of members have dotted names. */
void table_resource(const struct table *table, struct arena *scratch, const json_t *resource, struct buf *out) NONNULL(1, 2, 3, 4);

/* The member of a dotted name; NULL when there is none. */
const json_t *json_at_path(const json_t *object, const char *path) NONNULL(2);

/* The text of a cell: empty for null, texts with control and formatting characters as escapes. */
const char *cell_text(struct arena *arena, const json_t *value) NONNULL(1) RETURNS_NONNULL;
