/*
 * Internal to db: encodes parameters and decodes rows.
 *
 * Parameters and rows use PostgreSQL's binary formats. Text and jsonb parameters
 * use the text format, which is sent without a copy. The binary format needs no
 * escaping, so an array of texts is copied once. A timestamptz has 64 bits:
 * microseconds since 2000 (integer_datetimes is always on since 10).
 */
#pragma once

#include "db/db.h"

#include <libpq-fe.h>

/* Parameters in libpq's form; all arrays have the statement's param_count. */
struct db_encoded {
    const char *const *values;
    const int *lengths;
    const int *formats;
};

/* Encodes a parameter struct. Texts are referenced, not copied.
 * Errors: INVALID_REQUEST for an integer out of range, INTERNAL_ERROR for a missing value, each with the param's name. */
MUST_CHECK bool db_encode(struct arena *arena, const struct db_statement *statement, const void *params,
                          struct db_encoded *ret_encoded, struct error *err) NONNULL(1, 2, 4, 5);

/* Decodes a result into rows and owns it: texts point into it, and it lives as long as the arena.
 * Errors: INTERNAL_ERROR when the result does not match the statement's declaration. */
MUST_CHECK bool db_decode(struct arena *arena, const struct db_statement *statement, PGresult *result, struct db_rows *ret_rows,
                          struct error *err) NONNULL(1, 2, 3, 4, 5);

/* The server's type of a declared one, the type of an array's elements (0 for others), and the name in SQL. */
Oid db_type_oid(enum db_type type);
Oid db_element_oid(enum db_type type);
const char *db_type_name(enum db_type type) RETURNS_NONNULL;
