/*
 * Database: the PostgreSQL client of the engine, with typed prepared
 * statements, transactions as scopes, and batches by pipelining.
 *
 * Statements come from .sql files (see src/codegen/sql.c). Each has a parameter
 * struct, a row struct and tables that map their members to SQL, so that binding
 * and reading are written once. Rows live in the caller's arena. One thread at a
 * time uses a connection; only db_cancel may be called from another. A statement
 * is prepared once per connection, in the round trip of its first use.
 *
 * Errors: one table (db_errors.c) maps SQLSTATE and constraint name to an error
 * code. A lost server gives SERVICE_UNAVAILABLE, which is retryable; the next use
 * of the connection reconnects with exponential backoff.
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
    DB_ONE,  /* at most one row; more is an error */
    DB_MANY, /* rows */
    DB_PAGE, /* rows up to DB_PAGE_MAX_BYTES, at least one; the others are dropped as they arrive */
    DB_EXEC, /* the number of rows changed */
};

enum {
    DB_MAX_PARAMS = 1024,
    DB_PAGE_MAX_BYTES = 8 * 1024 * 1024, /* of the values of a DB_PAGE */
};

struct db_statement {
    const char *name; /* unique; the prepared statement's name. "": used for one call and not kept prepared */
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
    bool is_cut;      /* rows of a DB_PAGE were dropped */
};

/* The rows of a DB_PAGE, from a generated function. */
struct db_page {
    size_t count;
    bool is_cut;
};

/* ---- A database and its connections ---- */

struct db_config {
    const char *url;              /* libpq connection string */
    const char *application_name; /* shows in pg_stat_activity */
    int statement_timeout_ms;     /* 0: none */

    /* Called before each reconnect to a lost server; it may restart the server (cluster_rejoin). May be NULL. The threads that
     * need a connection call it, possibly several at a time. */
    bool (*reach)(void *data, struct error *err);
    /* Asked before a connection is used outside of a transaction: false makes it be dropped and `reach` be called, also when
     * the server still answers there. NULL: always true. Any thread; it must be quick. */
    bool (*is_served)(void *data);
    void *reach_data; /* of both */

    bool is_private; /* the server belongs to this installation, so its processes may get a lower priority */
};

/* Describes a database without a connection. Any thread may use the result. */
struct db *db_new(const struct db_config *config) NONNULL(1) RETURNS_NONNULL;
void db_free(struct db *db);

/* Opens a connection; retries for up to `wait_ms` while the server is away (0: one try, and one more after `reach`). */
MUST_CHECK bool db_connect(struct db *db, int wait_ms, struct db_conn **ret_conn, struct error *err) NONNULL(1, 3, 4);
void db_disconnect(struct db_conn *conn);
void db_conn_cleanup(struct db_conn **conn);
#define DB_CONN_SCOPE CLEANUP(db_conn_cleanup) struct db_conn *

/* Gives the server's process of this connection a lower scheduling priority, now and after each reconnect, where the server is
 * private and runs on this machine. For connections that do slow work only: the process keeps the priority until its end. */
void db_lower_priority(struct db_conn *conn) NONNULL(1);

/* Whether the server may use several processes for one query of this connection; it may by default. Their priority cannot be
 * lowered. A change costs a round trip. */
MUST_CHECK bool db_allow_parallel(struct db_conn *conn, bool allowed, struct error *err) NONNULL(1, 3);

/* Cancels the statement that runs on `conn`, within a tenth of a second; it ends with an error of db_error_is_canceled. Any thread
 * may call it, and it never waits. It has no effect when no statement runs, and never cancels a statement begun after the return.
 * So callers that share a connection hold the lock that assigns it. */
void db_cancel(struct db_conn *conn) NONNULL(1);

/* Round trips since the connection was opened; tests check the budget of operations with it. */
uint64_t db_round_trips(const struct db_conn *conn) NONNULL(1) PURE;

/* The socket's descriptor, to wait for notifications; -1 when disconnected. */
int db_socket(const struct db_conn *conn) NONNULL(1);

/* Runs one statement. `ret_rows` may be NULL. Texts in the rows live as long as the arena. */
MUST_CHECK bool db_run(struct db_conn *conn, struct arena *arena, const struct db_statement *statement, const void *params,
                       struct db_rows *ret_rows, struct error *err) NONNULL(1, 2, 3, 6);

