/*
 * Internal to db: subprocesses of the cluster.
 *
 * Between fork and exec a child makes only system calls, because other threads
 * may hold any lock of the C library. The child gets the given descriptors, the
 * default signal state, its own session and a small environment.
 */
#pragma once

#include "db/cluster_paths.h"

#include <pthread.h>

enum {
    PROCESS_MAX_OUTPUT_BYTES = 16 * 1024,
    /* The descriptors under which a server finds its folders: /proc/self/fd/3 and 4. */
    PROCESS_DATA_FD = 3,
    PROCESS_SOCKET_FD = 4,
};
#define PROCESS_DATA_PATH   "/proc/self/fd/3"
#define PROCESS_SOCKET_PATH "/proc/self/fd/4"

struct process_launch {
    const char *const *argv;
    struct cluster_user user;
    int output_fd;    /* becomes standard output and error */
    int data_fd;      /* -1: none */
    int socket_fd;    /* -1: none */
    int death_signal; /* the kernel sends it when the thread that started the child ends; 0: none */
};

/* Starts a program by its full path. */
MUST_CHECK bool process_start(const struct process_launch *launch, pid_t *ret_pid, struct error *err) NONNULL(1, 2, 3);

/* Waits up to `wait_ms` for the end of a child. False when it still runs. */
bool process_ended(pid_t pid, int wait_ms, int *ret_status) NONNULL(3);

/* Runs a short program, found by PATH, and returns its standard output. False when it could not run or failed. */
MUST_CHECK bool process_output(struct arena *arena, const char *const argv[], char **ret_output) NONNULL(1, 2, 3);

/* Starts a program detached (a daemon): its own session, no parent, and no descriptors except /dev/null and `log_fd` as its
 * standard error. `ret_pidfd` becomes readable when it ends (pidfd); -1 if the kernel has no pidfd. */
MUST_CHECK bool process_start_detached(const char *const argv[], int log_fd, int *ret_pidfd, struct error *err) NONNULL(1, 3, 4);

/* Whether the process behind a pidfd has ended; false for -1. */
bool process_pidfd_ended(int pidfd);

void process_sleep_ms(int wait_ms);

/* Starts a thread that receives no signal, so that those of the embedding program reach its own threads. */
MUST_CHECK bool process_start_thread(pthread_t *ret_thread, void *(*run)(void *data), void *data) NONNULL(1, 2);
