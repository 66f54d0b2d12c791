/*
 * Pages and cursors. A list is walked by keyset: a cursor names the last row
 * returned, so deleting rows already read skips nothing. It is a signed token
 * bound to the query it belongs to (operation, brand, filters, order) and is
 * good for 24 hours; anything else is INVALID_REQUEST with param `cursor`.
 */
#pragma once

#include "engine/core/work.h"

enum { PAGE_CURSOR_MAX_HOURS = 24, PAGE_TEXT_KEY_MAX_BYTES = 512 };

/* The place behind a row: its sort key (a number or a text) and its id. */
struct page_cursor {
    bool set;         /* false: start at the first row */
    int64_t number;   /* sort keys that are numbers or times */
    const char *text; /* sort keys that are text, else NULL */
    bool is_null;     /* the row had no sort key */
    int64_t id;
};

/* Reads a cursor; `cursor` NULL gives a place that is not set. `binding` is any text that must be the same on every
 * page of one walk: operation, filters, order. */
MUST_CHECK bool page_cursor_read(const struct work *work, const char *binding, const char *cursor, struct page_cursor *ret_place,
                                 struct error *err) NONNULL(1, 2, 4, 5);

char *page_cursor(const struct work *work, const char *binding, const struct page_cursor *place) NONNULL(1, 2, 3) RETURNS_NONNULL;

/*
 * The answer of a list, {"data":[…],"pagination":{…}}: queries ask for limit + 1 rows, one of which only says that there
 * are more.
 *
 *     size_t shown = page_begin(json, limit, count);
 *     for (size_t i = 0; i < shown; i++) write rows[i];
 *     page_end(json, limit, page_next(work, binding, limit, count, place of the last row shown));
 *
 * The object stays open for further members; the caller ends it.
 */
size_t page_begin(struct json_writer *json, int64_t limit, size_t count) NONNULL(1);
void page_end(struct json_writer *json, int64_t limit, const char *next) NONNULL(1);

/* The cursor behind `last` when `count` rows are more than a page, else NULL. */
const char *page_next(const struct work *work, const char *binding, int64_t limit, size_t count, struct page_cursor last)
    NONNULL(1, 2);

/*
 * A catalogue, which is compiled in or short, is paged by offset; the place is how many rows were passed. The end
 * closes the object.
 */
MUST_CHECK bool page_offset_read(const struct work *work, const char *binding, const char *cursor, size_t *ret_offset,
                                 struct error *err) NONNULL(1, 2, 4, 5);
void page_offset_end(const struct work *work, const char *binding, int64_t limit, size_t next_offset, bool is_last,
                     struct json_writer *json) NONNULL(1, 2, 6);
