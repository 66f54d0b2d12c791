/*
 * Pages: the result of a list, {"data":[…],"pagination":{…}}. Queries (:page in
 * the .sql files) select limit + 1 rows; the extra row only shows that there are
 * more. A page ends before its limit, with a cursor, where its rows would have
 * more than PAGE_MAX_BYTES as JSON, or more than DB_PAGE_MAX_BYTES in the
 * database. It has at least one row.
 *
 *     struct page page = page_begin(json, limit, found);
 *     while (page_next_row(&page))
 *         write rows[page.shown - 1];
 *     page_end(&page, work, binding, position of rows[page.shown - 1]);
 *
 * The object stays open for further members; the caller ends it.
 */
#pragma once

#include "engine/core/page_cursor.h"

enum { PAGE_MAX_BYTES = 4 * 1024 * 1024 };

struct page {
    struct json_writer *json;
    int64_t limit;
    struct db_page found;
    size_t shown;                  /* rows of the page so far */
    size_t begin;                  /* size of the body before the first row */
    size_t row_begin;              /* … before the last row */
    struct json_writer row_writer; /* the state of `json` before the last row */
};

struct page page_begin(struct json_writer *json, int64_t limit, struct db_page found) NONNULL(1);

/* Whether to write another row, which is the last one of `shown`. Removes the row before when it passed the bound; then and at the
 * end of the rows or of the limit it returns false. */
bool page_next_row(struct page *page) NONNULL(1);

/* Whether rows are left after the page. */
bool page_has_more(const struct page *page) NONNULL(1) PURE;

/* Ends the array and writes the pagination. `last` is the position of the last row of the page. */
void page_end(struct page *page, const struct work *work, const char *binding, struct page_cursor last) NONNULL(1, 2, 3);

/*
 * Offset pagination, for lists that are compiled in or short. The position is the number of rows on earlier pages, and
 * `found` counts the rows after them. page_offset_end closes the object.
 */
MUST_CHECK bool page_offset_read(const struct work *work, const char *binding, const char *cursor, size_t *ret_offset,
                                 struct error *err) NONNULL(1, 2, 4, 5);
struct page page_offset_begin(struct json_writer *json, int64_t limit, size_t offset, size_t total) NONNULL(1);
void page_offset_end(struct page *page, const struct work *work, const char *binding, size_t offset) NONNULL(1, 2, 3);
