/*
 * Runner of a data folder: the record of its process, and the watch of the
 * clients over it.
 *
 * The file runner.pid contains the process id of the runner, and the word "ready"
 * when the runner serves. A runner that ends on purpose (it is idle, or an
 * operator stops it) removes the file. So a folder with the file and without a
 * runner has lost its runner, and a client that is alive starts another one.
 */
#pragma once

#include "base/error.h"

#include <sys/types.h>

/* ---- For the runner ---- */

/* Writes the id of this process; the caller holds the runner's lock. A failure is ignored: the file then says nothing. */
void cluster_record_write(const char *data_dir) NONNULL(1);
/* Adds that the runner serves. A runner that ends earlier is replaced after a pause, which doubles each time. */
void cluster_record_mark_ready(const char *data_dir) NONNULL(1);
/* Removes the record: nobody replaces this runner. */
void cluster_record_remove(const char *data_dir) NONNULL(1);

/* Calls `on_gone` on a thread of its own, once, when `data_dir` was removed or moved, or its runner.lock is no longer the file that
 * `lock_fd` has open: another runner may then come at any time, so the process must end at once. The thread lives as long as the
 * process. Errors: SERVICE_UNAVAILABLE. */
MUST_CHECK bool cluster_runner_guard(const char *data_dir, int lock_fd, void (*on_gone)(void), struct error *err) NONNULL(1, 3, 4);

/* ---- For its clients ---- */

/* The process id of the running runner; 0 when there is none, or when it runs in another namespace of process ids. */
pid_t cluster_runner_pid(const char *data_dir) NONNULL(1);

/* Takes the lock of a start, so that no process starts a runner until cluster_leave(fd). -1: another process holds the lock
 * (EAGAIN), or the folder has had no runner. */
int cluster_lock_start(const char *data_dir) NONNULL(1);

struct cluster_watch;

/* Watches the runner of `data_dir` on a thread of its own, and starts `runner_argv` detached when the runner was killed. It learns
 * of the end from the kernel (pidfd), or within a second by the lock where that is impossible. Of several watches one starts the
 * runner. The caller has joined the cluster and keeps both strings. Errors: SERVICE_UNAVAILABLE. */
MUST_CHECK bool cluster_watch_new(const char *data_dir, const char *const runner_argv[], struct cluster_watch **ret_watch,
                                  struct error *err) NONNULL(1, 2, 3, 4);
/* Ends the thread. NULL is allowed. */
void cluster_watch_free(struct cluster_watch *watch);
