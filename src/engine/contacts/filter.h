/*
 * Filters: conditions on contacts, as a caller or an audience gives them.
 *
 * {"logic":"and"|"or", "filters":[{"field","operator","value"} | nested]}, or a
 * bare array of those. Reading gives a typed tree, compiling gives SQL that is
 * assembled from fixed fragments, with every value and name a parameter. Trees
 * live in the arena of the work.
 */
#pragma once

#include "engine/contacts/contact_fields.h"
#include "engine/contacts/search_sql.h"

enum {
    FILTER_MAX_DEPTH = 4,
    FILTER_MAX_CONDITIONS = 50,
};

struct filter;

/* Reads filters. `param` is the path they were found at; `logic` is that of a bare array, NULL: and.
 * Errors: INVALID_REQUEST with the exact path, such as filters.filters.0.operator. */
MUST_CHECK bool filter_read(struct arena *arena, const json_t *json, const char *param, const char *logic,
                            const struct filter **ret_filter, struct error *err) NONNULL(1, 3, 5, 6);

/* Whether a condition is on a custom field, so that compiling needs the definitions. */
bool filter_uses_custom_fields(const struct filter *filter) NONNULL(1) PURE;

/* Appends the filter as one SQL condition. `field_types` maps the names of custom fields to enum field_type.
 * Errors: INVALID_REQUEST with the exact path. */
MUST_CHECK bool filter_compile(const struct filter *filter, const json_t *field_types, struct search_sql *sql, struct error *err)
    NONNULL(1, 2, 3, 4);
