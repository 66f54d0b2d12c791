/*
 * REST client of the command line: operations of a running server under /v1,
 * one request per call.
 */
#pragma once

#include "cli/arguments.h"

struct rest {
    const char *url;             /* the server's address; /v1 is appended */
    const char *key;             /* NULL: none */
    const char *brand;           /* X-Brand-Id, NULL: none */
    const char *idempotency_key; /* NULL: one is created for each call that honours it */
};

struct rest_answer {
    int status;
    const char *body;      /* JSON text */
    int64_t retry_after_s; /* 0: not given */
};

/* Sends one request, and retries it when the connection is lost and a repetition is safe. Errors: SERVICE_UNAVAILABLE (no answer,
 * or not from a Posthorn server). */
MUST_CHECK bool rest_call(const struct rest *rest, struct arena *arena, const struct arguments *arguments,
                          struct rest_answer *ret_answer, struct error *err) NONNULL(1, 2, 3, 4, 5);
