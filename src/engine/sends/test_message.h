/*
 * Test messages: one message to one address, composed like a campaign's message
 * for it. The call checks the request and makes the payload of the job
 * test_send. The job composes and delivers the message.
 */
#pragma once

#include "catalogue/jobs.h"
#include "engine/compose/composer.h"
#include "engine/compose/message_id.h"
#include "engine/sends/sends.h"

/* Checks a request for exactly one address that is not suppressed, counts it against the brand's daily bound, and makes the payload
 * of its job. Errors: INVALID_REQUEST, EMAIL_NOT_FOUND, EMAIL_NOT_READY, DOMAIN_NOT_FOUND, DOMAIN_NOT_READY,
 * NO_ELIGIBLE_RECIPIENTS, SEND_QUOTA_EXCEEDED. */
MUST_CHECK bool send_check_test(const struct work *work, const struct send_request *request, struct test_send_payload *ret_test,
                                struct error *err) NONNULL(1, 2, 3, 4);

/* Composes the message; `job_id` makes its Message-ID. Its unsubscribe link belongs to no send and unsubscribes nobody. `ret_empty`
 * has the placeholders without a value. Errors: INVALID_REQUEST, EMAIL_NOT_FOUND. */
MUST_CHECK bool send_test_compose(const struct work *work, const struct test_send_payload *test, int64_t job_id,
                                  struct bytes *ret_message, struct empty_values *ret_empty, struct error *err)
    NONNULL(1, 2, 4, 5, 6);

/* Composes a message that belongs to no send, as send_test_compose does. `origin` makes its Message-ID. `receives_reports` as in
 * struct composer_design. `ret_empty` may be NULL. Errors: INVALID_REQUEST, EMAIL_NOT_FOUND. */
MUST_CHECK bool send_single_compose(const struct work *work, const struct test_send_payload *test,
                                    const struct message_origin *origin, bool receives_reports, struct bytes *ret_message,
                                    struct empty_values *ret_empty, struct error *err) NONNULL(1, 2, 3, 5, 7);

/* Writes the result of a test message. */
void send_test_write(const struct test_send_payload *test, const struct empty_values *empty, struct json_writer *json)
    NONNULL(1, 2, 3);
