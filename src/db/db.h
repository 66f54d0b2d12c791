/*
 * PostgreSQL, as the engine sees it: typed statements, transactions as scopes,
 * and batches that travel together.
 *
 * Statements come from .sql files (see src/codegen/sql.c): each has a
 * parameter struct, a row struct and tables that say how their members map, so
 * binding and reading are done once, here. Rows live in the caller's arena.
 * A connection belongs to one thread at a time; only db_cancel may be called
 * from another. Statements are prepared once a connection, on first use, in the
 * same round trip.
 *
 * Errors: SQLSTATE and constraint name become an error code through one table
 * (db_errors.c). A server that went away gives SERVICE_UNAVAILABLE, retryable;
 * the next use of the connection reconnects with back-off.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/values.h"

struct db;
struct db_conn;

/* ---- Statements ---- */

enum db_type {
    DB_BIGINT,      /* int64_t | struct opt_int */
    DB_INTEGER,     /* int64_t | struct opt_int; int4 on the server */
    DB_FLOAT,       /* double | struct opt_number; float8 */
    DB_BOOLEAN,     /* bool | struct opt_bool */
    DB_TEXT,        /* const char *, NULL for null; text */
    DB_JSONB,       /* const char * holding JSON text; jsonb */
    DB_BYTEA,       /* struct bytes */
    DB_TIMESTAMPTZ, /* int64_t microseconds since the epoch | struct opt_int */

    /* A nullable array is SQL NULL when items is NULL; an empty one has items and count 0. */
    DB_BIGINT_ARRAY,      /* struct int_list */
    DB_TIMESTAMPTZ_ARRAY, /* struct int_list, microseconds */
    DB_TEXT_ARRAY,        /* struct text_list */
    DB_JSONB_ARRAY,       /* struct text_list of JSON texts */
    DB_BOOLEAN_ARRAY,     /* struct bool_list */
};

/* The times infinity and -infinity of PostgreSQL. */
#define DB_TIME_INFINITY       INT64_MAX
#define DB_TIME_MINUS_INFINITY INT64_MIN

struct db_field {
    const char *name;
    enum db_type type;
    bool nullable;
    size_t offset; /* in the parameter or row struct */
};

enum db_result {
    DB_ONE,  /* a row or none; more is an error */
    DB_MANY, /* rows */
    DB_EXEC, /* the number of rows changed */
};

enum { DB_MAX_PARAMS = 1024 };

struct db_statement {
    const char *name; /* unique; the prepared statement's name. "": made for one call and not kept prepared */
    enum db_result result;
    const char *sql; /* with $1 … $n */
    const struct db_field *params;
    size_t param_count;
    const struct db_field *columns;
    size_t column_count;
    size_t row_size;
};

struct db_rows {
    void *rows; /* array of row structs; NULL when none */
    size_t count;
    int64_t affected; /* rows changed, for writes */
};

/* ---- A database and its connections ---- */

struct db_config {
    const char *url;              /* libpq connection string */
    const char *application_name; /* shows in pg_stat_activity */
    int statement_timeout_ms;     /* 0: none */

    /* Called before a connection is tried again to a server that went away; it may bring the server back (cluster_rejoin).
     * NULL: nothing. From the thread that needs the connection, so possibly from several at once. */
    bool (*reach)(void *data, struct error *err);
    /* Asked before a connection is used outside of a transaction: false makes it be dropped and `reach` be called, also when
     * the server still answers there. NULL: always true. Any thread; it must be quick. */
    bool (*is_served)(void *data);
    void *reach_data; /* of both */
};

/* Describes a database; connects to nothing. Thread-safe afterwards. */
struct db *db_new(const struct db_config *config) NONNULL(1) RETURNS_NONNULL;
void db_free(struct db *db);

/* A connection; tries for up to `wait_ms` while the server is away (0: once, and once more behind `reach`). */
MUST_CHECK bool db_connect(struct db *db, int wait_ms, struct db_conn **ret_conn, struct error *err) NONNULL(1, 3, 4);
void db_disconnect(struct db_conn *conn);
void db_conn_cleanup(struct db_conn **conn);
#define DB_CONN_SCOPE CLEANUP(db_conn_cleanup) struct db_conn *

/* Asks the server to stop the statement that runs on `conn`; it ends with an error of db_error_is_canceled. From any
 * thread; harmless when nothing runs. A statement begun after the return is never hit, so callers that share a
 * connection hold the lock by which they hand it out. */
void db_cancel(struct db_conn *conn) NONNULL(1);

/* Round trips since the connection was made; tests hold operations to their budget with it. */
uint64_t db_round_trips(const struct db_conn *conn) NONNULL(1) PURE;

/* The descriptor, to wait for notifications; -1 when disconnected. */
int db_socket(const struct db_conn *conn) NONNULL(1);

/* Runs one statement. `ret_rows` may be NULL when nothing is wanted of it. Texts in the rows live as long as the arena. */
MUST_CHECK bool db_run(struct db_conn *conn, struct arena *arena, const struct db_statement *statement, const void *params,
                       struct db_rows *ret_rows, struct error *err) NONNULL(1, 2, 3, 6);

