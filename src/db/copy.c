#include "db/conn.h"

#include "base/panic.h"

#include "db/db_errors.h"

#include <limits.h>
#include <stdlib.h>

bool db_copy_begin(struct db_conn *conn, const char *copy_sql, struct error *err)
{
    if (!conn_ready(conn, err))
        return false;
    PG_RESULT_SCOPE result = NULL;
    if (!conn_simple(conn, copy_sql, &result, err))
        return false;
    if (PQresultStatus(result) != PGRES_COPY_IN) {
        fail(err, ERR_INTERNAL_ERROR, NULL, "An unexpected error happened.");
        return error_because(err, "not a COPY FROM STDIN");
    }
    conn->copying = true;
    return true;
}

bool db_copy_put(struct db_conn *conn, const char *text, size_t size, struct error *err)
{
    if (!conn->copying)
        panic("rows are copied without a COPY");
    if (size > INT_MAX)
        return fail(err, ERR_PAYLOAD_TOO_LARGE, NULL, "The data is too large.");
    return PQputCopyData(conn->pg, text, (int)size) == 1 || conn_lost(conn, err);
}

bool db_copy_end(struct db_conn *conn, int64_t *ret_rows, struct error *err)
{
    if (!conn->copying)
        panic("rows are copied without a COPY");
    conn->round_trips++;
    conn_running_begin(conn);
    PG_RESULT_SCOPE result = conn_finish_copy(conn, NULL);
    conn_running_end(conn);
    if (result == NULL || PQstatus(conn->pg) == CONNECTION_BAD || !conn_enter_pipeline(conn))
        return conn_lost(conn, err);
    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        return db_fail_with_result(err, result, NULL);
    if (ret_rows != NULL)
        *ret_rows = strtoll(PQcmdTuples(result), NULL, 10);
    return true;
}
