/*
 * Inside the room: which PostgreSQL server programs to use.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"

enum { CLUSTER_OLDEST_MAJOR = 14 };

struct cluster_programs {
    const char *bin_dir;
    const char *initdb;
    const char *postgres;
    int major;
};

/* Finds initdb and postgres: in POSTHORN_PG_BINDIR, else where pg_config says, else the newest of /usr/lib/postgresql.
 * `major` is the version that an existing cluster asks for, 0 for a new one.
 * Errors: INTERNAL_ERROR with a sentence that says what to install. */
MUST_CHECK bool cluster_find_programs(struct arena *arena, int major, struct cluster_programs *ret_programs, struct error *err)
    NONNULL(1, 3, 4);
