/*
 * The job runner of a process: the workers and the services that jobs use.
 */
#pragma once

#include "cli/options.h"
#include "engine/core/installation.h"

struct job_runner;

/* A unique name for this process, "posthorn KIND …": the application name of its connections, by which workers hold leases. */
char *job_runner_process_name(struct arena *arena, const char *kind) NONNULL(1, 2) RETURNS_NONNULL;

/* Opens the outbox, prepares the renderer and starts the workers. `installation` has the worker's name. */
MUST_CHECK bool job_runner_start(struct installation *installation, const struct options *options, struct job_runner **ret_jobs,
                                 struct error *err) NONNULL(1, 2, 3, 4);

/* Lets running rounds end. NULL is allowed. */
void job_runner_stop(struct job_runner *jobs);
