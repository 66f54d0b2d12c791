#include "db/conn.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/panic.h"
#include "db/db_errors.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    BACKOFF_FIRST_MS = 50,
    BACKOFF_MAX_MS = 5000,
    CONNECT_PAUSE_MS = 25,
    CANCEL_INTERVAL_MS = 100,
    /* After the statement time-out, before a silent server counts as lost. */
    SILENCE_GRACE_MS = 15000,
    SESSION_SQL_MAX_BYTES = 1024,
    /* The number of reads of a stopping server's last messages before the end of file. */
    FAREWELL_READS = 8,
};

/* ---- A database ---- */

struct db *db_new(const struct db_config *config)
{
    struct db *db = calloc(1, sizeof(*db));
    if (db == NULL)
        panic(PANIC_NO_MEMORY);
    db->url = strdup(config->url);
    db->application_name = strdup(config->application_name != NULL ? config->application_name : "posthorn");
    db->statement_timeout_ms = config->statement_timeout_ms;
    db->reach = config->reach;
    db->is_served = config->is_served;
    db->reach_data = config->reach_data;
    db->is_private = config->is_private;
    if (db->url == NULL || db->application_name == NULL)
        panic(PANIC_NO_MEMORY);
    return db;
}

void db_free(struct db *db)
{
    if (db == NULL)
        return;
    free(db->url);
    free(db->application_name);
    free(db);
}

/* ---- Connecting ---- */

void pg_message_line(const char *message, char *ret_line, size_t size)
{
    snprintf(ret_line, size, "%.*s", (int)strcspn(message, "\n"), message);
}

/* Without it libpq would print notices on standard error. */
static void discard_notice(void *unused, const PGresult *notice)
{
    (void)unused;
    (void)notice;
}

static void conn_drop(struct db_conn *conn)
{
    pthread_mutex_lock(&conn->lock);
    if (conn->cancel != NULL)
        PQfreeCancel(conn->cancel);
    conn->cancel = NULL;
    pthread_mutex_unlock(&conn->lock);
    PQfinish(conn->pg);
    conn->pg = NULL;
    conn->copying = false;
    conn->stale = false;
    prepared_clear(&conn->prepared);
}

bool conn_lost(struct db_conn *conn, struct error *err)
{
    char reason[ERROR_CAUSE_MAX_BYTES] = "";
    if (conn->pg != NULL)
        pg_message_line(PQerrorMessage(conn->pg), reason, sizeof(reason));
    conn_drop(conn);
    db_fail_with_sqlstate(err, "08006", NULL);
    return error_because(err, "connection lost: %s", reason);
}

/* libpq's message may quote the password of a malformed connection string, so it is not reported. */
static bool check_url(const struct db *db, struct error *err)
{
    char *reason = NULL;
    PQconninfoOption *options = PQconninfoParse(db->url, &reason);
    PQfreemem(reason);
    if (options == NULL)
        return fail(err, ERR_INVALID_REQUEST, "database", "The database connection string is not valid.");
    PQconninfoFree(options);
    return true;
}

/* The connection string (dbname) overrides the keywords before it, but not those after it. */
static PGconn *open_pg(const struct db *db)
{
    const char *const keywords[] = {
        "connect_timeout",  "keepalives_idle",  "keepalives_interval",
        "keepalives_count", "tcp_user_timeout", "dbname",
        "application_name", "client_encoding",  NULL,
    };
    const char *const values[] = {
        "5", "30", "10", "3", "30000", db->url, db->application_name, "UTF8", NULL,
    };
    return PQconnectdbParams(keywords, values, 1);
}

static const char one_process[] = "SET max_parallel_workers_per_gather = 0";
static const char several_processes[] = "RESET max_parallel_workers_per_gather";

