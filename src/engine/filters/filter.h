/*
 * Filters: conditions on contacts, as a caller or a saved audience gives them.
 *
 *     {"logic":"and"|"or", "filters":[{"field","operator","value"} | group]}, or a bare array of those
 *
 * Three steps. Reading gives a tree and needs no database. Resolving loads what
 * trees name outside of a contact: the types of custom fields and the audiences,
 * with those that these name. Compiling appends SQL made of fixed fragments,
 * every value and name a parameter, on a row `c` of contacts. Trees and scopes
 * live in the arena of the work.
 *
 *     filter_read(work, json, "filters", NULL, &filter, err) && filter_resolve(work, &filter, 1, &scope, err)
 *     search_sql_add(&sql, "select … from contacts c where c.brand_id = "); search_sql_number(&sql, work->brand_id);
 *     search_sql_add(&sql, " and "); filter_compile(filter, scope, &sql, err)
 *
 * For audiences: filter_check says whether a filter may be saved as one;
 * filter_of_audience is membership in one, be it a filter or a cohort, to be
 * resolved and compiled like any other. One search_sql may take several filters
 * (count(*) filter (where …)), up to FILTER_MAX_COMPILED conditions.
 *
 * What conditions mean. A contact has a value or has none (null); a custom text
 * may also be empty. exists: has a value. is_empty: has none, or an empty text.
 * not_ and is_not_ operators are the exact opposite, so they hold for contacts
 * without a value; every other operator needs one. equals and in compare texts
 * exactly (addresses by their merge key); contains, starts_with and ends_with
 * ignore case. A date without a time is a whole day in the brand's time zone:
 * before and after exclude it, between includes both ends.
 */
#pragma once

#include "engine/fields/field_registry.h"
#include "engine/filters/search_sql.h"

enum {
    FILTER_MAX_DEPTH = 4,          /* of groups in a filter */
    FILTER_MAX_CONDITIONS = 50,    /* of one filter */
    FILTER_MAX_LIST = 200,         /* values of in, contains_any */
    FILTER_MAX_AUDIENCE_DEPTH = 4, /* audiences that name audiences */
    FILTER_MAX_COMPILED = 150,     /* conditions of one statement, those of audiences included */
    FILTER_MAX_DAYS = 3650,
    AUDIENCE_FILTERS_MAX_BYTES = 256 * 1024,
};

/* The events whose counts a condition on activity compares. */
extern const struct text_list filter_event_types;

struct filter;       /* a tree */
struct filter_scope; /* what trees name, loaded */

/* Reads filters. `param` is the path they were found at; `logic` is that of a bare array, NULL: and.
 * Errors: INVALID_REQUEST with the exact path, such as filters.filters.0.field. */
MUST_CHECK bool filter_read(const struct work *work, const json_t *json, const char *param, const char *logic,
                            const struct filter **ret_filter, struct error *err) NONNULL(1, 3, 5, 6);

/* Membership of one audience, as a filter. A deleted audience has members for those that still name it (`deleted_too`: sends
 * that wait). When compiled: AUDIENCE_NOT_FOUND, AUDIENCE_BUILD_ACTIVE, both with `param`. */
const struct filter *filter_of_audience(const struct work *work, int64_t audience_id, bool deleted_too, const char *param)
    NONNULL(1, 4) RETURNS_NONNULL;

/* Loads what these filters name; members of `filters` may be NULL. One round trip, and one more for each level of audiences
 * that name audiences. Errors: those of the database. */
MUST_CHECK bool filter_resolve(const struct work *work, const struct filter *const *filters, size_t count,
                               const struct filter_scope **ret_scope, struct error *err) NONNULL(1, 2, 4, 5);

/* Appends the filter as one SQL condition on `c`.
 * Errors: INVALID_REQUEST with the exact path (a field or audience that is not there, an operator its type does not have, a
 * value it cannot be compared with, audiences too deep); AUDIENCE_BUILD_ACTIVE for a cohort that is not ready. */
MUST_CHECK bool filter_compile(const struct filter *filter, const struct filter_scope *scope, struct search_sql *sql,
                               struct error *err) NONNULL(1, 2, 3, 4);

/* Reads and resolves a filter that is to become that of an audience (`audience_id` 0: of a new one), and refuses what does not
 * compile and one by which the audience would name itself. Cohorts may be named while they are being built. Round trips as
 * filter_resolve. Errors: INVALID_REQUEST with the exact path. */
MUST_CHECK bool filter_check(const struct work *work, const json_t *json, const char *param, int64_t audience_id,
                             const struct filter **ret_filter, const struct filter_scope **ret_scope, struct error *err)
    NONNULL(1, 3, 5, 6, 7);
