/*
 * Filters: conditions on contacts, from a caller or a saved audience, compiled
 * to parameterized SQL.
 *
 *     {"logic":"and"|"or", "filters":[{"field","operator","value"} | group]}, a bare array of those, or one bare condition
 *
 * There are three steps. Reading parses the JSON into a tree, without the
 * database. Resolving loads the definitions that the trees refer to: the types
 * of custom fields, and audiences, including audiences of audiences. Compiling
 * appends a SQL condition on a row `c` of contacts; it consists of fixed
 * fragments, and every value and name is a parameter. Trees and scopes are
 * allocated in the arena of the work.
 *
 *     filter_read(work, json, "filters", NULL, &filter, err) && filter_resolve(work, &filter, 1, &scope, err)
 *     search_sql_add(&sql, "select … from contacts c where c.brand_id = "); search_sql_number(&sql, work->brand_id);
 *     search_sql_add(&sql, " and "); filter_compile(filter, scope, &sql, err)
 *
 * For audiences: filter_check checks that a filter can be saved as an audience.
 * filter_of_audience makes a filter for membership of an audience (a saved
 * filter or a cohort); it is resolved and compiled like any other. One
 * search_sql can contain several filters (count(*) filter (where …)), up to
 * FILTER_MAX_COMPILED conditions. Audiences beyond FILTER_MAX_AUDIENCES or
 * FILTER_MAX_DEFINITION_BYTES are not loaded; a filter that needs them does not
 * compile.
 *
 * Semantics. A field of a contact has a value, or none (null); a custom text can
 * also be empty. exists: the field has a value. is_empty: it has none, or an
 * empty text. not_ and is_not_ operators are exact negations, so they hold for
 * contacts without a value; every other operator needs a value. equals and in
 * compare texts exactly (addresses by their merge key); contains, starts_with
 * and ends_with ignore case. A date without a time is a whole day in the brand's
 * time zone: before and after exclude it, between includes both ends.
 */
#pragma once

#include "engine/fields/field_registry.h"
#include "engine/filters/search_sql.h"

enum {
    FILTER_MAX_DEPTH = 4,          /* nested groups in a filter */
    FILTER_MAX_CONDITIONS = 50,    /* conditions in one filter */
    FILTER_MAX_LIST = 200,         /* values of in, contains_any */
    FILTER_MAX_AUDIENCE_DEPTH = 4, /* nested audiences */
    FILTER_MAX_AUDIENCES = 600,    /* audiences that one statement refers to, including those of audiences */
    FILTER_MAX_COMPILED = 150,     /* conditions in one statement, including those of audiences */
    FILTER_MAX_DAYS = 3650,
    FILTER_FEW_MATCHES = 10,      /* up to this many, a search looks whether case hides matches */
    FILTER_CASE_COUNT_MAX = 1000, /* matches counted without regard to case */
    AUDIENCE_FILTERS_MAX_BYTES = 256 * 1024,
    FILTER_MAX_DEFINITION_BYTES = 4 * 1024 * 1024, /* filters of the audiences that one statement refers to */
};

/* The event types that a condition on activity can count. */
extern const struct text_list filter_event_types;

struct filter;       /* a tree */
struct filter_scope; /* the loaded definitions that trees refer to */

/* Reads filters. `param` is their path in the request; `logic` joins the items of a bare array, NULL: and.
 * Errors: INVALID_REQUEST with the exact path, such as filters.filters.0.field. */
MUST_CHECK bool filter_read(const struct work *work, const json_t *json, const char *param, const char *logic,
                            const struct filter **ret_filter, struct error *err) NONNULL(1, 3, 5, 6);

/* Makes a filter for membership of one audience. `deleted_too` also accepts a deleted audience, for sends that are accepted
 * already. Errors when compiled: AUDIENCE_NOT_FOUND, AUDIENCE_BUILD_ACTIVE, both with `param`. */
const struct filter *filter_of_audience(const struct work *work, int64_t audience_id, bool deleted_too, const char *param)
    NONNULL(1, 4) RETURNS_NONNULL;

/* Loads the definitions that these filters refer to; members of `filters` may be NULL. One round trip, and one more for each
 * level of nested audiences, and for conditions on activity. Errors: those of the database. */
MUST_CHECK bool filter_resolve(const struct work *work, const struct filter *const *filters, size_t count,
                               const struct filter_scope **ret_scope, struct error *err) NONNULL(1, 2, 4, 5);

/* Appends the filter as one SQL condition on `c`.
 * Errors: INVALID_REQUEST with the exact path (an unknown field or audience, an operator or a value that does not fit the type,
 * audiences nested too deep, too many conditions, values or audiences); AUDIENCE_BUILD_ACTIVE for a cohort that is not ready. */
MUST_CHECK bool filter_compile(const struct filter *filter, const struct filter_scope *scope, struct search_sql *sql,
                               struct error *err) NONNULL(1, 2, 3, 4);

/* Resolves filters, and refuses those that cannot be compiled in one search. Cohorts that are being built are accepted. Round trips
 * as filter_resolve. Errors: those of filter_compile. */
MUST_CHECK bool filter_check_together(const struct work *work, const struct filter *const *filters, size_t count, struct error *err)
    NONNULL(1, 2, 4);

/* Reads and resolves the filter of an audience before it is saved (`audience_id` 0: a new audience). Refuses a filter that does
 * not compile, and one that makes the audience refer to itself. Cohorts that are being built are accepted. Round trips as
 * filter_resolve. Errors: INVALID_REQUEST with the exact path. */
MUST_CHECK bool filter_check(const struct work *work, const json_t *json, const char *param, int64_t audience_id,
                             const struct filter **ret_filter, const struct filter_scope **ret_scope, struct error *err)
    NONNULL(1, 3, 5, 6, 7);
