/*
 * The job of a campaign: rounds of delivery until the send has ended. The first
 * round begins the send and calls in a few more jobs when it is large, so that
 * all worker threads may deliver it; every further round works on one range.
 */
#include "base/clock.h"
#include "base/json_read.h"
#include "engine/ledger/ledger.h"
#include "engine/sends/delivery.h"
#include "jobs/kinds.h"
#include "mail/outbox.h"

#include <string.h>

enum {
    CAMPAIGN_MAX_ATTEMPTS = 20, /* failures in a row: about an hour with the worker's pauses */
    CAMPAIGN_MAX_JOBS = 4,      /* that deliver one send */
};
static const int64_t plan_wait_us = INT64_C(15) * 60 * US_PER_S;

static int64_t send_of(const struct job *job)
{
    return json_get_int(job->payload, "sendId", 0);
}

/* A message that cannot be composed is a fact about its recipient; any other trouble is the round's. */
static bool deliver_one(struct job *job, struct delivery *delivery, size_t index, struct arena *scratch, struct error *err)
{
    struct bytes message;
    struct error why = { .code = ERR_NONE };
    if (!delivery_compose(&job->work, delivery, index, &message, &why)) {
        if (why.code != ERR_INVALID_REQUEST) {
            *err = why;
            return false;
        }
        delivery->results[index] = (struct delivery_result){ DELIVERY_FAILED, arena_dup(job->work.arena, why.message) };
        return true;
    }
    const char *name = delivery_message_name(&job->work, delivery, index, scratch);
    return outbox_deliver(job->services->outbox, name, message.data, message.size, err);
}

static bool perform(struct job *job, struct error *err)
{
    struct delivery *delivery = arena_alloc(job->work.arena, sizeof(*delivery));
    job->performed = delivery;
    if (!delivery_open(&job->work, send_of(job), job->id, delivery, err))
        return false;
    if (delivery->range == NULL)
        return true;
    if (!delivery_fetch(&job->work, delivery, err))
        return false;
    ARENA_SCOPE scratch = arena_new(0);
    for (size_t i = 0; i < delivery->count; i++) {
        if (delivery->results[i].outcome == DELIVERY_SKIPPED)
            continue;
        arena_reset(scratch);
        if (!deliver_one(job, delivery, i, scratch, err))
            return false;
    }
    return true;
}

static bool call_in_more(struct job *job, int64_t ranges, struct error *err)
{
    const char *payload = arena_printf(job->work.arena, "{\"sendId\":%lld}", (long long)send_of(job));
    for (int64_t jobs = 1; jobs < CAMPAIGN_MAX_JOBS && jobs < ranges; jobs++) {
        int64_t ignored;
        if (!ledger_enqueue(&job->work, job_campaign.name, payload, job->work.now_us, NULL, &ignored, err))
            return false;
    }
    return true;
}

static bool settle(struct job *job, struct json_writer *answer, int *ret_status, struct error *err)
{
    (void)answer; /* nobody waits for a campaign */
    *ret_status = 200;
    const struct delivery *delivery = job->performed;
    enum delivery_next next;
    int64_t ranges = 0;
    bool done = delivery_is_due(delivery) ? delivery_begin(&job->work, delivery, &next, &ranges, err)
                                          : delivery_settle(&job->work, delivery, &next, err);
    if (!done || !call_in_more(job, ranges, err))
        return false;
    if (next == DELIVERY_GOES_ON)
        job_run_again(job, job->work.now_us);
    else if (next == DELIVERY_WAITS)
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
    .perform = perform,
    .settle = settle,
    .give_up = give_up,
};
