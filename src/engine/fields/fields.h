/*
 * Definitions of contact fields: the core fields, which every contact has, and
 * the custom ones of a brand, each typed once. Results live in the arena of the
 * work.
 */
#pragma once

#include "engine/fields/field_registry.h"
#include "engine/core/page_cursor.h"

enum { FIELD_CLEAR_STEP = 5000 }; /* contacts looked at in one transaction of a deletion */

/* A page of the core fields and then the custom ones by name, written as the resource "fieldPage". One round trip.
 * Errors: INVALID_REQUEST (cursor). */
MUST_CHECK bool field_list(const struct work *work, int64_t limit, const char *cursor, struct json_writer *json, struct error *err)
    NONNULL(1, 4, 5);

struct field_created {
    const char *name; /* camelCase */
    bool is_new;
};

/* Defines a field; one that is there with this type is left as it is. One round trip.
 * Errors: INVALID_REQUEST (fieldName), FIELD_TYPE_MISMATCH (fieldType). */
MUST_CHECK bool field_create(const struct work *work, const char *given_name, const char *type, struct field_created *ret_created,
                             struct error *err) NONNULL(1, 2, 3, 4, 5);

/* The name of a custom field that is to be deleted, and whether there is one. One round trip.
 * Errors: CORE_FIELD_IMMUTABLE. A name that no field can have is none. */
MUST_CHECK bool field_find_for_deletion(const struct work *work, const char *given_name, const char **ret_name, bool *ret_exists,
                                        struct error *err) NONNULL(1, 2, 3, 4, 5);

/* Takes the values of a field from the next contacts behind `*after_id`, outside a transaction or in one, and moves it on.
 * `ret_seen` 0: there are no more. */
MUST_CHECK bool field_clear_step(const struct work *work, const char *name, int64_t *after_id, int64_t *ret_seen, struct error *err)
    NONNULL(1, 2, 3, 4, 5);

/* Removes the definition, and values written since they were cleared. */
MUST_CHECK bool field_delete(const struct work *work, const char *name, bool *ret_deleted, struct error *err) NONNULL(1, 2, 3, 4);
