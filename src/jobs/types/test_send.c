/*
 * The job of a test message: it composes the message as a campaign would for
 * this address, and writes it to the capture folder or gives it to a relay while
 * the caller waits. Only the call itself is recorded.
 */
#include "base/clock.h"
#include "catalogue/job_types.h"
#include "engine/payloads/payloads.h"
#include "engine/sends/test_message.h"
#include "jobs/types/relay_message.h"
#include "mail/capture_maildir.h"
#include "sender/sender.h"

enum { TEST_SEND_MAX_ATTEMPTS = 2 };
static const int64_t elsewhere_us = US_PER_S / 5;

/* Whether only a process with a relay can deliver it. */
static bool is_elsewhere(const struct job *job, const struct test_send_payload *test)
{
    return !test->is_sandbox && !sender_has_relay(job->services->sender);
}

static bool relay(struct job *job, const struct test_send_payload *test, struct bytes message, struct error *err)
{
    const struct relayed_message relayed = {
        .domain_id = test->domain_id,
        .domain_brand_id = test->domain_brand_id,
        .from_address = test->from_address,
        .to = test->to,
        .reply_to = test->reply_to,
        .message = message,
    };
    return relay_message(job, &relayed, NULL, err);
}

static bool execute(struct job *job, struct error *err)
{
    struct bytes message;
    const struct test_send_payload *test = job->payload;
    if (is_elsewhere(job, test))
        return true;
    struct empty_values *empty = arena_alloc(job->work.arena, sizeof(*empty));
    if (!send_test_compose(&job->work, test, job->id, &message, empty, err))
        return false;
    job->result = empty;
    if (!test->is_sandbox)
        return relay(job, test, message, err);
    const struct captured_message captured = {
        .id = arena_printf(job->work.arena, "test.%s", work_id(&job->work, ID_JOB, job->id)),
        .owner = work_id(&job->work, ID_ORG, job->work.organization_id),
        .text = message,
    };
    bool is_full;
    return capture_maildir_deliver(job->services->outbox, &captured, &is_full, err);
}

static bool erase_payload(struct job *job, struct error *err)
{
    const struct test_send_payload *test = job->payload;
    return test->event_payload_id == 0 || payload_erase_unread(&job->work, (struct int_list){ &test->event_payload_id, 1 }, err);
}

static bool settle(struct job *job, struct json_writer *answer, int *ret_status, struct error *err)
{
    *ret_status = 200;
    const struct test_send_payload *test = job->payload;
    if (is_elsewhere(job, test)) { /* a process with a relay may lease the next round */
        job_run_again(job, job->work.now_us + elsewhere_us);
        return true;
    }
    send_test_write(test, job->result, answer);
    return erase_payload(job, err);
}

static bool on_failure(struct job *job, const struct error *why, struct error *err)
{
    (void)why;
    return erase_payload(job, err);
}

const struct job_type job_test_send = {
    .max_attempts = TEST_SEND_MAX_ATTEMPTS,
    .execute = execute,
    .settle = settle,
    .on_failure = on_failure,
};
