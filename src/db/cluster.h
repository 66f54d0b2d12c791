/*
 * The private cluster: a PostgreSQL server of our own in the data folder, the
 * embedded default. It listens on a unix socket in a folder of mode 0700 and
 * nowhere else; started by root, it runs as an unprivileged user. Only the
 * runner starts and stops it.
 *
 * The server ends with the runner: when the thread that called cluster_start
 * ends, in whatever way, the kernel sends it a fast shutdown. So that thread
 * lives as long as the cluster.
 *
 * The locks in the data folder (open file description locks, freed by the
 * kernel when a process dies, and visible without being taken):
 *   clients.lock  shared by every process that uses the cluster; the runner takes
 *                 it exclusively for a moment to learn that nobody does
 *   runner.lock   held by the one runner for its life
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"

struct cluster;

/* Where a cluster in `data_dir` answers: a libpq connection string. Touches nothing. */
char *cluster_url(struct arena *arena, const char *data_dir) NONNULL(1, 2) RETURNS_NONNULL;

/* Creates the data folder with its parents, mode 0700 each, unless it is there. */
MUST_CHECK bool cluster_make_folder(const char *data_dir, struct error *err) NONNULL(1, 2);

/* Creates the cluster when the folder has none (initdb), waits for the end of a server that a killed runner left, starts
 * the server and waits until it answers.
 * Errors: INTERNAL_ERROR with a sentence that says what to do (no PostgreSQL found, other major version, no space),
 * SERVICE_UNAVAILABLE when it takes too long. */
MUST_CHECK bool cluster_start(const char *data_dir, struct cluster **ret_cluster, struct error *err) NONNULL(1, 2, 3);

/* Whether the server process of this cluster still runs. To be asked every few seconds: it also keeps the server's log
 * within its bound. */
bool cluster_is_running(const struct cluster *cluster) NONNULL(1);

/* Fast shutdown: sessions are ended, everything committed is kept. After `wait_ms` an immediate one. NULL is allowed. */
void cluster_stop(struct cluster *cluster, int wait_ms);

/* Joins the cluster of `data_dir` as a client: takes the shared lock and makes sure a runner serves it, starting
 * `runner_argv` detached when none does (its standard error goes to data_dir/runner.log; it keeps the working folder);
 * waits until the server answers. The lock is held until cluster_leave.
 * Errors: SERVICE_UNAVAILABLE, with what the runner's log says it failed with. */
MUST_CHECK bool cluster_join(const char *data_dir, const char *const runner_argv[], int wait_ms, int *ret_lock_fd,
                             struct error *err) NONNULL(1, 2, 4, 5);
void cluster_leave(int lock_fd);

/* For a client that has joined and lost its server (the runner was killed): the same without the lock, at once when the
 * server answers. */
MUST_CHECK bool cluster_rejoin(const char *data_dir, const char *const runner_argv[], int wait_ms, struct error *err)
    NONNULL(1, 2, 4);

/* The runner's side of the locks. False in ret_held when another process holds it. */
MUST_CHECK bool cluster_lock_runner(const char *data_dir, int *ret_lock_fd, bool *ret_held, struct error *err) NONNULL(1, 2, 3, 4);
/* True when no client is left; the exclusive lock is then held until cluster_leave(fd), so that new clients wait. */
bool cluster_no_clients(const char *data_dir, int *ret_lock_fd) NONNULL(1, 2);
/* Whether a runner lives on this folder. */
bool cluster_has_runner(const char *data_dir) NONNULL(1);
/* The same on an open descriptor, for one system call: the descriptor of runner.lock (-1: it cannot be opened, and nobody
 * holds it), which the caller closes. */
int cluster_open_runner_lock(const char *data_dir) NONNULL(1);
bool cluster_runner_holds(int lock_fd);