/* Several SQL commands without parameters or rows (migrations, tests). A SET does not survive a reconnect. */
MUST_CHECK bool db_script(struct db_conn *conn, const char *sql, struct error *err) NONNULL(1, 2, 3);

/* ---- Batches: independent statements in one round trip ---- */

struct db_batch;
struct db_tx;

/* An empty batch on `conn`; in an open transaction it is part of it, outside each batch is one implicit transaction. */
struct db_batch *db_batch_new(struct db_conn *conn, struct arena *arena) NONNULL(1, 2) RETURNS_NONNULL;

/* Queues a statement and gives its index. `params` is read now; the texts it points to must live until the run. */
size_t db_batch_add(struct db_batch *batch, const struct db_statement *statement, const void *params) NONNULL(1, 2);

/* How many statements are queued: the index of the next. */
size_t db_batch_count(const struct db_batch *batch) NONNULL(1) PURE;

/* Sends all, reads all. On the first failure nothing of an implicit transaction is kept. */
MUST_CHECK bool db_batch_run(struct db_batch *batch, struct error *err) NONNULL(1, 2);

/* As db_batch_run, with the COMMIT of `tx` behind the statements in the same round trip. */
MUST_CHECK bool db_batch_run_commit(struct db_batch *batch, struct db_tx *tx, struct error *err) NONNULL(1, 2, 3);

/* Sends all as transactions of their own (not inside a transaction), so that one failure leaves the others. False only when the
 * connection broke. */
MUST_CHECK bool db_batch_run_each(struct db_batch *batch, struct error *err) NONNULL(1, 2);

/* Results after a run; the error of an item (ERR_NONE when it went well, or was not reached behind another that failed). */
const struct db_rows *db_batch_rows(const struct db_batch *batch, size_t index) NONNULL(1) RETURNS_NONNULL;
const struct error *db_batch_error(const struct db_batch *batch, size_t index) NONNULL(1) RETURNS_NONNULL;

/* ---- Transactions ---- */

/*
 * A READ COMMITTED transaction that is rolled back at the end of its scope
 * unless committed. BEGIN travels with the first statement.
 *
 *     DB_TX tx;
 *     if (!db_tx_begin(conn, &tx, err)) return false;
 *     …
 *     return db_tx_commit(&tx, err);
 */
struct db_tx {
    struct db_conn *conn; /* NULL when ended */
};
MUST_CHECK bool db_tx_begin(struct db_conn *conn, struct db_tx *ret_tx, struct error *err) NONNULL(1, 2, 3);
MUST_CHECK bool db_tx_commit(struct db_tx *tx, struct error *err) NONNULL(1, 2);
void db_tx_rollback(struct db_tx *tx) NONNULL(1);
#define DB_TX CLEANUP(db_tx_rollback) struct db_tx

/* Whether a transaction is open on the connection. */
bool db_in_transaction(const struct db_conn *conn) NONNULL(1) PURE;

/* True for errors that a fresh try of the same transaction may cure: serialization failure, deadlock. */
bool db_error_is_retryable(const struct error *err) NONNULL(1) PURE;

/* True for a statement that db_cancel or the statement time-out stopped. */
bool db_error_is_canceled(const struct error *err) NONNULL(1) PURE;

/* True when the server could not be reached or went away: what was sent may have been done, a commit too. */
bool db_error_is_lost(const struct error *err) NONNULL(1) PURE;

/* ---- Notifications ---- */

enum { DB_MAX_CHANNELS = 8 };

/* Listens on a channel, also after a reconnect. `channel` must outlive the connection. */
MUST_CHECK bool db_listen(struct db_conn *conn, const char *channel, struct error *err) NONNULL(1, 2, 3);

struct db_notice {
    const char *channel;
    const char *payload;
};

/* Takes one waiting notification into the arena; waits up to `wait_ms`. False in ret_got when there was none.
 * A lost connection is an error once; the next call reconnects and listens again, and what was sent between is lost. */
MUST_CHECK bool db_notice_take(struct db_conn *conn, struct arena *arena, int wait_ms, bool *ret_got, struct db_notice *ret_notice,
                               struct error *err) NONNULL(1, 2, 4, 5, 6);

/* ---- Bulk ---- */

/* COPY table (columns) FROM STDIN in text format: begin, rows of raw COPY text, end. A copy that is not ended is
 * abandoned, nothing of it kept, by the next use of the connection. */
MUST_CHECK bool db_copy_begin(struct db_conn *conn, const char *copy_sql, struct error *err) NONNULL(1, 2, 3);
MUST_CHECK bool db_copy_put(struct db_conn *conn, const char *text, size_t size, struct error *err) NONNULL(1, 2, 4);
MUST_CHECK bool db_copy_end(struct db_conn *conn, int64_t *ret_rows, struct error *err) NONNULL(1, 3);
