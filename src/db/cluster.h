/*
 * Private cluster: the embedded PostgreSQL server in the data folder, the
 * default database. It listens only on a unix socket in a folder of mode 0700.
 * Started by root, it runs as an unprivileged user. Only the runner starts and
 * stops it.
 *
 * The server ends with the runner: the kernel sends it a fast shutdown when the
 * thread that called cluster_start ends for any reason. So that thread must live
 * as long as the cluster.
 *
 * The locks in the data folder (cluster_locks.h):
 *   clients.lock  shared by every process that uses the cluster; the runner takes
 *                 it exclusively for a moment to find out whether one is left
 *   runner.lock   held by the only runner for its life, and for a moment by the
 *                 process that starts one
 *
 * The clients watch the runner and replace one that was killed (cluster_runner.h).
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"

struct cluster;

/* The libpq connection string of the cluster in `data_dir`. Does not access the folder's contents. */
char *cluster_url(struct arena *arena, const char *data_dir) NONNULL(1, 2) RETURNS_NONNULL;

/* Creates the data folder with its parents, mode 0700 each, unless it exists. */
MUST_CHECK bool cluster_make_folder(const char *data_dir, struct error *err) NONNULL(1, 2);

/* Creates the cluster if the folder has none (initdb), waits for the end of a server that a killed runner left, starts
 * the server and waits until it is ready.
 * Errors: INTERNAL_ERROR with instructions in the message (no PostgreSQL found, other major version, no space),
 * SERVICE_UNAVAILABLE when it takes too long. */
MUST_CHECK bool cluster_start(const char *data_dir, struct cluster **ret_cluster, struct error *err) NONNULL(1, 2, 3);

/* Whether the server process of this cluster still runs. Call it every few seconds: it also truncates an overlong server
 * log. */
bool cluster_is_running(const struct cluster *cluster) NONNULL(1);

/* Fast shutdown: it ends the sessions and keeps all committed data. After `wait_ms` an immediate one. NULL is allowed. */
void cluster_stop(struct cluster *cluster, int wait_ms);

/* Joins the cluster of `data_dir` as a client: takes the shared lock, starts `runner_argv` detached if no runner serves the
 * folder, and waits until the server's pid file says that it is ready. The runner's standard error goes to data_dir/runner.log; it
 * keeps the working folder. The lock is held until cluster_leave. Errors: SERVICE_UNAVAILABLE, with the reason from the runner's
 * log. */
MUST_CHECK bool cluster_join(const char *data_dir, const char *const runner_argv[], int wait_ms, int *ret_lock_fd,
                             struct error *err) NONNULL(1, 2, 4, 5);
void cluster_leave(int lock_fd);

/* For a client that has joined and lost its server, because the runner was killed: does the same without the lock, and waits
 * until the server answers. Returns at once if it does. */
MUST_CHECK bool cluster_rejoin(const char *data_dir, const char *const runner_argv[], int wait_ms, struct error *err)
    NONNULL(1, 2, 4);

/* Takes the runner's lock. `ret_held` is false when another process holds it. */
MUST_CHECK bool cluster_lock_runner(const char *data_dir, int *ret_lock_fd, bool *ret_held, struct error *err) NONNULL(1, 2, 3, 4);
/* True when no client is left. The exclusive lock is then held until cluster_leave(fd), so that new clients wait. */
bool cluster_no_clients(const char *data_dir, int *ret_lock_fd) NONNULL(1, 2);
/* Whether a runner holds the lock of this folder. */
bool cluster_has_runner(const char *data_dir) NONNULL(1);
/* The same on an open descriptor, for one system call: the descriptor of runner.lock (-1: it cannot be opened, and nobody
 * holds it), which the caller closes. */
int cluster_open_runner_lock(const char *data_dir) NONNULL(1);
bool cluster_runner_holds(int lock_fd);
