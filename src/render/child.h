/*
 * Child: a sandboxed subprocess with pipes to its standard streams.
 *
 * It gets a clean environment without proxies or credentials, no inherited
 * descriptors, its own session and no core file. The kernel kills it when the
 * thread that started it ends (PR_SET_PDEATHSIG). Its limit for written files is
 * 0; it may raise the limit for its own children up to 128 MiB, because the shared
 * memory of a browser counts as files. A program may get bounds of memory and
 * processor time besides.
 *
 * Started by root, it also loses the network (an empty network namespace, if the
 * kernel permits it) and runs as `nobody`. If `nobody` cannot read the program, the
 * child writes a warning to its standard error and continues as root.
 *
 * One thread at a time uses a child; the caller ensures it.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { CHILD_MAX_VARIABLES = 6 };

struct child {
    pid_t pid;  /* 0: no process */
    int in_fd;  /* to its standard input: a socket, so that MSG_NOSIGNAL can be used; all three are non-blocking */
    int out_fd; /* from its standard output */
    int err_fd; /* from its standard error */
};

#define CHILD_NONE ((struct child){ .pid = 0, .in_fd = -1, .out_fd = -1, .err_fd = -1 })

struct child_program {
    const char *const *arguments; /* NULL-terminated; the first is looked up in PATH when it has no '/' */
    const char *script_path;      /* the file that `nobody` must be able to read; NULL: none but the program */
    const char *const *variables; /* NAME=value, NULL-terminated, at most CHILD_MAX_VARIABLES; NULL: none */
    int64_t memory_bytes;         /* bound of its address space; 0: none */
    int64_t processor_s;          /* bound of its processor time; 0: none */
};

/* Starts the program. Errors: SERVICE_UNAVAILABLE with a private cause, also when the program cannot be executed. */
MUST_CHECK bool child_start(const struct child_program *program, struct child *ret_child, struct error *err) NONNULL(1, 2, 3);

/* Whether the process has ended by itself. It is then reaped and `pid` is 0; the pipes remain open for their unread bytes. */
bool child_has_ended(struct child *child) NONNULL(1);

/* Waits until the process has ended by itself, at most until `until_us` of clock_monotonic_us. Returns its exit status, 128 and the
 * number of the signal that killed it, or -1 when it still runs. */
int child_await_exit(struct child *child, int64_t until_us) NONNULL(1);

/* Kills and reaps the process and closes the pipes. Does nothing for CHILD_NONE. */
void child_stop(struct child *child) NONNULL(1);
