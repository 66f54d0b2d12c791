/*
 * Pages and cursors. A list is walked by keyset: a cursor names the last row
 * returned, so deleting rows already read skips nothing. It is a signed token
 * bound to the query it belongs to (operation, brand, filters, order) and is
 * good for 24 hours; anything else is INVALID_REQUEST with param `cursor`.
 */
#pragma once

#include "engine/engine.h"

enum { PAGE_CURSOR_MAX_HOURS = 24, PAGE_TEXT_KEY_MAX_BYTES = 512 };

/* The place behind a row: its sort key (a number or a text) and its id. */
struct page_place {
    bool set;         /* false: start at the first row */
    int64_t number;   /* sort keys that are numbers or times */
    const char *text; /* sort keys that are text, else NULL */
    bool is_null;     /* the row had no sort key */
    int64_t id;
};

/* Reads a cursor; `cursor` NULL gives a place that is not set. `binding` is any text that must be the same on every
 * page of one walk: operation, filters, order. */
MUST_CHECK bool page_place_read(const struct work *work, const char *binding, const char *cursor, struct page_place *ret_place,
                                struct error *err) NONNULL(1, 2, 4, 5);

char *page_cursor(const struct work *work, const char *binding, const struct page_place *place) NONNULL(1, 2, 3) RETURNS_NONNULL;

/* "pagination":{"limit":…,"cursor":…|null,"hasMore":…}; `next` NULL on the last page. */
void page_write(struct json_writer *json, int64_t limit, const char *next) NONNULL(1);
