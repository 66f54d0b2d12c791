/*
 * The job that numbers the links of versions which are older than tracking, for
 * one brand, some versions a round. Its progress is in the versions themselves.
 */
#include "base/clock.h"
#include "catalogue/job_types.h"
#include "engine/emails/emails.h"

enum { NUMBER_LINKS_MAX_ATTEMPTS = 12 };                     /* failures in a row */
static const int64_t send_wait_us = INT64_C(600) * US_PER_S; /* until a running send may have ended */

static bool settle(struct job *job, struct json_writer *answer, int *ret_status, struct error *err)
{
    (void)answer; /* no caller waits for it */
    size_t numbered;
    int64_t left;
    *ret_status = 200;
    if (!email_number_links(&job->work, &numbered, &left, err))
        return false;
    if (left > 0)
        job_run_again(job, job->work.now_us + (numbered > 0 ? 0 : send_wait_us));
    return true;
}

const struct job_type job_number_links = {
    .max_attempts = NUMBER_LINKS_MAX_ATTEMPTS,
    .settle = settle,
};
