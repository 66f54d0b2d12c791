/*
 * Insights: findings about the mail of a brand, with what they rest on.
 *
 * A job looks for them once a day for each brand, some hours after a large
 * send, and when the operator asks (insights.run). It loads the figures of the
 * brand (load.h), runs all detectors (detect.h), and saves the findings. A
 * finding is shown when two runs in a row hold it, and closed when two do not.
 */
#pragma once

#include "engine/core/work.h"

enum { INSIGHTS_MAX = 1000 /* findings of a brand that lists show */ };

/* ---- Runs ---- */

struct insight_findings;

/* Enqueues the runs that are due, up to a hundred, and schedules the next ones. */
MUST_CHECK bool insight_runs_enqueue(struct db_conn *conn, struct arena *arena, int64_t now_us, struct error *err) NONNULL(1, 2, 4);

/* Begins the run of a job, in a transaction of its own; `ret_begun` is false while another run of the brand is under way. */
MUST_CHECK bool insight_run_begin(const struct work *work, int64_t job_id, bool *ret_begun, struct error *err) NONNULL(1, 3, 4);

/* Finds what holds now. Reads only. */
MUST_CHECK bool insight_run_find(const struct work *work, const struct insight_findings **ret_findings, struct error *err)
    NONNULL(1, 2, 3);

/* Saves the findings and ends the run, in the open transaction. `data_as_of_us` is the time at which they were found. Gives the
 * number of active findings. */
MUST_CHECK bool insight_run_save(const struct work *work, int64_t job_id, const struct insight_findings *findings,
                                 int64_t data_as_of_us, int64_t *ret_active, struct error *err) NONNULL(1, 3, 5, 6);

/* Ends a run that failed, in the open transaction. */
MUST_CHECK bool insight_run_fail(const struct work *work, int64_t job_id, struct error *err) NONNULL(1, 3);

/* ---- Reads ---- */

struct insight_filter {
    const char *state;                     /* open, all, active, resolved or stale */
    const char *severity;                  /* NULL: any */
    bool pulse, report, memo, suggestions; /* parts to add */
};

/* A page of findings, the most severe first. Errors: INVALID_REQUEST (cursor), also when the findings before it have changed. */
MUST_CHECK bool insights_list(const struct work *work, const struct insight_filter *filter, int64_t limit, const char *cursor,
                              struct json_writer *json, struct error *err) NONNULL(1, 2, 5, 6);

/* One finding with its detail. Errors: INSIGHT_NOT_FOUND. */
MUST_CHECK bool insight_get(const struct work *work, int64_t insight_id, struct json_writer *json, struct error *err)
    NONNULL(1, 3, 4);
