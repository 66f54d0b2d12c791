#include "server_process.h"

struct process_row {
    int64_t pid;
};

bool find_server_process(struct db_conn *conn, struct arena *arena, pid_t *ret_pid, struct error *err)
{
    static const struct db_field column = { "pid", DB_BIGINT, false, 0 };
    static const struct db_statement statement = {
        .name = "",
        .result = DB_ONE,
        .sql = "select pg_backend_pid()::bigint",
        .columns = &column,
        .column_count = 1,
        .row_size = sizeof(struct process_row),
    };
    struct db_rows found;
    if (!db_run(conn, arena, &statement, NULL, &found, err))
        return false;
    *ret_pid = (pid_t)((const struct process_row *)found.rows)->pid;
    return true;
}
