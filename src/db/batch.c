#include "db/pipeline.h"

#include "base/panic.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 8 };

struct db_batch {
    struct db_conn *conn;
    struct arena *arena;
    struct db_call *calls;
    size_t count;
    size_t capacity;
};

bool db_run(struct db_conn *conn, struct arena *arena, const struct db_statement *statement, const void *params,
            struct db_rows *ret_rows, struct error *err)
{
    struct db_call call = { .statement = statement };
    if (!db_encode(arena, statement, params, &call.params, err) || !pipeline_run(conn, arena, &call, 1, DB_SYNC_ONCE, err))
        return false;
    if (ret_rows != NULL)
        *ret_rows = call.rows;
    return true;
}

struct db_batch *db_batch_new(struct db_conn *conn, struct arena *arena)
{
    struct db_batch *batch = arena_alloc(arena, sizeof(*batch));
    batch->conn = conn;
    batch->arena = arena;
    return batch;
}

size_t db_batch_add(struct db_batch *batch, const struct db_statement *statement, const void *params)
{
    if (batch->count == batch->capacity) {
        size_t capacity = batch->capacity > 0 ? batch->capacity * 2 : FIRST_CAPACITY;
        struct db_call *calls = arena_array(batch->arena, capacity, sizeof(*calls));
        if (batch->count > 0)
            memcpy(calls, batch->calls, batch->count * sizeof(*calls));
        batch->calls = calls;
        batch->capacity = capacity;
    }
    struct db_call *call = &batch->calls[batch->count];
    call->statement = statement;
    /* A fault is kept in the call until the run. */
    (void)!db_encode(batch->arena, statement, params, &call->params, &call->error);
    return batch->count++;
}

size_t db_batch_count(const struct db_batch *batch)
{
    return batch->count;
}

bool db_batch_run(struct db_batch *batch, struct error *err)
{
    return batch->count == 0 || pipeline_run(batch->conn, batch->arena, batch->calls, batch->count, DB_SYNC_ONCE, err);
}

bool db_batch_run_commit(struct db_batch *batch, struct db_tx *tx, struct error *err)
{
    if (tx->conn != batch->conn)
        panic("a batch is committed in the transaction of another connection");
    if (batch->count == 0)
        return db_tx_commit(tx, err);
    if (!pipeline_run(batch->conn, batch->arena, batch->calls, batch->count, DB_SYNC_COMMIT, err))
        return false;
    tx_ended(tx);
    return true;
}

bool db_batch_run_each(struct db_batch *batch, struct error *err)
{
    if (batch->conn->tx_open)
        panic("statements with transactions of their own are sent inside a transaction");
    return batch->count == 0 || pipeline_run(batch->conn, batch->arena, batch->calls, batch->count, DB_SYNC_EACH, err);
}

static const struct db_call *call_at(const struct db_batch *batch, size_t index)
{
    if (index >= batch->count)
        panic("a statement of a batch does not exist");
    return &batch->calls[index];
}

const struct db_rows *db_batch_rows(const struct db_batch *batch, size_t index)
{
    return &call_at(batch, index)->rows;
}

const struct error *db_batch_error(const struct db_batch *batch, size_t index)
{
    return &call_at(batch, index)->error;
}