/* Runs several SQL commands without parameters or rows (migrations, tests). A SET does not survive a reconnect. */
MUST_CHECK bool db_script(struct db_conn *conn, const char *sql, struct error *err) NONNULL(1, 2, 3);

/* ---- Batches: independent statements in one round trip ---- */

struct db_batch;
struct db_tx;

/* An empty batch on `conn`. A batch is a part of the open transaction, or else one implicit transaction. */
struct db_batch *db_batch_new(struct db_conn *conn, struct arena *arena) NONNULL(1, 2) RETURNS_NONNULL;

/* Adds a statement and returns its index. `params` is read now; the texts that it points to must live until the run. */
size_t db_batch_add(struct db_batch *batch, const struct db_statement *statement, const void *params) NONNULL(1, 2);

/* The number of statements, which is the index of the next. */
size_t db_batch_count(const struct db_batch *batch) NONNULL(1) PURE;

/* Sends all statements, then reads all results (pipelining). A failure rolls an implicit transaction back. */
MUST_CHECK bool db_batch_run(struct db_batch *batch, struct error *err) NONNULL(1, 2);

/* As db_batch_run, with the COMMIT of `tx` after the statements in the same round trip. */
MUST_CHECK bool db_batch_run_commit(struct db_batch *batch, struct db_tx *tx, struct error *err) NONNULL(1, 2, 3);

/* Runs each statement as its own transaction, so that a failure does not affect the others; not inside a transaction. False only
 * when the connection broke. */
MUST_CHECK bool db_batch_run_each(struct db_batch *batch, struct error *err) NONNULL(1, 2);

/* The rows and the error of a statement after a run. The error is ERR_NONE after success, and for a statement after a failed
 * one. */
const struct db_rows *db_batch_rows(const struct db_batch *batch, size_t index) NONNULL(1) RETURNS_NONNULL;
const struct error *db_batch_error(const struct db_batch *batch, size_t index) NONNULL(1) RETURNS_NONNULL;

/* ---- Transactions ---- */

/*
 * A READ COMMITTED transaction that is rolled back at the end of its scope
 * unless committed. BEGIN travels with the first statement.
 *
 *     DB_TX tx = { .conn = NULL };
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
#define DB_TX CLEANUP(db_tx_rollback) struct db_tx /* initialize it: it is rolled back also when it was not begun */

/* Whether a transaction is open on the connection. */
bool db_in_transaction(const struct db_conn *conn) NONNULL(1) PURE;

/* True for errors after which a retry of the same transaction may succeed: serialization failure, deadlock. */
bool db_error_is_retryable(const struct error *err) NONNULL(1) PURE;

/* True for a statement that db_cancel or the statement timeout stopped. */
bool db_error_is_canceled(const struct error *err) NONNULL(1) PURE;

/* True when the server could not be reached or the connection was lost. The statements may still have been executed, even a
 * COMMIT. */
bool db_error_is_lost(const struct error *err) NONNULL(1) PURE;

/* ---- Notifications ---- */

enum { DB_MAX_CHANNELS = 8 };

/* Listens on a channel, also after a reconnect. `channel` must outlive the connection. */
MUST_CHECK bool db_listen(struct db_conn *conn, const char *channel, struct error *err) NONNULL(1, 2, 3);

struct db_notice {
    const char *channel;
    const char *payload;
};

/* Takes one notification into the arena, after a wait of up to `wait_ms`. `ret_got` is false when there was none.
 * A lost connection is an error once. The next call reconnects and listens again; notifications sent meanwhile are lost. */
MUST_CHECK bool db_notice_take(struct db_conn *conn, struct arena *arena, int wait_ms, bool *ret_got, struct db_notice *ret_notice,
                               struct error *err) NONNULL(1, 2, 4, 5, 6);

/* ---- Bulk ---- */

/* COPY table (columns) FROM STDIN in text format: begin, rows of raw COPY text, end. The next use of the connection cancels
 * a COPY that was not ended and discards its rows. */
MUST_CHECK bool db_copy_begin(struct db_conn *conn, const char *copy_sql, struct error *err) NONNULL(1, 2, 3);
MUST_CHECK bool db_copy_put(struct db_conn *conn, const char *text, size_t size, struct error *err) NONNULL(1, 2, 4);
MUST_CHECK bool db_copy_end(struct db_conn *conn, int64_t *ret_rows, struct error *err) NONNULL(1, 3);
