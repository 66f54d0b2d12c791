#include "db/migrate.h"

#include "base/buf.h"
#include "db/advisory_locks.h"
#include "db/conn.h"

#include <stdio.h>
#include <stdlib.h>

enum { MIGRATION_SQL_MAX_BYTES = 4 * 1024 * 1024 };

static const char state_sql[] = "CREATE SCHEMA IF NOT EXISTS posthorn;"
                                "CREATE TABLE IF NOT EXISTS posthorn.schema_migrations ("
                                " number integer PRIMARY KEY,"
                                " title text NOT NULL,"
                                " applied_at timestamptz NOT NULL DEFAULT now());";

int db_schema_version_newest(void)
{
    return (int)db_migration_count;
}

/* Reads the number that a query returns; 0 when it returns none. */
static bool query_int(struct db_conn *conn, const char *sql, int *ret_value, struct error *err)
{
    PG_RESULT_SCOPE result = NULL;
    if (!conn_ready(conn, err) || !conn_simple(conn, sql, &result, err))
        return false;
    *ret_value = PQntuples(result) == 1 ? (int)strtol(PQgetvalue(result, 0, 0), NULL, 10) : 0;
    return true;
}

bool db_schema_version(struct db_conn *conn, int *ret_version, struct error *err)
{
    int exists;
    *ret_version = 0;
    if (!query_int(conn, "SELECT (to_regclass('posthorn.schema_migrations') IS NOT NULL)::integer", &exists, err))
        return false;
    if (!exists)
        return true;
    return query_int(conn, "SELECT max(number) FROM posthorn.schema_migrations", ret_version, err);
}

static bool refuse_newer(int version, struct error *err)
{
    return fail(err, ERR_INTERNAL_ERROR, "database",
                "The database has schema version %d, but this program supports only up to version %d. Use a newer Posthorn.",
                version, db_schema_version_newest());
}

static bool apply(struct db_conn *conn, const struct db_migration *migration, struct error *err)
{
    BUF_SCOPE sql;
    buf_init(&sql, MIGRATION_SQL_MAX_BYTES);
    buf_printf(&sql, "%s\n;INSERT INTO posthorn.schema_migrations (number, title) VALUES (%d, '%s');", migration->sql,
               migration->number, migration->title);
    if (sql.overflowed)
        return fail(err, ERR_INTERNAL_ERROR, "database", "Migration %04d is too large.", migration->number);
    if (db_script(conn, buf_text(&sql), err))
        return true;
    if (err->code == ERR_INTERNAL_ERROR)
        fail(err, ERR_INTERNAL_ERROR, "database", "Migration %04d_%s failed; none of its changes were saved.", migration->number,
             migration->title);
    return false;
}

/* A migration may take longer than a call. */
static bool lock_migrations(struct db_conn *conn, struct error *err)
{
    char sql[128];
    snprintf(sql, sizeof(sql), "SET LOCAL statement_timeout = 0; SELECT pg_advisory_xact_lock(%d, 0);", ADVISORY_LOCK_MIGRATION);
    return db_script(conn, sql, err);
}

/* Applies the next migration in its own transaction. The lock makes other processes wait until it is done. */
static bool apply_next(struct db_conn *conn, int *ret_version, struct error *err)
{
    DB_TX tx = { .conn = NULL };
    if (!db_tx_begin(conn, &tx, err))
        return false;
    if (!lock_migrations(conn, err) || !db_script(conn, state_sql, err) || !db_schema_version(conn, ret_version, err))
        return false;
    if (*ret_version > db_schema_version_newest())
        return refuse_newer(*ret_version, err);
    if (*ret_version < db_schema_version_newest()) {
        if (!apply(conn, &db_migrations[*ret_version], err))
            return false;
        ++*ret_version;
    }
    return db_tx_commit(&tx, err);
}

bool db_migrate(struct db_conn *conn, int *ret_version, struct error *err)
{
    /* A start with an up-to-date schema takes no lock. */
    if (!db_schema_version(conn, ret_version, err))
        return false;
    if (*ret_version > db_schema_version_newest())
        return refuse_newer(*ret_version, err);
    while (*ret_version < db_schema_version_newest()) {
        if (!apply_next(conn, ret_version, err))
            return false;
    }
    return true;
}
