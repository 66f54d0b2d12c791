/*
 * Pages and cursors (keyset pagination). A cursor contains the sort key of the
 * last returned row, so deleting rows that were read skips no other row. It is a
 * sealed token, bound to its query (organization, brand, operation, filters,
 * order), and valid for 24 hours. Its reader learns none of the numbers in it.
 * Any other text is INVALID_REQUEST with param `cursor`.
 */
#pragma once

#include "engine/core/work.h"

enum {
    PAGE_CURSOR_MAX_HOURS = 24,
    PAGE_CURSOR_MAX_CHARS = 512, /* as the operations declare */
    PAGE_TEXT_KEY_MAX_BYTES = 320,
};

/* The position after a row: its sort key (a number or a text) and its id. */
struct page_cursor {
    bool set;         /* false: start at the first row */
    int64_t number;   /* sort key if it is a number or a time */
    const char *text; /* sort key if it is a text, else NULL */
    bool is_null;     /* the row had no sort key */
    int64_t id;
};

/* Reads a cursor; for `cursor` NULL the position is not set. `binding` is a text that must be the same for all pages of one
 * list: operation, filters, order. */
MUST_CHECK bool page_cursor_read(const struct work *work, const char *binding, const char *cursor, struct page_cursor *ret_position,
                                 struct error *err) NONNULL(1, 2, 4, 5);

char *page_cursor(const struct work *work, const char *binding, const struct page_cursor *position)
    NONNULL(1, 2, 3) RETURNS_NONNULL;

/*
 * The result of a list, {"data":[…],"pagination":{…}}. Queries select limit + 1 rows; the extra row only shows that there are
 * more.
 *
 *     size_t shown = page_begin(json, limit, count);
 *     for (size_t i = 0; i < shown; i++) write rows[i];
 *     page_end(json, limit, page_next(work, binding, limit, count, position of the last row shown));
 *
 * The object stays open for further members; the caller ends it.
 */
size_t page_begin(struct json_writer *json, int64_t limit, size_t count) NONNULL(1);
void page_end(struct json_writer *json, int64_t limit, const char *next) NONNULL(1);

/* The cursor after `last` if `count` rows are more than a page, else NULL. */
const char *page_next(const struct work *work, const char *binding, int64_t limit, size_t count, struct page_cursor last)
    NONNULL(1, 2);

/*
 * Offset pagination, for lists that are compiled in or short. The position is the number of rows on earlier pages.
 * page_offset_end closes the object.
 */
MUST_CHECK bool page_offset_read(const struct work *work, const char *binding, const char *cursor, size_t *ret_offset,
                                 struct error *err) NONNULL(1, 2, 4, 5);
void page_offset_end(const struct work *work, const char *binding, int64_t limit, size_t next_offset, bool is_last,
                     struct json_writer *json) NONNULL(1, 2, 6);