static bool set_session(struct db_conn *conn)
{
    BUF_SCOPE sql;
    buf_init(&sql, SESSION_SQL_MAX_BYTES);
    buf_printf(&sql,
               "SET search_path = posthorn; SET timezone = 'UTC'; SET client_min_messages = warning; SET jit = off;"
               "SET statement_timeout = %d; SET bytea_output = hex; SET standard_conforming_strings = on;",
               conn->db->statement_timeout_ms);
    if (conn->is_not_parallel)
        buf_printf(&sql, "%s;", one_process);
    for (size_t i = 0; i < conn->channel_count; i++) {
        char *channel = PQescapeIdentifier(conn->pg, conn->channels[i], strlen(conn->channels[i]));
        buf_printf(&sql, "LISTEN %s;", channel != NULL ? channel : "");
        PQfreemem(channel);
    }
    PG_RESULT_SCOPE result = PQexec(conn->pg, buf_text(&sql));
    return PQresultStatus(result) == PGRES_COMMAND_OK && !sql.overflowed;
}

static bool conn_open(struct db_conn *conn, struct error *err)
{
    conn->pg = open_pg(conn->db);
    if (conn->pg == NULL)
        panic(PANIC_NO_MEMORY);
    PQsetNoticeReceiver(conn->pg, discard_notice, NULL);
    if (PQstatus(conn->pg) != CONNECTION_OK || !set_session(conn) || PQenterPipelineMode(conn->pg) != 1) {
        char reason[ERROR_CAUSE_MAX_BYTES];
        pg_message_line(PQerrorMessage(conn->pg), reason, sizeof(reason));
        conn_drop(conn);
        db_fail_with_sqlstate(err, "08001", NULL);
        return error_because(err, "connecting: %s", reason);
    }
    pthread_mutex_lock(&conn->lock);
    conn->cancel = PQgetCancel(conn->pg);
    pthread_mutex_unlock(&conn->lock);
    conn->backoff_ms = 0;
    conn->next_attempt_us = 0;
    conn->is_low_due = conn->is_low;
    conn_lower_priority(conn);
    return true;
}

static bool is_served(const struct db *db)
{
    return db->is_served == NULL || db->is_served(db->reach_data);
}

static bool reach_and_open(struct db_conn *conn, struct error *err)
{
    const struct db *db = conn->db;
    return (db->reach == NULL || db->reach(db->reach_data, err)) && conn_open(conn, err);
}

static void pause_ms(int64_t wait_ms)
{
    struct timespec pause = { .tv_sec = wait_ms / 1000, .tv_nsec = (wait_ms % 1000) * 1000000 };
    while (nanosleep(&pause, &pause) != 0 && errno == EINTR)
        continue;
}

/* Whether the server responds. A server that responds but refuses a connection (a wrong password, an unknown database) will
 * refuse the next one too. */
static bool server_refuses(const struct db *db)
{
    const char *const keywords[] = { "connect_timeout", "dbname", NULL };
    const char *const values[] = { "5", db->url, NULL };
    return PQpingParams(keywords, values, 1) == PQPING_OK;
}

bool db_connect(struct db *db, int wait_ms, struct db_conn **ret_conn, struct error *err)
{
    if (!check_url(db, err))
        return false;
    struct db_conn *conn = calloc(1, sizeof(*conn));
    if (conn == NULL)
        panic(PANIC_NO_MEMORY);
    conn->db = db;
    pthread_mutex_init(&conn->lock, NULL);

    int64_t deadline_us = clock_monotonic_us() + wait_ms * US_PER_MS;
    bool refused_before = false;
    bool served = is_served(db);
    bool may_reach = served && db->reach != NULL;
    bool open = served ? conn_open(conn, err) : reach_and_open(conn, err);
    while (!open) {
        /* `reach` is called once even for a caller that does not wait. */
        bool in_time = may_reach || clock_monotonic_us() < deadline_us;
        may_reach = false;
        bool refused = in_time && server_refuses(db);
        if (!in_time || (refused && refused_before)) {
            db_disconnect(conn);
            return false;
        }
        refused_before = refused;
        error_clear(err);
        pause_ms(CONNECT_PAUSE_MS);
        open = reach_and_open(conn, err);
    }
    *ret_conn = conn;
    return true;
}

void db_disconnect(struct db_conn *conn)
{
    if (conn == NULL)
        return;
    conn_drop(conn);
    pthread_mutex_destroy(&conn->lock);
    free(conn);
}

