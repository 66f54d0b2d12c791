/*
 * One HTTP/1.1 reply in a receive buffer, as far as the load driver needs it:
 * a length from Content-Length or chunks (RFC 9112 §6.3, §7.1), nothing else.
 *
 * Parsing starts anew each time more bytes have come; replies mostly come in
 * one piece. The reply points into the buffer, or for chunks into a buffer of
 * the parser's own that the next call overwrites. One thread only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct http_reply {
    int status;
    const char *body;
    size_t body_size;
    const char *session; /* value of Mcp-Session-Id */
    size_t session_size; /* 0: no such header */
};

/* True when `bytes` is exactly one whole reply. False: more is to come, or `ret_problem` says what is wrong with it. */
bool http_reply_parse(const char *bytes, size_t size, struct http_reply *ret_reply, const char **ret_problem);
