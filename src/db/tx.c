#include "db/pipeline.h"

#include "base/panic.h"

#include <stdlib.h>

bool db_tx_begin(struct db_conn *conn, struct db_tx *ret_tx, struct error *err)
{
    if (conn->tx_open)
        panic("a transaction begins inside another");
    ret_tx->conn = NULL;
    /* Detects a lost server before the transaction reads anything. */
    if (!conn_ready(conn, err))
        return false;
    conn->tx_open = true;
    conn->begin_pending = true;
    ret_tx->conn = conn;
    return true;
}

void tx_ended(struct db_tx *tx)
{
    tx->conn->tx_open = false;
    tx->conn->begin_pending = false;
    tx->conn = NULL;
}

bool db_tx_commit(struct db_tx *tx, struct error *err)
{
    if (tx->conn == NULL)
        panic("a transaction is committed twice");
    /* Without a sent BEGIN there is nothing to commit. */
    if (!tx->conn->begin_pending) {
        ARENA_SCOPE none = arena_new(0);
        if (!pipeline_run(tx->conn, none, NULL, 0, DB_SYNC_COMMIT, err))
            return false;
    }
    tx_ended(tx);
    return true;
}

void db_tx_rollback(struct db_tx *tx)
{
    struct db_conn *conn = tx->conn;
    if (conn == NULL)
        return;
    conn_abandon_copy(conn);
    /* After a failed COMMIT the server has already ended the transaction. */
    bool open_there = conn->pg != NULL && !conn->begin_pending && PQtransactionStatus(conn->pg) != PQTRANS_IDLE;
    struct error ignored = { .code = ERR_NONE };
    if (open_there)
        (void)!conn_simple(conn, "ROLLBACK", NULL, &ignored);
    tx_ended(tx);
}

bool db_in_transaction(const struct db_conn *conn)
{
    return conn->tx_open;
}
