/*
 * Jobs run by this process: the workers and what they may use of the world.
 */
#pragma once

#include "cli/options.h"
#include "engine/core/installation.h"

struct jobs_here;

/* A unique name for this process, "posthorn KIND …": the application name of its connections, by which workers hold leases. */
char *jobs_process_name(struct arena *arena, const char *kind) NONNULL(1, 2) RETURNS_NONNULL;

/* Opens the outbox, prepares the renderer and starts the workers. `installation` has the worker's name. */
MUST_CHECK bool jobs_here_start(struct installation *installation, const struct options *options, struct jobs_here **ret_jobs,
                                struct error *err) NONNULL(1, 2, 3, 4);

/* Lets running rounds end. NULL is allowed. */
void jobs_here_stop(struct jobs_here *jobs);
