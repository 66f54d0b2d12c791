/*
 * Searching contacts: by text, by conditions, by audience; ordered by one
 * field, walked by keyset, or only counted. One round trip, a second for what
 * conditions name, and one more for each level of audiences that name others.
 */
#pragma once

#include "engine/contacts/contacts.h"
#include "engine/core/page_cursor.h"

enum contact_order_field { CONTACT_BY_CREATED, CONTACT_BY_UPDATED, CONTACT_BY_EMAIL, CONTACT_BY_FIRST_NAME, CONTACT_BY_LAST_NAME };

struct contact_search {
    const char *text;      /* part of the address or of "first last", letters in either case; NULL: all */
    const json_t *filters; /* see filter.h; NULL: none */
    const char *logic;     /* of filters that are a bare array; NULL: and */
    int64_t audience_id;   /* 0: everybody */
    enum contact_order_field order_by;
    bool descending;
    const char *cursor;
    int64_t limit;
};

struct contact_page {
    const struct contact_row *contacts;
    size_t count;
    const char *next; /* cursor; NULL on the last page */
};

/* A page. Contacts without a name come last in an order by it.
 * Errors: INVALID_REQUEST, AUDIENCE_NOT_FOUND, AUDIENCE_BUILD_ACTIVE. */
MUST_CHECK bool contact_find(const struct work *work, const struct contact_search *search, struct contact_page *ret_page,
                             struct error *err) NONNULL(1, 2, 3, 4);

/* How many contacts match; order, cursor and limit mean nothing. Errors: as contact_find. */
MUST_CHECK bool contact_count(const struct work *work, const struct contact_search *search, int64_t *ret_count, struct error *err)
    NONNULL(1, 2, 3, 4);
