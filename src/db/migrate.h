/*
 * Migrations: numbered, forward-only changes of the schema, compiled in from
 * src/db/migrations/NNNN_name.sql. A binary refuses a schema version newer than
 * its own. An advisory lock makes concurrent processes migrate once.
 */
#pragma once

#include "db/db.h"

struct db_migration {
    int number; /* from 1, without a gap */
    const char *title;
    const char *sql;
};

/* Generated from the files, in order. */
extern const struct db_migration db_migrations[];
extern const size_t db_migration_count;

/* Migrates the schema to the newest version of this binary; creates the schema "posthorn" at first. */
MUST_CHECK bool db_migrate(struct db_conn *conn, int *ret_version, struct error *err) NONNULL(1, 2, 3);

/* The schema version of the database, 0 for an empty one. */
MUST_CHECK bool db_schema_version(struct db_conn *conn, int *ret_version, struct error *err) NONNULL(1, 2, 3);
int db_schema_version_newest(void);
