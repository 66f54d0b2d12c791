/*
 * Definitions of contact fields: the core fields, which every contact has, and
 * the custom fields of a brand. The type of a field never changes. Results are
 * allocated in the arena of the work.
 */
#pragma once

#include "engine/core/page.h"
#include "engine/fields/field_registry.h"

enum { FIELD_CLEAR_STEP = 5000 }; /* contacts scanned in one transaction of a deletion */

/* Writes a page of the core fields, then the custom fields by name, as the resource "fieldPage". One round trip.
 * Errors: INVALID_REQUEST (cursor). */
MUST_CHECK bool field_list(const struct work *work, int64_t limit, const char *cursor, struct json_writer *json, struct error *err)
    NONNULL(1, 4, 5);

/* The values of text fields in a description for assistants. */
enum {
    FIELD_VALUES_SAMPLE = 500, /* newest contacts that are read */
    FIELD_VALUES_SHOWN = 5,    /* of one field */
    FIELD_VALUE_MAX_CHARS = 40,
};

/* Writes a page as field_list does. Text fields that are not about one person also have their frequent values: those of at least
 * two of the newest contacts. The object stays open. Two round trips. Errors: INVALID_REQUEST (cursor). */
MUST_CHECK bool field_describe(const struct work *work, int64_t limit, const char *cursor, struct json_writer *json,
                               struct error *err) NONNULL(1, 4, 5);

struct field_created {
    const char *name; /* camelCase */
    bool is_new;
};

/* Defines a field. An existing field with this type stays unchanged. One round trip.
 * Errors: INVALID_REQUEST (fieldName), FIELD_TYPE_MISMATCH (fieldType). */
MUST_CHECK bool field_create(const struct work *work, const char *given_name, const char *type, struct field_created *ret_created,
                             struct error *err) NONNULL(1, 2, 3, 4, 5);

/* Finds a custom field to delete: its normalized name, and if it exists. An invalid name does not exist. One round trip.
 * Errors: CORE_FIELD_IMMUTABLE. */
MUST_CHECK bool field_find_for_deletion(const struct work *work, const char *given_name, const char **ret_name, bool *ret_exists,
                                        struct error *err) NONNULL(1, 2, 3, 4, 5);

/* The custom field whose name is most like this one; NULL when none is alike. One round trip. */
MUST_CHECK bool field_find_nearest(const struct work *work, const char *name, const char **ret_nearest, struct error *err)
    NONNULL(1, 2, 3, 4);

/* A deletion: field_leave, field_clear_step until no contacts are left, field_delete. Each may be repeated after an interruption:
 * the row of the field has the position. From field_leave on, nothing writes values of the field. */

/* Marks a field as being deleted, after the transactions that write custom fields now. Outside of a transaction. */
MUST_CHECK bool field_leave(const struct work *work, const char *name, bool *ret_exists, struct error *err) NONNULL(1, 2, 3, 4);

/* Removes the values from the next FIELD_CLEAR_STEP contacts. A transaction is optional. `ret_seen` below FIELD_CLEAR_STEP: no
 * contacts are left, or the field is not being deleted any more. */
MUST_CHECK bool field_clear_step(const struct work *work, const char *name, int64_t *ret_seen, struct error *err)
    NONNULL(1, 2, 3, 4);

/* Removes the definition of a field that is being deleted. */
MUST_CHECK bool field_delete(const struct work *work, const char *name, bool *ret_deleted, struct error *err) NONNULL(1, 2, 3, 4);

/* Takes a field into use again whose deletion has failed. */
MUST_CHECK bool field_stay(const struct work *work, const char *name, struct error *err) NONNULL(1, 2, 3);
