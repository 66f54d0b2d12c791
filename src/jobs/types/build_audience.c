/*
 * The job of a cohort: steps of its build until the events are read. All of a
 * step happens in the settling transaction, so a crash repeats nothing.
 */
#include "base/json_read.h"
#include "engine/audiences/audiences.h"
#include "jobs/job_types.h"

enum { BUILD_MAX_ATTEMPTS = 12 }; /* half an hour and more, for a cohort that waits for another */

static int64_t audience_of(const struct job *job)
{
    return json_get_int(job->payload, "audienceId", 0);
}

static bool settle(struct job *job, struct json_writer *answer, int *ret_status, struct error *err)
{
    (void)answer; /* nobody waits for a build */
    *ret_status = 200;
    bool done;
    if (!audience_build_step(&job->work, audience_of(job), &done, err))
        return false;
    if (!done)
        job_run_again(job, job->work.now_us);
    return true;
}

static bool give_up(struct job *job, const struct error *why, struct error *err)
{
    (void)why; /* the job row keeps it */
    return audience_build_fail(&job->work, audience_of(job), err);
}

const struct job_kind job_build_audience = {
    .name = "build_audience",
    .max_attempts = BUILD_MAX_ATTEMPTS,
    .settle = settle,
    .give_up = give_up,
};
