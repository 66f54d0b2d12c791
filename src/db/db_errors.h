/*
 * Internal to db: maps errors of the server (SQLSTATE, constraint) to error codes.
 */
#pragma once

#include "db/db.h"

#include <libpq-fe.h>

/* Records the error of a failed result. The cause contains the name of `statement`, which may be NULL. Returns false. */
bool db_fail_with_result(struct error *err, const PGresult *result, const struct db_statement *statement) NONNULL(1, 2);

/* The same from its parts; `constraint` may be NULL. */
bool db_fail_with_sqlstate(struct error *err, const char *sqlstate, const char *constraint) NONNULL(1, 2);

/* A constraint whose violation is an error of the caller and not of the server. */
struct db_constraint_error {
    const char *constraint;
    enum error_code code;
    const char *param;
    const char *message;
};
extern const struct db_constraint_error db_constraint_errors[];
extern const size_t db_constraint_error_count;
