/*
 * Internal to db: pipelining. All statements are sent before the first result is
 * read, so any number of them needs one round trip.
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
    DB_SYNC_EACH,   /* one transaction per statement */
};

/* Runs the calls and sets their rows and errors; a call with an error already set is not sent. False with the first error; for
 * DB_SYNC_EACH false means that the connection broke. */
MUST_CHECK bool pipeline_run(struct db_conn *conn, struct arena *arena, struct db_call *calls, size_t count, enum db_sync sync,
                             struct error *err) NONNULL(1, 2, 6);

/* Receives the rows of a DB_PAGE into the call, and returns the result that ends them; NULL when the connection broke. Rows beyond
 * DB_PAGE_MAX_BYTES take no memory. The first fault of decoding is in the error of the call. */
PGresult *pipeline_take_page(struct db_conn *conn, struct arena *arena, struct db_call *call) NONNULL(1, 2, 3);

/* Clears a transaction that the server has ended. */
void tx_ended(struct db_tx *tx) NONNULL(1);