void db_conn_cleanup(struct db_conn **conn)
{
    db_disconnect(*conn);
}

/* ---- Staying connected ---- */

/* Exponential backoff: each failure doubles the pause, in which calls fail at once, so that callers do not wait for a dead
 * server. */
static bool reconnect(struct db_conn *conn, struct error *err)
{
    int64_t now_us = clock_monotonic_us();
    if (now_us < conn->next_attempt_us) {
        db_fail_with_sqlstate(err, "08001", NULL);
        return error_because(err, "waiting before the next try to connect");
    }
    if (reach_and_open(conn, err))
        return true;
    conn->backoff_ms = conn->backoff_ms == 0 ? BACKOFF_FIRST_MS : conn->backoff_ms * 2;
    if (conn->backoff_ms > BACKOFF_MAX_MS)
        conn->backoff_ms = BACKOFF_MAX_MS;
    conn->next_attempt_us = clock_monotonic_us() + conn->backoff_ms * US_PER_MS;
    return false;
}

int conn_wait_readable(struct db_conn *conn, int wait_ms)
{
    struct pollfd watched = { .fd = PQsocket(conn->pg), .events = POLLIN };
    int ready = poll(&watched, 1, wait_ms);
    if (ready < 0)
        return errno == EINTR ? 0 : -1;
    return ready;
}

bool conn_read(struct db_conn *conn)
{
    /* A TLS record has at most 16 KiB, and libpq reads at least 8 KiB at a time. poll does not report decrypted bytes that
     * libpq has not read. */
    int reads = PQsslInUse(conn->pg) ? 3 : 1;
    while (reads-- > 0) {
        if (!PQconsumeInput(conn->pg))
            return false;
    }
    return PQstatus(conn->pg) != CONNECTION_BAD;
}

/* Reads the pending messages of an idle server: notifications, or the end of the session. */
static bool is_alive(struct db_conn *conn)
{
    for (int i = 0; i < FAREWELL_READS && conn_wait_readable(conn, 0) != 0; i++) {
        if (!conn_read(conn))
            return false;
    }
    return true;
}

bool conn_ready(struct db_conn *conn, struct error *err)
{
    conn_abandon_copy(conn);
    bool in_transaction = conn->tx_open && !conn->begin_pending;
    if (conn->pg != NULL && !in_transaction && (conn->stale || !is_alive(conn) || !is_served(conn->db)))
        conn_drop(conn);
    if (conn->pg != NULL) {
        conn_lower_priority(conn);
        return true;
    }
    if (!in_transaction)
        return reconnect(conn, err);
    db_fail_with_sqlstate(err, "08003", NULL);
    return error_because(err, "the connection of this transaction was lost before");
}

int db_socket(const struct db_conn *conn)
{
    return conn->pg != NULL ? PQsocket(conn->pg) : -1;
}

uint64_t db_round_trips(const struct db_conn *conn)
{
    return conn->round_trips;
}

/* ---- Cancelling ---- */

/* The thread that waits for the result sends the cancel requests, so a request cannot hit the next statement, and a caller of
 * db_cancel never waits for the server: a request ends only when the server has handled it. */
void conn_running_begin(struct db_conn *conn)
{
    pthread_mutex_lock(&conn->lock);
    conn->running = true;
    conn->cancel_wanted = false;
    pthread_mutex_unlock(&conn->lock);
}

void conn_running_end(struct db_conn *conn)
{
    pthread_mutex_lock(&conn->lock);
    conn->running = false;
    pthread_mutex_unlock(&conn->lock);
}

void db_cancel(struct db_conn *conn)
{
    pthread_mutex_lock(&conn->lock);
    conn->cancel_wanted = conn->running;
    pthread_mutex_unlock(&conn->lock);
}

/* A cancel request that arrives before its statement has no effect, so it is repeated. */
static void send_wanted_cancel(struct db_conn *conn)
{
    char reason[256];
    pthread_mutex_lock(&conn->lock);
    bool wanted = conn->cancel_wanted;
    pthread_mutex_unlock(&conn->lock);
    if (wanted && conn->cancel != NULL)
        PQcancel(conn->cancel, reason, sizeof(reason));
}

