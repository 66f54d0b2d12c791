/*
 * Internal to db: the connection, its reconnect backoff and its cancel requests.
 *
 * The connection is in pipeline mode; scripts and COPY leave it temporarily.
 * Only the thread that holds the connection uses it, except the members that
 * `lock` guards, which db_cancel uses from any thread.
 */
#pragma once

#include "db/db.h"

#include <libpq-fe.h>
#include <pthread.h>

struct db {
    char *url;
    char *application_name;
    int statement_timeout_ms;
    bool (*reach)(void *data, struct error *err);
    bool (*is_served)(void *data);
    void *reach_data;
    bool is_private;
};

/* The prepared statements of a connection: an open-addressing hash set of pointers. */
struct prepared_set {
    const struct db_statement **slots;
    size_t capacity; /* a power of two, or 0 */
    size_t count;
};

struct db_conn {
    struct db *db;
    PGconn *pg; /* NULL when disconnected */
    struct prepared_set prepared;
    uint64_t round_trips;

    size_t syncs_due;   /* the synchronization points of a pipeline that have not arrived yet */
    bool tx_open;       /* a DB_TX scope is open */
    bool begin_pending; /* its BEGIN was not sent yet */
    bool copying;
    bool stale; /* its prepared plans no longer match the schema: reconnect when idle */

    bool is_low;          /* its server process has a low priority, or shall get it */
    bool is_low_due;      /* the priority of this server process is still to be lowered */
    bool is_not_parallel; /* one process for each query; also after a reconnect */

    const char *channels[DB_MAX_CHANNELS];
    size_t channel_count;

    int64_t next_attempt_us; /* monotonic; no reconnect before this time */
    int64_t backoff_ms;

    PGcancel *cancel;
    pthread_mutex_t lock; /* never held while a call waits */
    bool running;
    bool cancel_wanted;
};

/* Makes the connection usable for the next command: ends an abandoned COPY and detects a lost server. It reconnects unless
 * that would lose an open transaction. */
MUST_CHECK bool conn_ready(struct db_conn *conn, struct error *err) NONNULL(1, 2);

/* Drops a broken connection and records SERVICE_UNAVAILABLE, with libpq's message as the cause. Returns false. */
bool conn_lost(struct db_conn *conn, struct error *err) NONNULL(1, 2);

/* Mark the time in which db_cancel can stop a statement. */
void conn_running_begin(struct db_conn *conn) NONNULL(1);
void conn_running_end(struct db_conn *conn) NONNULL(1);

/* Waits for the next result, and sends a cancel request that is wanted, again and again. NULL when the connection broke or no
 * result is due. */
PGresult *conn_take_result(struct db_conn *conn) NONNULL(1);

/* Waits for the socket: 1 when it is readable, 0 after `wait_ms` (-1: no limit), -1 when it is broken. */
int conn_wait_readable(struct db_conn *conn, int wait_ms) NONNULL(1);

/* Reads the bytes that have arrived. False when the connection broke. */
bool conn_read(struct db_conn *conn) NONNULL(1);

/* Runs commands outside pipeline mode by the simple protocol, after a pending BEGIN. `ret_result`, if not NULL, gets the
 * result of the last command, which the caller clears. */
MUST_CHECK bool conn_simple(struct db_conn *conn, const char *sql, PGresult **ret_result, struct error *err) NONNULL(1, 2, 4);
bool conn_enter_pipeline(struct db_conn *conn) NONNULL(1);

/* Ends the COPY; a `refusal` cancels it. NULL when the connection broke. The caller clears the result. */
PGresult *conn_finish_copy(struct db_conn *conn, const char *refusal) NONNULL(1);

/* Ends a COPY that its caller left open, if there is one. */
void conn_abandon_copy(struct db_conn *conn) NONNULL(1);

bool prepared_has(const struct prepared_set *set, const struct db_statement *statement) NONNULL(1, 2) PURE;
void prepared_add(struct prepared_set *set, const struct db_statement *statement) NONNULL(1, 2);
void prepared_remove(struct prepared_set *set, const struct db_statement *statement) NONNULL(1, 2);
void prepared_clear(struct prepared_set *set) NONNULL(1);

/* Lowers the priority of the server's process when that is due. */
void conn_lower_priority(struct db_conn *conn) NONNULL(1);

/* The text of an error without its line end. */
void pg_message_line(const char *message, char *ret_line, size_t size) NONNULL(1, 2);

static inline void pg_result_cleanup(PGresult **result)
{
    PQclear(*result);
}
#define PG_RESULT_SCOPE CLEANUP(pg_result_cleanup) PGresult *
