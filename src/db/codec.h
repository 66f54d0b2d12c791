/*
 * Inside the room: values on the wire.
 *
 * Parameters and rows travel in PostgreSQL's binary formats, except text and
 * jsonb parameters, whose text form is sent from where it lies. Binary needs no
 * escaping, so an array of any texts is one copy, and a timestamptz is 64 bits
 * of microseconds since 2000 (integer_datetimes is always on since 10).
 */
#pragma once

#include "db/db.h"

#include <libpq-fe.h>

/* Parameters as libpq takes them; all arrays have the statement's param_count. */
struct db_encoded {
    const char *const *values;
    const int *lengths;
    const int *formats;
};

/* Encodes a parameter struct. Texts are pointed to, not copied.
 * Errors: INVALID_REQUEST for an integer out of range, INTERNAL_ERROR for a missing value, each with the param's name. */
MUST_CHECK bool db_encode(struct arena *arena, const struct db_statement *statement, const void *params,
                          struct db_encoded *ret_encoded, struct error *err) NONNULL(1, 2, 4, 5);

/* Reads a result into rows and takes it over: texts point into it, and it lives as long as the arena.
 * Errors: INTERNAL_ERROR when the result is not what the statement declares. */
MUST_CHECK bool db_decode(struct arena *arena, const struct db_statement *statement, PGresult *result, struct db_rows *ret_rows,
                          struct error *err) NONNULL(1, 2, 3, 4, 5);

/* The server's type for a declared one, the type of an array's elements (0 for others), and its name in SQL. */
Oid db_type_oid(enum db_type type);
Oid db_element_oid(enum db_type type);
const char *db_type_name(enum db_type type) RETURNS_NONNULL;
