/*
 * Contact search: by text, by filters, by audience; ordered by one field, with
 * keyset pagination, or only counted. It takes one round trip, a second one if
 * filters name fields or audiences, and one more for each level of audiences
 * that refer to other audiences, and for conditions on activity. A search with few matches that compares a text
 * exactly takes one more, to see whether case hides matches.
 */
#pragma once

#include "engine/contacts/contacts.h"
#include "engine/core/page.h"

enum contact_order_field { CONTACT_BY_CREATED, CONTACT_BY_UPDATED, CONTACT_BY_EMAIL, CONTACT_BY_FIRST_NAME, CONTACT_BY_LAST_NAME };

struct contact_search {
    const char *text;      /* part of the address or of "first last", ignoring case; NULL: all */
    const json_t *filters; /* see filter.h; NULL: none */
    const char *logic;     /* for filters that are a bare array; NULL: and */
    int64_t audience_id;   /* 0: all contacts */
    enum contact_order_field order_by;
    bool descending;
    const char *cursor;
    int64_t limit;
};

struct contact_page {
    const struct contact_row *contacts;
    size_t count;
    const char *next;             /* cursor; NULL on the last page */
    struct db_page found;         /* with the extra row that shows that there are more */
    struct opt_int ignoring_case; /* of a short only page: matches when the case of texts is ignored, if these are more */
};

/* Finds a page. In an order by name, contacts without this name come last.
 * Errors: INVALID_REQUEST, AUDIENCE_NOT_FOUND, AUDIENCE_BUILD_ACTIVE. */
MUST_CHECK bool contact_find(const struct work *work, const struct contact_search *search, struct contact_page *ret_page,
                             struct error *err) NONNULL(1, 2, 3, 4);

/* Writes a page, an object with data and pagination. It ends early when the contacts are wide. */
void contact_write_page(const struct work *work, const struct contact_search *search, const struct contact_page *page,
                        struct json_writer *json) NONNULL(1, 2, 3, 4);

/* Counts the matching contacts; order, cursor and limit are ignored. `ret_ignoring_case` is set as in a page. Errors: as
 * contact_find. */
MUST_CHECK bool contact_count(const struct work *work, const struct contact_search *search, int64_t *ret_count,
                              struct opt_int *ret_ignoring_case, struct error *err) NONNULL(1, 2, 3, 4, 5);

/* The member matchesIgnoringCase, when it is set: few contacts match a text exactly, and more with other case. At most
 * FILTER_CASE_COUNT_MAX. */
void contact_write_ignoring_case(struct opt_int count, struct json_writer *json) NONNULL(2);
