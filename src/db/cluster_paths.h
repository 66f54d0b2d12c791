/*
 * Internal to db: the paths and the user of a private cluster.
 *
 *     data_dir/        0700, the caller's
 *       runner.log, runner.lock, runner.pid, clients.lock
 *       pg/            0700, the caller's
 *         data/        0700, the server's user: the cluster itself
 *         run/         0700, the server's user: the socket
 *         server.log   the caller's; the server has it open as its standard error
 *
 * Started by root, the server runs as an unprivileged user that cannot enter the
 * folders above data and run: data_dir holds the keys, and /root or a new mktemp
 * folder denies access as well. So it inherits both folders as open descriptors
 * and names them /proc/self/fd/N, which needs no access to the parents. That
 * user has no access above data and run, and cannot replace a file that root
 * opens by name.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"

#include <sys/types.h>

struct cluster_paths {
    const char *data_dir; /* canonical, all others below it */
    const char *pg_dir;
    const char *pg_data_dir;
    const char *socket_dir; /* data_dir/pg/run, or a folder in /tmp when that is too long for a socket */
    const char *server_log;
    const char *runner_log;
    const char *runner_lock;
    const char *runner_pid;
    const char *clients_lock;
    const char *server_pid; /* PostgreSQL's postmaster.pid */
};

/* The paths of a data folder. Does not access the folder's contents. */
struct cluster_paths cluster_paths(struct arena *arena, const char *data_dir) NONNULL(1, 2);

/* The user of the server: the current user, or for root the owner of an existing cluster, else postgres, else nobody. */
struct cluster_user {
    uid_t uid;
    gid_t gid;
    bool is_other; /* not the current user: the server must change to it */
};
MUST_CHECK bool cluster_find_user(const struct cluster_paths *paths, struct cluster_user *ret_user, struct error *err)
    NONNULL(1, 2, 3);

/* Creates the data folder with its parents, mode 0700 each, unless it exists. */
MUST_CHECK bool cluster_make_data_dir(const struct cluster_paths *paths, struct error *err) NONNULL(1, 2);

/* Creates a folder of mode 0700 that belongs to `user`, or checks an existing one. Returns it open if `ret_fd` is not
 * NULL. */
MUST_CHECK bool cluster_make_dir(const char *path, const struct cluster_user *user, int *ret_fd, struct error *err)
    NONNULL(1, 2, 4);

/* Opens the log of the runners for appending, and empties one that is too long; -1 with errno on failure. */
int cluster_open_runner_log(const struct cluster_paths *paths) NONNULL(1);

/* Records an error about a file with errno as its cause. Returns false. */
bool cluster_fail_with_errno(struct error *err, const char *doing, const char *path) NONNULL(1, 2, 3);

/* FNV-1a, for names that only need to differ. */
uint64_t cluster_hash(const void *bytes, size_t size, uint64_t seed) NONNULL(1) PURE;
#define CLUSTER_HASH_SEED UINT64_C(0xcbf29ce484222325)

/* Reads the server's own state in its pid file, without a session. True when it accepts connections; `ret_pid` then is its
 * process. The file outlives a killed server. */
bool cluster_is_ready(const struct cluster_paths *paths, pid_t *ret_pid) NONNULL(1, 2);