/* ---- Results ---- */

static int64_t silence_limit_ms(const struct db_conn *conn)
{
    if (conn->db->statement_timeout_ms == 0)
        return INT64_MAX;
    return (int64_t)conn->db->statement_timeout_ms + SILENCE_GRACE_MS;
}

PGresult *conn_take_result(struct db_conn *conn)
{
    int64_t silent_ms = 0;
    while (PQisBusy(conn->pg)) {
        int ready = conn_wait_readable(conn, CANCEL_INTERVAL_MS);
        if (ready > 0 && conn_read(conn)) {
            silent_ms = 0;
            continue;
        }
        if (ready != 0)
            return NULL;
        send_wanted_cancel(conn);
        silent_ms += CANCEL_INTERVAL_MS;
        if (silent_ms > silence_limit_ms(conn))
            return NULL;
    }
    return PQgetResult(conn->pg);
}

bool conn_enter_pipeline(struct db_conn *conn)
{
    return PQenterPipelineMode(conn->pg) == 1;
}

bool conn_simple(struct db_conn *conn, const char *sql, PGresult **ret_result, struct error *err)
{
    if (ret_result != NULL)
        *ret_result = NULL;
    if (PQexitPipelineMode(conn->pg) != 1)
        return conn_lost(conn, err);
    BUF_SCOPE text;
    buf_init(&text, strlen(sql) + 64);
    buf_printf(&text, "%s%s", conn->begin_pending ? "BEGIN ISOLATION LEVEL READ COMMITTED;" : "", sql);
    conn->begin_pending = false;

    conn->round_trips++;
    conn_running_begin(conn);
    PG_RESULT_SCOPE last = NULL;
    PGresult *result;
    if (PQsendQuery(conn->pg, buf_text(&text))) {
        while ((result = conn_take_result(conn)) != NULL) {
            PQclear(last);
            last = result;
            ExecStatusType status = PQresultStatus(result);
            if (status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH)
                break;
        }
    }
    conn_running_end(conn);

    ExecStatusType status = PQresultStatus(last);
    if (last == NULL || PQstatus(conn->pg) == CONNECTION_BAD || PQtransactionStatus(conn->pg) == PQTRANS_UNKNOWN)
        return conn_lost(conn, err);
    bool ok = status != PGRES_FATAL_ERROR && status != PGRES_BAD_RESPONSE;
    if (!ok)
        db_fail_with_result(err, last, NULL);
    if (status != PGRES_COPY_IN && !conn_enter_pipeline(conn))
        return conn_lost(conn, err);
    if (ok && ret_result != NULL)
        *ret_result = TAKE_PTR(last);
    return ok;
}

bool db_script(struct db_conn *conn, const char *sql, struct error *err)
{
    return conn_ready(conn, err) && conn_simple(conn, sql, NULL, err);
}

bool db_allow_parallel(struct db_conn *conn, bool allowed, struct error *err)
{
    if (conn->is_not_parallel == !allowed)
        return true;
    conn->is_not_parallel = !allowed;
    return db_script(conn, allowed ? several_processes : one_process, err);
}

/* ---- The end of a COPY ---- */

PGresult *conn_finish_copy(struct db_conn *conn, const char *refusal)
{
    conn->copying = false;
    if (PQputCopyEnd(conn->pg, refusal) != 1)
        return NULL;
    PGresult *result = conn_take_result(conn);
    PGresult *extra;
    while (result != NULL && (extra = conn_take_result(conn)) != NULL)
        PQclear(extra);
    return result;
}

void conn_abandon_copy(struct db_conn *conn)
{
    if (!conn->copying)
        return;
    struct error ignored = { .code = ERR_NONE };
    PG_RESULT_SCOPE result = conn_finish_copy(conn, "abandoned");
    if (result == NULL || !conn_enter_pipeline(conn))
        conn_lost(conn, &ignored);
}
