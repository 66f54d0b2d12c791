/*
 * Child: a confined child process with pipes to its standard streams.
 *
 * It gets a clean environment without proxies or credentials, no inherited
 * descriptors, its own session, no core file, and dies with the thread that
 * started it (PR_SET_PDEATHSIG). It can write no files; a program that it starts
 * may be given some, of at most 128 MiB (a browser's shared memory counts as
 * files). When we are root it also loses
 * the network (an empty network namespace, where the kernel lets us) and runs
 * as `nobody`, provided that `nobody` can reach the program; if not, it says so
 * on its standard error and keeps our rights.
 *
 * A child belongs to one thread at a time; the caller guards it.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <sys/types.h>

struct child {
    pid_t pid;  /* 0 when there is none */
    int in_fd;  /* we write: a socket, so that MSG_NOSIGNAL can be used; non-blocking, as are the others */
    int out_fd; /* we read its standard output */
    int err_fd; /* we read its standard error */
};

#define CHILD_NONE ((struct child){ .pid = 0, .in_fd = -1, .out_fd = -1, .err_fd = -1 })

struct child_program {
    const char *const *arguments; /* NULL-terminated; the first is looked up in PATH when it has no '/' */
    const char *script_path;      /* the file that `nobody` must be able to read */
};

/* Starts the program. Errors: SERVICE_UNAVAILABLE with the private reason, also when the program cannot be executed. */
MUST_CHECK bool child_start(const struct child_program *program, struct child *ret_child, struct error *err) NONNULL(1, 2, 3);

/* Whether it has ended by itself; then it is reaped and `pid` is 0, the pipes stay for what is left in them. */
bool child_has_ended(struct child *child) NONNULL(1);

/* Kills and reaps it, closes the pipes. Does nothing for CHILD_NONE. */
void child_stop(struct child *child) NONNULL(1);
