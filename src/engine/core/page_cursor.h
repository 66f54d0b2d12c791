/*
 * Cursors of pages (keyset pagination). A cursor contains the sort key of the
 * last returned row, so deleting rows that were read skips no other row. It is a
 * sealed token, bound to its query (organization, brand, operation, filters,
 * order), and valid for 24 hours. Its reader learns none of the numbers in it.
 * Any other text is INVALID_REQUEST with param `cursor`. An assistant gets and
 * gives short tokens in its place (short_tokens.h).
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

/* The cursor after a position: a sealed token, or its short token for an assistant. */
const char *page_cursor(const struct work *work, const char *binding, const struct page_cursor *position)
    NONNULL(1, 2, 3) RETURNS_NONNULL;
