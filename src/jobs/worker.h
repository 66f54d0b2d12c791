/*
 * The workers of one process: threads that lease jobs and run them. Three
 * processes start workers: the runner of a private cluster, `posthorn worker`,
 * and `posthorn serve` on an external database.
 */
#pragma once

#include "engine/core/installation.h"
#include "jobs/jobs.h"

struct workers;

enum { WORKER_DEFAULT_THREADS = 3 };

/* Starts up to `threads` workers (WORKER_DEFAULT_THREADS when 0), and up to 6 for jobs that wait for other machines. Of several
 * threads, one organization has at most all but one, or half of those that wait. `services` is borrowed. */
struct workers *workers_start(struct installation *installation, const struct job_services *services, int threads)
    NONNULL(1, 2) RETURNS_NONNULL;

/* Waits until running jobs end their round, then joins the threads. NULL is allowed. */
void workers_stop(struct workers *workers);

/* Whether any job is queued, scheduled or running. */
MUST_CHECK bool workers_any_open(struct db_conn *conn, bool *ret_open, struct error *err) NONNULL(1, 2, 3);
