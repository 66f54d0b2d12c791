/*
 * Service: everything one process needs to answer calls. Creating it has no
 * side effects. Threads start and the database is connected with the first call
 * that needs them.
 */
#pragma once

#include "api/call.h"
#include "api/limits/limit_store.h"
#include "engine/core/installation.h"

struct api_config {
    struct installation_config installation;
    const char *fixed_brand; /* the local owner's brand; NULL: the default brand */
    int quick_threads;       /* executor threads of each pool; 0: the defaults */
    int slow_threads;
    size_t queue_max;                /* queued calls of an organization in a pool before 503; 0: the default */
    struct limit_store *limit_store; /* counts the calls for the rate limit; owned by the service; NULL: memory */
    int64_t job_deadline_ms;         /* how long a caller is parked on a job; 0: the default */
    int job_poll_ms;                 /* how often the jobs of parked callers are read without a notification; 0: the default */
};

struct api *api_new(const struct api_config *config) NONNULL(1) RETURNS_NONNULL;

/* Refuses new calls, waits at most `wait_ms` for running ones, stops the threads and frees everything. */
void api_free(struct api *api, int wait_ms);

struct installation *api_installation(struct api *api) NONNULL(1) RETURNS_NONNULL;

/* Drops the cached credentials at once; for the process that revokes a key. */
void api_forget_credentials(struct api *api) NONNULL(1);

/* Writes the counters of this process in the Prometheus text format. */
void api_write_metrics(struct api *api, struct buf *out) NONNULL(1, 2);
