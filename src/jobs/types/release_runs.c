/*
 * The job of a resume with many held or failed runs: it does the next part in the
 * settling transaction, which also enqueues the part behind it.
 */
#include "catalogue/job_types.h"
#include "engine/runs/release.h"

enum { RELEASE_MAX_ATTEMPTS = 20 }; /* failures in a row: about an hour with the pauses of the worker */

static bool settle(struct job *job, struct json_writer *answer, int *ret_status, struct error *err)
{
    const struct release_runs_payload *payload = job->payload;
    struct runs_to_release which = {
        .automation_id = payload->automation_id,
        .audience_run_id = payload->audience_run_id,
        .after_id = payload->after_id,
        .takes_up = payload->takes_up,
    };
    (void)answer; /* no caller waits for a release */
    *ret_status = 200;
    return runs_release(&job->work, which, err);
}

const struct job_type job_release_runs = {
    .max_attempts = RELEASE_MAX_ATTEMPTS,
    .settle = settle,
};
