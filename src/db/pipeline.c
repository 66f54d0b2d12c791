#include "db/pipeline.h"

#include "db/db_errors.h"

#include <string.h>

/* Room that the results of a last pipeline need. Its statements return single short rows. */
enum { COMMIT_ROOM_BYTES = 64 * 1024, COMMIT_ROOM_CALL_BYTES = 4 * 1024 };

/* ---- Sending ---- */

#define BEGIN_SQL "BEGIN ISOLATION LEVEL READ COMMITTED"

static bool send_command(PGconn *pg, const char *sql)
{
    return PQsendQueryParams(pg, sql, 0, NULL, NULL, NULL, NULL, 0) == 1;
}

static bool send_prepare(PGconn *pg, const struct db_statement *statement)
{
    Oid types[DB_MAX_PARAMS];
    for (size_t i = 0; i < statement->param_count; i++)
        types[i] = db_type_oid(statement->params[i].type);
    return PQsendPrepare(pg, statement->name, statement->sql, (int)statement->param_count, types) == 1;
}

static bool send_call(struct db_conn *conn, struct db_call *call)
{
    const struct db_statement *statement = call->statement;
    bool keeps = statement->name[0] != '\0';
    call->prepares = !keeps || !prepared_has(&conn->prepared, statement);
    if (call->prepares) {
        if (!send_prepare(conn->pg, statement))
            return false;
        /* Recorded at once, so that a second use in the same pipeline does not prepare it again. */
        if (keeps)
            prepared_add(&conn->prepared, statement);
    }
    return PQsendQueryPrepared(conn->pg, statement->name, (int)statement->param_count, call->params.values, call->params.lengths,
                               call->params.formats, 1) == 1;
}

static bool send_sync(struct db_conn *conn)
{
    conn->syncs_due++;
    return PQpipelineSync(conn->pg) == 1;
}

static bool send_all(struct db_conn *conn, struct db_call *calls, size_t count, enum db_sync sync)
{
    if (conn->begin_pending && !send_command(conn->pg, BEGIN_SQL))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (calls[i].error.code != ERR_NONE)
            continue;
        if (!send_call(conn, &calls[i]) || (sync == DB_SYNC_EACH && !send_sync(conn)))
            return false;
        calls[i].sent = true;
    }
    if (sync == DB_SYNC_COMMIT && !send_command(conn->pg, "COMMIT"))
        return false;
    return sync == DB_SYNC_EACH || send_sync(conn);
}

/* ---- Receiving ---- */

/* Takes the result of the next command in the pipeline and the NULL that ends it. NULL when the connection broke. */
static PGresult *take_command_result(struct db_conn *conn)
{
    PGresult *result = conn_take_result(conn);
    if (result == NULL)
        return NULL;
    PGresult *extra;
    while ((extra = conn_take_result(conn)) != NULL)
        PQclear(extra);
    return result;
}

static bool take_sync(struct db_conn *conn)
{
    PG_RESULT_SCOPE result = conn_take_result(conn);
    conn->syncs_due--;
    return PQresultStatus(result) == PGRES_PIPELINE_SYNC;
}

/* Takes and drops the results that were not decoded, up to the last synchronization point, so that the connection can be used
 * again. An open transaction stays open. Two ends of results in a row mean that the connection is broken. */
static void drop_results_due(struct db_conn *conn)
{
    int ends = 0;
    while (conn->syncs_due > 0 && ends < 2) {
        PG_RESULT_SCOPE result = conn_take_result(conn);
        ends = result == NULL ? ends + 1 : 0;
        ExecStatusType status = result != NULL ? PQresultStatus(result) : PGRES_COMMAND_OK;
        if (status == PGRES_PIPELINE_SYNC)
            conn->syncs_due--;
        else if (status == PGRES_FATAL_ERROR || status == PGRES_PIPELINE_ABORTED)
            conn->stale = true; /* a statement may not have been prepared */
    }
}

/* Detects a plan that a migration has invalidated ("cached plan must not change result type"). The connection is reopened
 * before its next use. */
static void note_stale_plan(struct db_conn *conn, struct db_call *call)
{
    if (call->prepares || strcmp(call->error.sqlstate, "0A000") != 0)
        return;
    conn->stale = true;
    call->error.retry_after_s = 1;
    fail(&call->error, ERR_SERVICE_UNAVAILABLE, NULL, "The database was just upgraded. Try again.");
}

/* The functions below return false when the connection broke. A refusal of the server is in the call's error. */

static bool receive_prepare(struct db_conn *conn, struct db_call *call)
{
    PG_RESULT_SCOPE result = take_command_result(conn);
    if (result == NULL)
        return false;
    ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_COMMAND_OK)
        return true;
    prepared_remove(&conn->prepared, call->statement);
    if (status != PGRES_PIPELINE_ABORTED)
        db_fail_with_result(&call->error, result, call->statement);
    return true;
}

