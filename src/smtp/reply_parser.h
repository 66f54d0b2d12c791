/*
 * SMTP reply parser: reads replies from the bytes that a relay sends
 * (RFC 5321 §4.2), in chunks of any size. The length of a line and the number of
 * lines are bounded. After a malformed reply the session must end.
 *
 * A parser belongs to one session and owns nothing outside itself.
 */
#pragma once

#include "base/compiler.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    SMTP_REPLY_LINE_MAX_BYTES = 2048, /* RFC 5321 §4.5.3.1.5 asks for 512 */
    SMTP_REPLY_MAX_LINES = 100,
    SMTP_ENHANCED_BYTES = 12,
    SMTP_REPLY_TEXT_BYTES = 240,
};

struct smtp_reply {
    int code;                           /* 200 to 599 */
    char enhanced[SMTP_ENHANCED_BYTES]; /* "5.1.1"; "" when there is none, or when its class differs from the code's */
    char text[SMTP_REPLY_TEXT_BYTES];   /* all lines without their codes, joined by spaces; printable ASCII, truncated */
};

struct smtp_reply_parser {
    char line[SMTP_REPLY_LINE_MAX_BYTES]; /* the start of an incomplete line */
    size_t size;
    unsigned lines; /* of the reply so far */
    size_t text_size;
    struct smtp_reply reply;
};

enum smtp_parse_state { SMTP_REPLY_INCOMPLETE, SMTP_REPLY_READY, SMTP_REPLY_MALFORMED };

void smtp_reply_parser_init(struct smtp_reply_parser *parser) NONNULL(1);

/* "what: 550 5.7.1 text", truncated to `text_bytes`. */
void smtp_reply_describe(const struct smtp_reply *reply, const char *what, char *ret_text, size_t text_bytes) NONNULL(1, 2, 3);

/* Parses *bytes and moves it past the parsed bytes: to the end, or past the last line of a reply. The reply is then in
 * parser->reply until the next call. */
enum smtp_parse_state smtp_reply_parse(struct smtp_reply_parser *parser, const char **bytes, size_t *size) NONNULL(1, 2, 3);
