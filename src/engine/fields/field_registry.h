/*
 * Custom fields of contacts: their names, their types, and the values of one
 * save. The first value of a field sets its type for the brand. snake_case,
 * kebab-case and spaced names are normalized to one camelCase name. The names
 * that an integration declares are kept.
 *
 * A field_registry holds the custom fields of one save (single or batch). It is
 * allocated in the arena of the work and belongs to its thread. Use it in this
 * order: read the values of every row, query the definitions, load them, check
 * the values, and write them as JSON.
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

/* True for the name of a core field, which every contact has. */
bool field_name_is_core(const char *name) NONNULL(1) PURE;

/* True for the name of a core field or of another built-in one that a filter understands (D-147). */
bool field_name_is_built_in(const char *name) NONNULL(1) PURE;

/* Normalizes a name to camelCase; the declared names of integrations stay. Errors: INVALID_REQUEST when it cannot be a
 * custom field; for the name of a built-in field, *ret_name is set nevertheless. */
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
    json_t *types; /* name → enum field_type: of the first value; after field_registry_load, of the definition, FIELD_NONE while it
                      is being deleted */
    json_t *renamed; /* given name → camelCase name, if they differ */
    struct text_list created;
};

struct field_registry field_registry_new(struct arena *arena) NONNULL(1);

/* Reads a customFields object (NULL: none) into values, and adds names and types to the registry.
 * Errors: INVALID_REQUEST with param customFields.<name as given>. */
MUST_CHECK bool field_registry_read(struct field_registry *registry, const json_t *object, struct custom_values *ret_values,
                                    struct error *err) NONNULL(1, 3, 4);

/* Adds statements to the batch that define missing fields and query the definitions; none when no value needs a field.
 * Returns the index for field_registry_load. */
size_t field_registry_query(const struct field_registry *registry, const struct work *work, struct db_batch *batch)
    NONNULL(1, 2, 3);

/* Loads the definitions after the batch ran. True when a field has another type than its first value. */
bool field_registry_load(struct field_registry *registry, const struct db_batch *batch, size_t index) NONNULL(1, 2);

/* Checks that every value fits the type of its field.
 * Errors: FIELD_TYPE_MISMATCH or INVALID_REQUEST with param customFields.<name>. */
MUST_CHECK bool field_registry_check(const struct field_registry *registry, const struct custom_values *values, struct error *err)
    NONNULL(1, 2, 3);

/* The values as stored, as JSON object text. The later of two values of one field counts. The values must fit their types. */
const char *field_registry_json(const struct field_registry *registry, const struct custom_values *values)
    NONNULL(1, 2) RETURNS_NONNULL;

/* Warnings about renamed fields, as items of an array. */
void field_registry_write_warnings(const struct field_registry *registry, struct json_writer *json) NONNULL(1, 2);

/* The member "warnings" if the name was changed, inside an open object. */
void field_write_renamed(const char *given, const char *name, struct json_writer *json) NONNULL(1, 2, 3);

/* Writes one value as JSON in the form that a field of this type stores. False when it does not fit. */
bool field_value_write(const json_t *value, enum field_type type, struct json_writer *json) NONNULL(3);

/* Fails with INVALID_REQUEST: the field takes no values, because it is being deleted. Always false. */
bool field_refuse_leaving(const char *param, struct error *err) NONNULL(2);

/* A phrase for the values of a type, for messages: "a number". */
const char *field_type_holds(enum field_type type) RETURNS_NONNULL;
