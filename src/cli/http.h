/*
 * HTTP client of the command line: one request to a running server, with its
 * answer in memory. It shows the elapsed time on a terminal, retries lost
 * requests that may be repeated, and stops at an interrupt.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"

enum { HTTP_ANSWER_MAX_BYTES = 64 * 1024 * 1024, HTTP_HEADERS_MAX = 8 };

struct http_request {
    const char *server; /* the address of the server, for messages */
    const char *method;
    const char *url;
    const char *headers[HTTP_HEADERS_MAX]; /* "Name: value"; NULL ones are left out */
    const char *body;                      /* NULL: none */
    bool may_repeat;                       /* the request may be retried when the connection is lost */
    const char *doubt;                     /* note for the user when it was sent and no answer came; NULL: none */
};

struct http_answer {
    int status;
    int64_t retry_after_s; /* 0: not given */
    struct buf *body;
};

/* Joins the address of the server and a path with one slash. */
const char *http_url(struct arena *arena, const char *server, const char *path) NONNULL(1, 2, 3) RETURNS_NONNULL;

/* Sends one request. Errors: INVALID_REQUEST (a header of more than one line), SERVICE_UNAVAILABLE (no answer),
 * RESPONSE_TOO_LARGE. Redirects are not followed, so that a key is not sent to another server. */
MUST_CHECK bool http_send(struct arena *arena, const struct http_request *request, struct http_answer *ret_answer,
                          struct error *err) NONNULL(1, 2, 3, 4);