static bool receive_call(struct db_conn *conn, struct arena *arena, struct db_call *call)
{
    if (call->prepares && !receive_prepare(conn, call))
        return false;
    bool is_page = call->statement->result == DB_PAGE;
    PG_RESULT_SCOPE result = is_page ? pipeline_take_page(conn, arena, call) : take_command_result(conn);
    if (result == NULL)
        return false;
    ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
        if (!is_page)
            (void)!db_decode(arena, call->statement, TAKE_PTR(result), &call->rows, &call->error);
    } else if (status == PGRES_FATAL_ERROR) {
        db_fail_with_result(&call->error, result, call->statement);
        note_stale_plan(conn, call);
    } else if (status != PGRES_PIPELINE_ABORTED) {
        fail(&call->error, ERR_INTERNAL_ERROR, NULL, "An unexpected error happened.");
        error_because(&call->error, "%s: unexpected %s", call->statement->name, PQresStatus(status));
    }
    return true;
}

/* Receives the result of BEGIN or COMMIT. A COMMIT of a failed transaction succeeds with the tag ROLLBACK. */
static bool receive_command(struct db_conn *conn, const char *tag, struct error *ret_error)
{
    PG_RESULT_SCOPE result = take_command_result(conn);
    if (result == NULL)
        return false;
    ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_FATAL_ERROR) {
        db_fail_with_result(ret_error, result, NULL);
    } else if (status == PGRES_PIPELINE_ABORTED || strcmp(PQcmdStatus(result), tag) != 0) {
        fail(ret_error, ERR_INTERNAL_ERROR, NULL, "An unexpected error happened.");
        error_because(ret_error, "%s was not done: %s", tag, PQcmdStatus(result));
    }
    return true;
}

/* `ret_error` is the first error in the order of sending. */
static bool receive_all(struct db_conn *conn, struct arena *arena, struct db_call *calls, size_t count, enum db_sync sync,
                        struct error *ret_error)
{
    struct error ignored = { .code = ERR_NONE };
    if (conn->begin_pending) {
        conn->begin_pending = false;
        if (!receive_command(conn, "BEGIN", ret_error))
            return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (!calls[i].sent)
            continue;
        if (!receive_call(conn, arena, &calls[i]) || (sync == DB_SYNC_EACH && !take_sync(conn)))
            return false;
        if (ret_error->code == ERR_NONE)
            *ret_error = calls[i].error;
    }
    if (sync == DB_SYNC_COMMIT && !receive_command(conn, "COMMIT", ret_error->code == ERR_NONE ? ret_error : &ignored))
        return false;
    return sync == DB_SYNC_EACH || take_sync(conn);
}

/* ---- Running ---- */

static bool fail_all_lost(struct db_conn *conn, struct db_call *calls, size_t count, struct error *err)
{
    /* The BEGIN may have arrived: a new connection cannot continue this transaction. */
    conn->begin_pending = false;
    conn->syncs_due = 0;
    conn_lost(conn, err);
    for (size_t i = 0; i < count; i++) {
        if (calls[i].error.code == ERR_NONE)
            calls[i].error = *err;
    }
    return false;
}

/* Ends a pipeline, also one whose results did not fit into the memory of their call (base/unwind.h). */
static void end_pipeline(struct db_conn **running)
{
    struct db_conn *conn = *running;
    struct error ignored = { .code = ERR_NONE };
    drop_results_due(conn);
    conn_running_end(conn);
    if (conn->syncs_due > 0)
        (void)!fail_all_lost(conn, NULL, 0, &ignored);
}

static bool send_and_receive(struct db_conn *conn, struct arena *arena, struct db_call *calls, size_t count, enum db_sync sync,
                             struct error *ret_error)
{
    conn->round_trips++;
    conn->syncs_due = 0;
    conn_running_begin(conn);
    CLEANUP(end_pipeline) UNUSED struct db_conn *running = conn;
    bool arrived = send_all(conn, calls, count, sync) && receive_all(conn, arena, calls, count, sync, ret_error);
    if (!arrived)
        conn->syncs_due = 0; /* nothing more will arrive */
    return arrived;
}

bool pipeline_run(struct db_conn *conn, struct arena *arena, struct db_call *calls, size_t count, enum db_sync sync,
                  struct error *err)
{
    for (size_t i = 0; i < count && sync != DB_SYNC_EACH; i++) {
        if (calls[i].error.code != ERR_NONE) {
            *err = calls[i].error;
            return false;
        }
    }
    if (!conn_ready(conn, err))
        return false;

    /* After a COMMIT was sent, the results must fit: a caller would take an error for a failure. */
    if (sync == DB_SYNC_COMMIT)
        arena_require(arena, COMMIT_ROOM_BYTES + count * COMMIT_ROOM_CALL_BYTES);

    struct error first = { .code = ERR_NONE };
    bool arrived = send_and_receive(conn, arena, calls, count, sync, &first);
    if (!arrived || PQstatus(conn->pg) == CONNECTION_BAD)
        return fail_all_lost(conn, calls, count, err);
    if (sync == DB_SYNC_EACH || first.code == ERR_NONE)
        return true;
    *err = first;
    return false;
}
