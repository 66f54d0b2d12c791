/*
 * The job of a campaign: it begins the send when its time has come. The sender
 * (src/sender) then delivers it. The job of a gradual send runs again until the
 * send has ended or is paused: it releases the tranches and watches the figures.
 */
#include "base/clock.h"
#include "catalogue/job_types.h"
#include "engine/delivery/delivery.h"
#include "engine/delivery/tranches.h"

enum { CAMPAIGN_MAX_ATTEMPTS = 20 }; /* failures in a row: about an hour with the pauses of the worker */
static const int64_t plan_wait_us = INT64_C(15) * 60 * US_PER_S;

static int64_t send_of(const struct job *job)
{
    const struct campaign_payload *payload = job->payload;
    return payload->send_id;
}

static bool settle(struct job *job, struct json_writer *answer, int *ret_status, struct error *err)
{
    (void)answer; /* no caller waits for a campaign */
    *ret_status = 200;
    bool begun;
    if (!delivery_begin(&job->work, send_of(job), &begun, err))
        return false;
    if (!begun) {
        job_run_again(job, job->work.now_us + plan_wait_us);
        return true;
    }
    struct opt_int next_us;
    if (!delivery_continue(&job->work, send_of(job), job->id, &next_us, err))
        return false;
    if (next_us.set)
        job_run_again(job, next_us.value);
    return true;
}

static bool on_failure(struct job *job, const struct error *why, struct error *err)
{
    const char *reason = arena_printf(job->work.arena, "Delivery stopped: %s", why->message);
    return delivery_give_up(&job->work, send_of(job), reason, err);
}

const struct job_type job_campaign = {
    .max_attempts = CAMPAIGN_MAX_ATTEMPTS,
    .is_quick = true, /* the beginning of a send is a part of its delivery */
    .settle = settle,
    .on_failure = on_failure,
};
