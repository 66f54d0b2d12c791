/*
 * The job of a test message: it composes the message as a campaign would for
 * this address, and writes it to the capture folder or gives it to a relay while
 * the caller waits. Only the call itself is recorded.
 */
#include "base/clock.h"
#include "base/text.h"
#include "catalogue/job_types.h"
#include "engine/domains/signing.h"
#include "engine/sends/test_message.h"
#include "mail/capture_maildir.h"
#include "sender/sender.h"

enum { TEST_SEND_MAX_ATTEMPTS = 2, RELAY_WAIT_MS = 25 * 1000, SIGNATURES_MAX_BYTES = 16 * 1024 };
static const int64_t elsewhere_us = US_PER_S / 5;

/* Whether only a process with a relay can deliver it. */
static bool is_elsewhere(const struct job *job, const struct test_send_payload *test)
{
    return !test->is_sandbox && !sender_has_relay(job->services->sender);
}

static bool sign(struct job *job, const struct test_send_payload *test, struct bytes message, struct bytes *ret_signatures,
                 struct error *err)
{
    struct work work = job->work;
    work.brand_id = test->domain_brand_id;
    struct dkim_key_list keys;
    *ret_signatures = (struct bytes){ .size = 0 };
    if (!sender_signs(job->services->sender))
        return true;
    if (!domain_signing_keys(&work, test->domain_id, work.arena, &keys, err))
        return false;
    if (keys.count == 0)
        return true;
    struct buf *out = buf_in_arena(work.arena, SIGNATURES_MAX_BYTES);
    if (!dkim_sign(dkim_signer_new(work.arena, keys), message, work.now_us, out, err))
        return false;
    *ret_signatures = (struct bytes){ (const unsigned char *)buf_text(out), out->size };
    return true;
}

static bool relay(struct job *job, const struct test_send_payload *test, struct bytes message, struct error *err)
{
    struct single_message single = {
        .mail_from = test->from_address,
        .rcpt_to = test->to,
        .needs_smtputf8 = !text_is_ascii(test->to) || !text_is_ascii(test->from_address) ||
                          (test->reply_to != NULL && !text_is_ascii(test->reply_to)),
        .message = message,
    };
    return sign(job, test, message, &single.signatures, err) && sender_deliver(job->services->sender, &single, RELAY_WAIT_MS, err);
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
    const char *name = arena_printf(job->work.arena, "test.%s", work_id(&job->work, ID_JOB, job->id));
    return capture_maildir_deliver(job->services->outbox, name, message.data, message.size, err);
}

static bool settle(struct job *job, struct json_writer *answer, int *ret_status, struct error *err)
{
    (void)err;
    *ret_status = 200;
    const struct test_send_payload *test = job->payload;
    if (is_elsewhere(job, test)) { /* a process with a relay may lease the next round */
        job_run_again(job, job->work.now_us + elsewhere_us);
        return true;
    }
    send_test_write(test, job->result, answer);
    return true;
}

const struct job_type job_test_send = {
    .max_attempts = TEST_SEND_MAX_ATTEMPTS,
    .execute = execute,
    .settle = settle,
};
