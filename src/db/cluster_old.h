/*
 * Inside the room: servers that an earlier runner left behind.
 *
 * A killed runner's server shuts down by itself (its death signal), which takes
 * a moment, and a killed server's sessions may still write. Two servers on one
 * folder would destroy it, so a start waits for the old processes, asks them to
 * end, and gives up rather than risk it. They are known by the name that every
 * process of a cluster shows in its command line.
 */
#pragma once

#include "db/cluster_paths.h"

/* The name of the cluster in this folder, for the setting cluster_name. */
char *cluster_name(struct arena *arena, const struct cluster_place *place) NONNULL(1, 2) RETURNS_NONNULL;

/* Returns when no process of the cluster is left and its pid file can mislead nobody. The caller holds the runner's lock.
 * Errors: SERVICE_UNAVAILABLE when they do not end, INTERNAL_ERROR when a server that is not ours has the folder. */
MUST_CHECK bool cluster_await_old(struct arena *arena, const struct cluster_place *place, struct error *err) NONNULL(1, 2, 3);
