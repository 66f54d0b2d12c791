/*
 * SMTP reply class: maps a reply to its meaning for the message and for its
 * recipient (hard bounce, soft bounce, block), by basic and enhanced status code
 * (RFC 5321 §4.2, RFC 3463) and by the stage at which it came.
 */
#pragma once

#include "base/compiler.h"

#include <stdbool.h>

enum smtp_verdict {
    SMTP_VERDICT_ACCEPTED, /* 2xx to the message */
    SMTP_VERDICT_HARD,     /* hard bounce: the recipient does not exist; never mail them again */
    SMTP_VERDICT_BLOCK,    /* a bounce: the sender or the content is refused, not the recipient */
    SMTP_VERDICT_REFUSED,  /* a bounce: any other permanent refusal of this message */
    SMTP_VERDICT_SOFT,     /* soft bounce: a temporary failure; retry */
};

/* `about_recipient`: the reply came to RCPT TO or to the message itself. A 5xx to the session or to MAIL FROM is SOFT: it is the
 * sender's fault, and must not bounce every recipient. `enhanced` may be "". `text` decides when an old server gives the reason
 * only in words. */
enum smtp_verdict smtp_classify_reply(int code, const char *enhanced, const char *text, bool about_recipient) NONNULL(2, 3) PURE;

/* The reply says that the mailbox is full (X.2.2 of RFC 3463 §3.3), or in words that its quota is used up. */
bool smtp_says_mailbox_full(const char *enhanced, const char *text) NONNULL(1, 2) PURE;

/* The name used in data: accepted, hard, block, refused, soft. */
const char *smtp_verdict_name(enum smtp_verdict verdict) RETURNS_NONNULL;

/* Whether a refusal says that the mailbox is full, by its enhanced code or its words. */
bool smtp_reply_is_full(const char *enhanced, const char *text) NONNULL(1, 2) PURE;
