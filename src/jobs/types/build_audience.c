/*
 * The job of a cohort: each round reads some events, until all are read. A
 * round does all its work in the settling transaction, so a crash repeats
 * nothing.
 */
#include "catalogue/job_types.h"
#include "engine/audiences/audiences.h"

enum { BUILD_MAX_ATTEMPTS = 12 }; /* failures in a row: half an hour and more, for a cohort that waits for another */

static int64_t audience_of(const struct job *job)
{
    const struct build_audience_payload *payload = job->payload;
    return payload->audience_id;
}

static bool settle(struct job *job, struct json_writer *answer, int *ret_status, struct error *err)
{
    (void)answer; /* no caller waits for a build */
    *ret_status = 200;
    bool done;
    if (!audience_build_step(&job->work, audience_of(job), &done, err))
        return false;
    if (!done)
        job_run_again(job, job->work.now_us);
    return true;
}

static bool on_failure(struct job *job, const struct error *why, struct error *err)
{
    (void)why; /* the row of the job keeps the error */
    return audience_build_fail(&job->work, audience_of(job), err);
}

const struct job_type job_build_audience = {
    .max_attempts = BUILD_MAX_ATTEMPTS,
    .settle = settle,
    .on_failure = on_failure,
};
