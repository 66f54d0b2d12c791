/*
 * The server process of a connection, whose processor time the drivers measure.
 */
#pragma once

#include "db/db.h"

#include <sys/types.h>

MUST_CHECK bool find_server_process(struct db_conn *conn, struct arena *arena, pid_t *ret_pid, struct error *err)
    NONNULL(1, 2, 3, 4);
