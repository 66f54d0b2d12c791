/*
 * Commands of the binary. Each gets its options and returns the exit status: 0
 * success, 1 failure, 2 usage error; operations have more (exit_status.h).
 * Output for programs is JSON on standard output; everything else goes to
 * standard error.
 */
#pragma once

#include "cli/options.h"

struct command_line;

struct process {
    struct arena *arena;
    const char *program; /* path of this executable */
    const char *const *runner_argv;
    const struct command_line *line; /* of an operation; NULL for other commands */
};

int command_mcp(const struct process *process, const struct options *options);
int command_serve(const struct process *process, const struct options *options);
int command_worker(const struct process *process, const struct options *options);
int command_runner(const struct process *process, const struct options *options);
int command_stop(const struct process *process, const struct options *options);
int command_doctor(const struct process *process, const struct options *options);
int command_admin(const struct process *process, const struct options *options);
int command_call(const struct process *process, const struct options *options);
int command_why(const struct process *process, const struct options *options);
int command_bounce(const struct process *process, const struct options *options);
int command_tools(const struct process *process, const struct options *options);

/* Runs an operation of the catalogue, or prints help about it (cli/command_line.h). */
int command_operation(const struct process *process, const struct options *options);

/* Prints the domains of the catalogue. */
void print_domains(void);

/* Prints an error as the envelope on standard error and returns 1. */
int command_failed(const struct error *err) NONNULL(1);
