/*
 * Internal to db: the record of a folder's runner (cluster_runner.h), by its paths.
 */
#pragma once

#include "db/cluster_paths.h"

struct runner_record {
    bool exists;
    bool is_ready;
    pid_t pid; /* 0: none yet */
};

struct runner_record runner_record_read(const struct cluster_paths *paths) NONNULL(1);
/* Writes a new record; 0 for the pid of a runner that is being started. */
void runner_record_write(const struct cluster_paths *paths, pid_t pid) NONNULL(1);
/* As cluster_runner_pid. */
pid_t runner_pid_of(struct arena *arena, const struct cluster_paths *paths) NONNULL(1, 2);
