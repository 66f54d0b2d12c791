/*
 * Audience runs: launches of an automation on an audience. A launch is scheduled
 * or queued until its job has made its runs (launch.h), then running or paused,
 * and ends with its last run.
 *
 * A pause stops the admission of recipients: the stepper holds the runs that are
 * due. Messages that were handed over still leave. A resume releases the held runs,
 * and takes up runs that failed at the node where they failed. A cancellation is
 * final.
 *
 * Plain values; memory comes from the arena of the work.
 */
#pragma once

#include "engine/core/work.h"

struct audience_run_filter {
    const char *status;    /* NULL: any */
    int64_t automation_id; /* 0: any */
};

/* A page of launches, newest first. Errors: INVALID_REQUEST (cursor). One round trip. */
MUST_CHECK bool audience_run_list(const struct work *work, const struct audience_run_filter *filter, int64_t limit,
                                  const char *cursor, struct json_writer *json, struct error *err) NONNULL(1, 2, 5, 6);

/* Writes one launch. Errors: AUDIENCE_RUN_NOT_FOUND. One round trip. */
MUST_CHECK bool audience_run_get(const struct work *work, int64_t id, struct json_writer *json, struct error *err) NONNULL(1, 3, 4);

/* Pauses a running launch and writes it. One that a caller has paused is written unchanged.
 * Errors: AUDIENCE_RUN_NOT_FOUND, RUN_NOT_PAUSABLE. Two round trips. */
MUST_CHECK bool audience_run_pause(const struct work *work, int64_t id, struct json_writer *json, struct error *err)
    NONNULL(1, 3, 4);

/* Resumes a paused or failed launch and writes it, with the node at which it goes on. A launch that failed before it had runs is
 * launched again. Errors: AUDIENCE_RUN_NOT_FOUND, RUN_NOT_PAUSED, RUN_NOT_RESUMABLE, and those of launch_begin. */
MUST_CHECK bool audience_run_resume(const struct work *work, int64_t id, struct json_writer *json, struct error *err)
    NONNULL(1, 3, 4);

/* Cancels a launch that has not ended, with its open runs, and writes it. One that is canceled already is written unchanged.
 * Errors: AUDIENCE_RUN_NOT_FOUND, RUN_NOT_CANCELLABLE. Four round trips. */
MUST_CHECK bool audience_run_cancel(const struct work *work, int64_t id, struct json_writer *json, struct error *err)
    NONNULL(1, 3, 4);
