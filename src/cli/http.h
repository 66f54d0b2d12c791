/*
 * HTTP as the clients of a running server speak it: one request, its answer in
 * memory, the time that passes shown on a terminal, an interrupt heeded.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"

enum { HTTP_ANSWER_MAX_BYTES = 64 * 1024 * 1024, HTTP_HEADERS_MAX = 8 };

struct http_request {
    const char *server; /* its address, for messages */
    const char *method;
    const char *url;
    const char *headers[HTTP_HEADERS_MAX]; /* "Name: value"; NULL ones are left out */
    const char *body;                      /* NULL: none */
    bool may_repeat;                       /* it may be made again when the connection is lost */
    const char *doubt;                     /* what to say when it was sent and no answer came; NULL: nothing */
};

struct http_answer {
    int status;
    int64_t retry_after_s; /* 0: none said */
    struct buf *body;
};

/* The address of the server and a path, with one slash between them. */
const char *http_url(struct arena *arena, const char *server, const char *path) NONNULL(1, 2, 3) RETURNS_NONNULL;

/* Errors: INVALID_REQUEST (a header of more than one line), SERVICE_UNAVAILABLE (no answer), RESPONSE_TOO_LARGE. Redirects are not
 * followed, so that a key goes nowhere else. */
MUST_CHECK bool http_ask(struct arena *arena, const struct http_request *request, struct http_answer *ret_answer, struct error *err)
    NONNULL(1, 2, 3, 4);
