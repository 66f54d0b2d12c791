/*
 * SMTP replies: what the answer of a mail server means for the message and for
 * its recipient, by basic and enhanced code (RFC 5321 §4.2, RFC 3463) and by
 * the stage at which it came.
 */
#pragma once

#include "base/compiler.h"

#include <stdbool.h>

enum smtp_verdict {
    SMTP_VERDICT_ACCEPTED, /* 2xx to the message */
    SMTP_VERDICT_HARD,     /* there is no such recipient: a bounce; never mail them again */
    SMTP_VERDICT_BLOCK,    /* the sender or the content is refused: a bounce; the recipient is not to blame */
    SMTP_VERDICT_REFUSED,  /* any other permanent refusal of this message: a bounce; the recipient is not to blame */
    SMTP_VERDICT_SOFT,     /* later, perhaps */
};

/* `about_recipient`: the reply came to RCPT TO or to the message itself, not to the session or to MAIL FROM, whose 5xx is SOFT
 * here: it would condemn every recipient for the sender's fault. `enhanced` may be "", `text` is looked at where old servers put
 * the reason into words only. */
enum smtp_verdict smtp_classify_reply(int code, const char *enhanced, const char *text, bool about_recipient) NONNULL(2, 3) PURE;

/* The name used in data: accepted, hard, block, refused, soft. */
const char *smtp_verdict_name(enum smtp_verdict verdict) RETURNS_NONNULL;
