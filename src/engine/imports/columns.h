/*
 * What the columns of an import mean, by their headers and
 * the caller's mapping, and what the cells of custom fields hold.
 *
 * A header names a core field in any spelling of a small table, or a custom
 * field by its normalized name. The type of a field that the brand does not
 * have yet is what all its first values fit: bool, number, date, else string.
 */
#pragma once

#include "base/csv.h"
#include "engine/fields/field_registry.h"

#include <jansson.h>

enum column_kind {
    COLUMN_SKIP,
    COLUMN_EMAIL,
    COLUMN_FIRST_NAME,
    COLUMN_LAST_NAME,
    COLUMN_USER_ID,
    COLUMN_SOURCE,
    COLUMN_SUBSCRIBED,
    COLUMN_CUSTOM,
};

enum { COLUMN_KIND_COUNT = COLUMN_CUSTOM + 1 };

struct import_column {
    enum column_kind kind;
    const char *header;   /* as it stands in the file */
    const char *name;     /* of the field; NULL when skipped */
    enum field_type type; /* of a custom field */
    bool decimal_comma;   /* of numbers */
    const char *json_key; /* "name": as JSON, of a custom field */
};

struct import_columns {
    struct import_column *items;
    size_t count;
    json_t *warnings; /* array of resource "warning" */
};

/* Reads the header row. `mapping` is an object of header to field name or null, or NULL.
 * Errors: INVALID_REQUEST with `param`, or mapping.<header>, naming the columns. */
MUST_CHECK bool import_columns_read(struct arena *arena, const struct csv_row *header, const json_t *mapping, const char *param,
                                    struct import_columns *ret_columns, struct error *err) NONNULL(1, 2, 4, 5, 6);

void import_column_set_type(struct arena *arena, struct import_column *column, enum field_type type) NONNULL(1, 2);

/* Adds a warning; `field` may be NULL. */
void import_warn(struct import_columns *columns, const char *code, const char *field, const char *message) NONNULL(1, 2, 4);

/* As JSON for the row of the import, and back. */
json_t *import_columns_json(const struct import_columns *columns) NONNULL(1) RETURNS_NONNULL;
MUST_CHECK bool import_columns_load(struct arena *arena, const json_t *json, struct import_columns *ret_columns) NONNULL(1, 3);

/* ---- What the first values of a column have in common ---- */

struct column_sample {
    size_t values;
    bool not_bool;
    bool not_number;
    bool not_comma_number;
    bool not_date;
    bool comma_is_decimal; /* some value can only be read with a decimal comma */
};

void column_sample_add(struct column_sample *sample, const char *text) NONNULL(1, 2);

/* The type, and whether numbers have a decimal comma, which they can only where the comma does not part cells. */
enum field_type column_sample_type(const struct column_sample *sample, char delimiter, bool *ret_decimal_comma) NONNULL(1, 3);

/* ---- Cells ---- */

/* true, yes, y, 1 and their opposites in any case; false when it is none of them. */
bool import_cell_bool(const char *text, bool *ret_value) NONNULL(1, 2);

/* Writes the cell as it is stored in a field of this type, as JSON. False when it does not fit. */
bool import_cell_write(const char *text, const struct import_column *column, struct json_writer *json) NONNULL(1, 2, 3);
