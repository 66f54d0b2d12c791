/*
 * Internal to db: stops the processes of a server that an earlier runner left.
 *
 * The server of a killed runner shuts down by itself (its death signal), which
 * takes a moment. The sessions of a killed server may still write. Two servers
 * on one folder would destroy it, so a start waits for the old processes, sends
 * them signals, and finally fails. It finds them by the cluster name, which
 * every process of a cluster shows in its command line.
 */
#pragma once

#include "db/cluster_paths.h"

/* The name of the cluster in this folder, for the setting cluster_name. */
char *cluster_name(struct arena *arena, const struct cluster_paths *paths) NONNULL(1, 2) RETURNS_NONNULL;

/* Returns when no process of the cluster is left and no stale pid file blocks a start. The caller holds the runner's lock.
 * Errors: SERVICE_UNAVAILABLE when the processes do not end, INTERNAL_ERROR when a foreign server uses the folder. */
MUST_CHECK bool cluster_await_old(struct arena *arena, const struct cluster_paths *paths, struct error *err) NONNULL(1, 2, 3);
