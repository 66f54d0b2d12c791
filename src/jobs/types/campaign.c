/*
 * The job of a campaign: begins the send when its time has come. From then on
 * the sender has it (src/sender).
 */
#include "base/clock.h"
#include "base/json_read.h"
#include "engine/delivery/delivery.h"
#include "jobs/job_types.h"

enum { CAMPAIGN_MAX_ATTEMPTS = 20 }; /* failures in a row: about an hour with the worker's pauses */
static const int64_t plan_wait_us = INT64_C(15) * 60 * US_PER_S;

static int64_t send_of(const struct job *job)
{
    return json_get_int(job->payload, "sendId", 0);
}

static bool settle(struct job *job, struct json_writer *answer, int *ret_status, struct error *err)
{
    (void)answer; /* nobody waits for a campaign */
    *ret_status = 200;
    bool begun;
    if (!delivery_begin(&job->work, send_of(job), &begun, err))
        return false;
    if (!begun)
        job_run_again(job, job->work.now_us + plan_wait_us);
    return true;
}

static bool give_up(struct job *job, const struct error *why, struct error *err)
{
    const char *reason = arena_printf(job->work.arena, "Delivery stopped: %s", why->message);
    return delivery_give_up(&job->work, send_of(job), reason, err);
}

const struct job_kind job_campaign = {
    .name = "campaign",
    .max_attempts = CAMPAIGN_MAX_ATTEMPTS,
    .settle = settle,
    .give_up = give_up,
};
