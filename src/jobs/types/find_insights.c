/*
 * The job that looks for findings about a brand: it reads and compares outside
 * of a transaction and saves the findings in the settling one. A run that finds
 * another one of its brand under way comes again later.
 */
#include "base/clock.h"
#include "catalogue/job_types.h"
#include "engine/insights/insights.h"

enum { INSIGHTS_MAX_ATTEMPTS = 3, STATUS_OK = 200 };

static const int64_t come_again_us = 2 * US_PER_S;

/* Without findings: another run is under way. */
struct found {
    const struct insight_findings *findings;
    int64_t at_us;
};

static bool execute(struct job *job, struct error *err)
{
    struct found *found = arena_alloc(job->work.arena, sizeof(*found));
    bool begun;
    job->result = found;
    found->at_us = job->work.now_us;
    if (!insight_run_begin(&job->work, job->id, &begun, err))
        return false;
    return !begun || insight_run_find(&job->work, &found->findings, err);
}

static bool settle(struct job *job, struct json_writer *answer, int *ret_status, struct error *err)
{
    const struct found *found = job->result;
    int64_t active;
    if (found->findings == NULL) {
        job_run_again(job, job->work.now_us + come_again_us);
        return true;
    }
    if (!insight_run_save(&job->work, job->id, found->findings, found->at_us, &active, err))
        return false;
    *ret_status = STATUS_OK;
    json_object_begin(answer);
    json_member_int(answer, "active", active);
    json_member_time(answer, "dataAsOf", found->at_us);
    json_object_end(answer);
    return true;
}

static bool on_failure(struct job *job, const struct error *why, struct error *err)
{
    (void)why;
    return insight_run_fail(&job->work, job->id, err);
}

const struct job_type job_find_insights = {
    .max_attempts = INSIGHTS_MAX_ATTEMPTS,
    .execute = execute,
    .settle = settle,
    .on_failure = on_failure,
};
