/*
 * The job of a test message: composed from the design as it would be for this
 * address, and put into the outbox. Nothing is recorded but the call itself.
 */
#include "base/json_read.h"
#include "engine/sends/test_message.h"
#include "jobs/kinds.h"
#include "mail/outbox.h"

enum { TEST_SEND_MAX_ATTEMPTS = 2 };

static bool perform(struct job *job, struct error *err)
{
    struct bytes message;
    struct send_test test;
    send_test_read(job->payload, &test);
    const char *name = arena_printf(job->work.arena, "test.%s", work_id(&job->work, ID_JOB, job->id));
    return send_test_compose(&job->work, &test, job->id, &message, err) &&
           outbox_deliver(job->services->outbox, name, message.data, message.size, err);
}

static bool settle(struct job *job, struct json_writer *answer, int *ret_status, struct error *err)
{
    (void)err;
    *ret_status = 200;
    struct send_test test;
    send_test_read(job->payload, &test);
    json_object_begin(answer);
    json_member_text(answer, "status", "completed");
    json_member_text(answer, "recipient", test.to);
    json_object_end(answer);
    return true;
}

const struct job_kind job_test_send = {
    .name = "test_send",
    .max_attempts = TEST_SEND_MAX_ATTEMPTS,
    .perform = perform,
    .settle = settle,
};
