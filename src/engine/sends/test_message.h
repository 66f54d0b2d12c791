/*
 * Test messages: one message to one address, composed like a campaign's message
 * for it. The call checks the request and writes it as a job's payload; the job
 * composes the message.
 */
#pragma once

#include "engine/sends/sends.h"

#include <jansson.h>

enum { SEND_TEST_MAX_BYTES = 32 * 1024 };

/* A checked test message: the data that the job needs. */
struct send_test {
    int64_t email_version_id;
    const char *to;
    const char *to_key;
    const char *subject;
    const char *preview_text; /* NULL: the design's own */
    const char *from_address;
    const char *sender_name; /* NULL: none */
    const char *reply_to;    /* NULL: none */
    const char *domain;
    int64_t domain_id;
    int64_t domain_brand_id; /* another brand of the organization may own it */
    bool is_sandbox;
    bool is_marketing; /* composed as marketing mail */
};

/* Checks a request for exactly one address.
 * Errors: INVALID_REQUEST, EMAIL_NOT_FOUND, EMAIL_NOT_READY, DOMAIN_NOT_FOUND, DOMAIN_NOT_READY, SERVICE_UNAVAILABLE. */
MUST_CHECK bool send_check_test(const struct work *work, const struct send_request *request, struct send_test *ret_test,
                                struct error *err) NONNULL(1, 2, 3, 4);

/* A checked test as the payload of a job, and back; the texts read belong to the payload. */
char *send_test_write(const struct work *work, const struct send_test *test) NONNULL(1, 2) RETURNS_NONNULL;
void send_test_read(const json_t *payload, struct send_test *ret_test) NONNULL(1, 2);

/* Composes the message; `job_id` makes its Message-ID. Errors: INVALID_REQUEST, EMAIL_NOT_FOUND. */
MUST_CHECK bool send_test_compose(const struct work *work, const struct send_test *test, int64_t job_id, struct bytes *ret_message,
                                  struct error *err) NONNULL(1, 2, 4, 5);
