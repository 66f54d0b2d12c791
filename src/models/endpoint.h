/*
 * Endpoint: posts JSON to an address that the operator has named, such as the
 * API of a model provider, and reads the JSON of its answer.
 *
 * - The address may be on this machine or in a private network: the operator
 *   has chosen it. Redirects are not followed, so that no key reaches another
 *   host. There is no proxy, and no cookie is kept; TLS is verified.
 * - An answer that asks for patience (408, 429, 500, 502, 503, 504, 529) and a
 *   connection that cannot be made are tried again, after Retry-After or a
 *   backoff, until the deadline. A connection that breaks after the request was
 *   sent is tried again too: nothing here changes data of the other side.
 * - One deadline holds for all attempts together. A slow answer is cut there.
 * - The answer is bounded while it streams. A compressed one is refused.
 *
 * A call blocks its caller on one thread and leaves no state. Neither the body
 * nor the headers are logged, and no error repeats them.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    ENDPOINT_URL_MAX_BYTES = 512,
    ENDPOINT_ANSWER_MAX_BYTES = 4 * 1024 * 1024,
    ENDPOINT_ATTEMPTS_MAX = 6,
};

struct endpoint_request {
    const char *url;
    const char *const *headers; /* "Name: value", NULL-terminated; content-type and accept are added */
    const char *body;           /* JSON text */
    int64_t until_us;           /* clock_monotonic_us at which the call ends, with all its attempts */
    size_t max_bytes;           /* of the answer; ENDPOINT_ANSWER_MAX_BYTES when 0 */

    /* Called about five times a second. True ends the call. May be NULL. */
    bool (*should_stop)(void *context);
    void *context;
};

struct endpoint_answer {
    int status;         /* 200 to 599 */
    const json_t *json; /* an object; NULL: the body is not a JSON object */
    size_t size;        /* of the body, bytes */
    int attempts;
};

/* Posts the body. Any status that is not tried again is an answer, also 400. The answer belongs to the arena.
 * Errors: SERVICE_UNAVAILABLE with the reason: no connection, too slow, too large, cut short, a redirect, attempts used up. */
MUST_CHECK bool endpoint_post(struct arena *arena, const struct endpoint_request *request, struct endpoint_answer *ret_answer,
                              struct error *err) NONNULL(1, 2, 3, 4);
