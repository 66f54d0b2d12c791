/*
 * Migrations: numbered, forward only. They are compiled in from
 * src/db/migrations/NNNN_name.sql. A binary serves a range of schema versions
 * and refuses a newer one with a clear sentence; concurrent processes migrate
 * once, behind an advisory lock.
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

/* Brings the schema to the newest version known; creates the schema "posthorn" at first. */
MUST_CHECK bool db_migrate(struct db_conn *conn, int *ret_version, struct error *err) NONNULL(1, 2, 3);

/* The version found, 0 for an empty database. */
MUST_CHECK bool db_schema_version(struct db_conn *conn, int *ret_version, struct error *err) NONNULL(1, 2, 3);
int db_schema_version_newest(void);
