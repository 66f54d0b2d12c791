/*
 * SMTP answers: makes replies of the bytes that a relay sends (RFC 5321 §4.2),
 * however they are cut. Bounded in the length of a line and in lines; what is
 * not a reply is malformed, and nothing behind it can be trusted.
 *
 * A reader belongs to one session and owns nothing outside itself.
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
    char enhanced[SMTP_ENHANCED_BYTES]; /* "5.1.1"; "" when there is none, or one of another class than the code's */
    char text[SMTP_REPLY_TEXT_BYTES];   /* of all lines without their codes, a space between; printable ASCII, cut */
};

struct smtp_reply_parser {
    char line[SMTP_REPLY_LINE_MAX_BYTES]; /* the start of a line whose end has not come */
    size_t size;
    unsigned lines; /* of the answer so far */
    size_t text_size;
    struct smtp_reply answer;
};

enum smtp_parse_state { SMTP_REPLY_INCOMPLETE, SMTP_REPLY_READY, SMTP_REPLY_MALFORMED };

void smtp_reply_parser_init(struct smtp_reply_parser *reader) NONNULL(1);

/* "what: 550 5.7.1 text", cut to its bound. */
void smtp_reply_describe(const struct smtp_reply *answer, const char *what, char *ret_text, size_t text_bytes) NONNULL(1, 2, 3);

/* Reads on in *bytes, moving it behind what was read: to the end, or behind the last line of an answer, which is then in
 * reader->answer until the next call. */
enum smtp_parse_state smtp_reply_parse(struct smtp_reply_parser *reader, const char **bytes, size_t *size) NONNULL(1, 2, 3);
