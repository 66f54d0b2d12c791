/*
 * Bounce text: finds codes and reasons of SMTP in the words of a bounce, for servers that send no machine-readable report. No input
 * or output. Any thread.
 */
#pragma once

#include "mail/mail_report.h"

struct bounce_text {
    const char *diagnostic; /* NULL: none was found */
    int code;               /* 0: none */
    char enhanced[MAIL_REPORT_ENHANCED_BYTES];
};

/* Finds the codes in one diagnostic. */
void bounce_text_codes(const char *diagnostic, int *ret_code, char ret_enhanced[MAIL_REPORT_ENHANCED_BYTES]) NONNULL(1, 2, 3);

/* Finds the first line of a text that gives the best reason: a line with a code of a failure, else one with known words. The
 * returned message behind the reason is not searched. */
void bounce_text_find(struct arena *arena, struct bytes text, struct bounce_text *ret_found) NONNULL(1, 3);

/* Whether a line of a text has both a code and words of a failure. */
bool bounce_text_is_certain(struct bytes text) PURE;

/* Whether these are words of a bounce: of the sender or of the subject of a message. */
bool bounce_text_is_subject(const char *subject) NONNULL(1) PURE;
bool bounce_text_is_sender(const char *from) NONNULL(1) PURE;

/* The size of the text in front of the returned message. */
size_t bounce_text_size(struct bytes text) PURE;
