/*
 * Inside the room: statements that travel together. All are sent, then all
 * results are read: one round trip, whatever their number.
 */
#pragma once

#include "db/codec.h"
#include "db/conn.h"

struct db_call {
    const struct db_statement *statement;
    struct db_encoded params;
    bool sent;     /* false when its parameters could not be encoded */
    bool prepares; /* carries the PREPARE of its statement */
    struct db_rows rows;
    struct error error;
};

enum db_sync {
    DB_SYNC_ONCE,   /* one implicit transaction, or a part of the open one */
    DB_SYNC_COMMIT, /* with the COMMIT of the open transaction at the end */
    DB_SYNC_EACH,   /* a transaction each */
};

/* Runs the calls and fills their rows and errors; a call whose error is set already is not sent. False with the first error, except
 * for DB_SYNC_EACH, where it means that the connection broke. */
MUST_CHECK bool pipeline_run(struct db_conn *conn, struct arena *arena, struct db_call *calls, size_t count, enum db_sync sync,
                             struct error *err) NONNULL(1, 2, 6);

/* Forgets a transaction that the server has ended. */
void tx_ended(struct db_tx *tx) NONNULL(1);
