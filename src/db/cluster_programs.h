/*
 * Internal to db: finds the PostgreSQL server programs.
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

/* Finds initdb and postgres: in POSTHORN_PG_BINDIR, else in the folder from pg_config, else the newest of /usr/lib/postgresql.
 * `major` is the version that an existing cluster needs, 0 for a new one.
 * Errors: INTERNAL_ERROR with the package to install in the message. */
MUST_CHECK bool cluster_find_programs(struct arena *arena, int major, struct cluster_programs *ret_programs, struct error *err)
    NONNULL(1, 3, 4);
