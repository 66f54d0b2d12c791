/*
 * The job that judges the hits of a brand: each round is a pass of
 * engine/hits/judge_hits.h. A brand has at most one such job, which the first of
 * new hits enqueues. The job ends when no hit waits.
 */
#include "engine/hits/judge_hits.h"
#include "catalogue/job_types.h"
#include "engine/hits/hit_overrides.h"

enum { JUDGE_MAX_ATTEMPTS = 12 }; /* failures in a row */

static bool settle(struct job *job, struct json_writer *answer, int *ret_status, struct error *err)
{
    (void)answer;
    struct hit_rules rules;
    struct judge_left left;
    *ret_status = 200;
    if (!hit_rules_load(&job->work, &rules, err) || !hits_judge(&job->work, &rules, &left, err))
        return false;
    if (!left.is_done)
        job_run_again(job, left.next_due_us);
    return true;
}

const struct job_type job_judge_hits = {
    .max_attempts = JUDGE_MAX_ATTEMPTS,
    .settle = settle,
};
