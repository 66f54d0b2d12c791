/*
 * The job of subscriptions.request: it sends an unsubscribe link to an address,
 * if the brand knows it. Nobody waits for it, and its outcome is shown to nobody.
 * A mail that no relay takes within an hour is dropped.
 */
#include "base/clock.h"
#include "catalogue/job_types.h"
#include "engine/sends/link_mail.h"
#include "jobs/types/relay_message.h"
#include "sender/sender.h"

enum { SEND_LINK_MAX_ATTEMPTS = 5 };
static const int64_t elsewhere_us = INT64_C(5) * US_PER_S;
static const int64_t given_up_us = INT64_C(3600) * US_PER_S;

static bool execute(struct job *job, struct error *err)
{
    const struct send_link_payload *payload = job->payload;
    struct link_mail mail;
    if (!sender_has_relay(job->services->sender))
        return true;
    if (!link_mail_compose(&job->work, payload->email_key, payload->public_url, job->id, &mail, err))
        return false;
    if (mail.to == NULL)
        return true;
    const struct relayed_message relayed = {
        .domain_id = mail.form.domain_id,
        .domain_brand_id = job->work.brand_id,
        .from_address = mail.form.from_address,
        .to = mail.to,
        .reply_to = mail.form.reply_to,
        .message = mail.message,
    };
    return relay_message(job, &relayed, NULL, err);
}

static bool settle(struct job *job, struct json_writer *answer, int *ret_status, struct error *err)
{
    (void)answer; /* no caller waits for it */
    (void)err;
    *ret_status = 200;
    /* A process with a relay may lease the next round. */
    if (!sender_has_relay(job->services->sender) && job->work.now_us - job->created_us < given_up_us)
        job_run_again(job, job->work.now_us + elsewhere_us);
    return true;
}

const struct job_type job_send_link = {
    .max_attempts = SEND_LINK_MAX_ATTEMPTS,
    .execute = execute,
    .settle = settle,
};
