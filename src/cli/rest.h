/*
 * A running server as the command line reaches it: its REST API (under /v1),
 * one request a call.
 */
#pragma once

#include "cli/arguments.h"

struct rest {
    const char *url;             /* of the server; /v1 is added */
    const char *key;             /* NULL: none */
    const char *brand;           /* X-Brand-Id, NULL: none */
    const char *idempotency_key; /* NULL: one is made for each call that honours it */
};

struct rest_answer {
    int status;
    const char *body;      /* JSON text */
    int64_t retry_after_s; /* 0: none said */
};

/* Makes one request; one that may safely be made again is, when the connection is lost.
 * Errors: SERVICE_UNAVAILABLE (no answer, or none of a Posthorn server). */
MUST_CHECK bool rest_call(const struct rest *rest, struct arena *arena, const struct arguments *arguments,
                          struct rest_answer *ret_answer, struct error *err) NONNULL(1, 2, 3, 4, 5);
