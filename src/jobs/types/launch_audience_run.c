/*
 * The job of a launch: it begins the launch when its time has come, in the
 * settling transaction. The stepper then does the runs.
 */
#include "catalogue/job_types.h"
#include "engine/runs/launch.h"

enum { LAUNCH_MAX_ATTEMPTS = 20 }; /* failures in a row: about an hour with the pauses of the worker */

static int64_t launch_of(const struct job *job)
{
    const struct launch_audience_run_payload *payload = job->payload;
    return payload->audience_run_id;
}

static bool settle(struct job *job, struct json_writer *answer, int *ret_status, struct error *err)
{
    (void)answer; /* no caller waits for a launch */
    *ret_status = 200;
    return launch_begin(&job->work, launch_of(job), err);
}

static bool on_failure(struct job *job, const struct error *why, struct error *err)
{
    return launch_give_up(&job->work, launch_of(job), why->message, err);
}

const struct job_type job_launch_audience_run = {
    .max_attempts = LAUNCH_MAX_ATTEMPTS,
    .settle = settle,
    .on_failure = on_failure,
};
