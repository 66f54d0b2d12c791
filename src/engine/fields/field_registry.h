/*
 * Custom fields of contacts: their names, their types, and the values of one
 * save. A field is typed once a brand, by its first value; snake_case,
 * kebab-case and spaced names converge on one camelCase name.
 *
 * A field_registry is what one save (single or batch) knows of custom fields. It
 * lives in the arena of the work and belongs to its thread. The course: read
 * the values of every row, ask for the definitions, learn them, then fit and
 * write the values.
 */
#pragma once

#include "base/values.h"
#include "engine/core/work.h"

#include <jansson.h>

enum {
    FIELD_NAME_MAX_CHARS = 64,
    FIELD_TEXT_MAX_CHARS = 2000,
    FIELDS_MAX_PER_BRAND = 500,
};

enum field_type { FIELD_NONE, FIELD_STRING, FIELD_NUMBER, FIELD_DATE, FIELD_BOOL };

/* A type by its name in the database and on the wire; FIELD_NONE when there is none. */
enum field_type field_type_from_name(const char *name) NONNULL(1) PURE;

/* Whether every contact has a field of this name. */
bool field_name_is_core(const char *name) NONNULL(1) PURE;

/* The one camelCase name of a given one. Errors: INVALID_REQUEST, the message says why it cannot be a custom field; the name of a
 * core field is in *ret_name all the same. */
MUST_CHECK bool field_name_normalize(struct arena *arena, const char *given, const char **ret_name, struct error *err)
    NONNULL(1, 2, 3, 4);

/* ---- Values ---- */

struct custom_value {
    const char *name;    /* camelCase */
    const json_t *value; /* null clears */
};

struct custom_values {
    const struct custom_value *items;
    size_t count;
};

/* ---- The registry ---- */

struct field_registry {
    struct arena *arena;
    json_t *types;   /* name → enum field_type: of its first value, and once learned, of its definition */
    json_t *renamed; /* given name → camelCase name, where they differ */
    struct text_list created;
};

struct field_registry field_registry_new(struct arena *arena) NONNULL(1);

/* Reads a customFields object (NULL: none) into values, and notes names and types in the registry.
 * Errors: INVALID_REQUEST with param customFields.<name as given>. */
MUST_CHECK bool field_registry_read(struct field_registry *registry, const json_t *object, struct custom_values *ret_values,
                                    struct error *err) NONNULL(1, 3, 4);

/* Adds to the batch what defines missing fields and asks for the definitions. Nothing when no value needs a field.
 * Gives the index for field_registry_load. */
size_t field_registry_query(const struct field_registry *registry, const struct work *work, struct db_batch *batch)
    NONNULL(1, 2, 3);

/* Takes over the definitions after the run. True when a field has another type than its first value had. */
bool field_registry_load(struct field_registry *registry, const struct db_batch *batch, size_t index) NONNULL(1, 2);

/* Whether every value can be kept in its field.
 * Errors: FIELD_TYPE_MISMATCH or INVALID_REQUEST with param customFields.<name>. */
MUST_CHECK bool field_registry_check(const struct field_registry *registry, const struct custom_values *values, struct error *err)
    NONNULL(1, 2, 3);

/* The values as they are stored, JSON object text; of two values of one field the later counts. For values that fit. */
const char *field_registry_json(const struct field_registry *registry, const struct custom_values *values)
    NONNULL(1, 2) RETURNS_NONNULL;

/* Warnings about renamed fields, as items of an array. */
void field_registry_write_warnings(const struct field_registry *registry, struct json_writer *json) NONNULL(1, 2);

/* The member warnings, when the name was changed. Inside an open object. */
void field_write_renamed(const char *given, const char *name, struct json_writer *json) NONNULL(1, 2, 3);

/* One value as it is stored in a field of this type, written as JSON. False when it does not fit. */
bool field_value_write(const json_t *value, enum field_type type, struct json_writer *json) NONNULL(3);

/* What values a type holds, for messages: "a number". */
const char *field_type_holds(enum field_type type) RETURNS_NONNULL;
