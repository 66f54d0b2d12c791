/*
 * Column mapping of an import: the contact field of each column, from its header
 * and the caller's mapping, and the types of custom fields (type inference).
 *
 * A header matches a core field by a small table of spellings, else a custom
 * field by its normalized name. A new custom field gets the first type that
 * fits all sampled values: bool, number, date, else string.
 */
#pragma once

#include "base/csv.h"
#include "base/error.h"
#include "engine/fields/field_registry.h"

#include <assert.h>
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

enum {
    IMPORT_HEADER_MAX_BYTES = 512,
    IMPORT_ESCAPE_MAX_BYTES = 6, /* of a byte in JSON */
    /* A mapping of all columns: names and fields, with quotes and separators. */
    IMPORT_MAPPING_MAX_BYTES = CSV_MAX_CELLS * 2 * (IMPORT_HEADER_MAX_BYTES * IMPORT_ESCAPE_MAX_BYTES + 4),
};

static_assert(IMPORT_MAPPING_MAX_BYTES + 1024 * 1024 < ERROR_DETAILS_MAX_BYTES, "a refusal has room for a mapping of all columns");

struct import_column {
    enum column_kind kind;
    const char *header;   /* as in the file */
    const char *name;     /* field name; NULL when skipped */
    enum field_type type; /* for a custom field */
    bool decimal_comma;   /* numbers use a decimal comma */
    const char *json_key; /* "name": as JSON, for a custom field */
};

struct import_columns {
    struct import_column *items;
    size_t count;
    json_t *warnings; /* array of resource "warning" */
};

/* Reads the header row. `mapping` is an object of header to field name or null, or NULL. `likely_email` is the column that looks
 * like addresses, to be suggested; SIZE_MAX when none is known.
 * Errors: INVALID_REQUEST with `param`, or mapping.<header>. The details have all columns at fault and a mapping to use. */
MUST_CHECK bool import_columns_read(struct arena *arena, const struct csv_row *header, const json_t *mapping, size_t likely_email,
                                    const char *param, struct import_columns *ret_columns, struct error *err)
    NONNULL(1, 2, 5, 6, 7);

void import_column_set_type(struct arena *arena, struct import_column *column, enum field_type type) NONNULL(1, 2);

/* The names of the custom fields that the columns fill. */
struct text_list import_columns_custom(struct arena *arena, const struct import_columns *columns) NONNULL(1, 2);

/* Adds a warning; `field` may be NULL. */
void import_warn(struct import_columns *columns, const char *code, const char *field, const char *message) NONNULL(1, 2, 4);

/* Writes the columns as JSON for the row of the import, and reads them back. */
json_t *import_columns_json(const struct import_columns *columns) NONNULL(1) RETURNS_NONNULL;
MUST_CHECK bool import_columns_load(struct arena *arena, const json_t *json, struct import_columns *ret_columns) NONNULL(1, 3);

/* ---- Type inference from the first values of a column ---- */

struct column_sample {
    size_t values;
    bool not_bool;
    bool not_number;
    bool not_comma_number;
    bool not_date;
    bool comma_is_decimal; /* some value is valid only with a decimal comma */
};

void column_sample_add(struct column_sample *sample, const char *text) NONNULL(1, 2);

/* Infers the type. `ret_decimal_comma`: numbers have a decimal comma; never when the comma is the delimiter. */
enum field_type column_sample_type(const struct column_sample *sample, char delimiter, bool *ret_decimal_comma) NONNULL(1, 3);

/* ---- Cells ---- */

/* Reads true, yes, y, 1 and false, no, n, 0, ignoring case. False for any other text. */
bool import_cell_bool(const char *text, bool *ret_value) NONNULL(1, 2);

/* Writes the cell as JSON in the form that a field of this type stores. False when it does not fit. */
bool import_cell_write(const char *text, const struct import_column *column, struct json_writer *json) NONNULL(1, 2, 3);
