/*
 * Suppressing addresses: a suppressed address gets no mail of the brand. A
 * suppression is stored under a keyed hash of the address, so it survives the
 * contact.
 */
#pragma once

#include "engine/core/work.h"

struct suppression {
    const unsigned char *address_hash; /* SECRET_HASH_BYTES */
    const char *reason;                /* bounce, complaint, unsubscribe, unsubscribed, operator */
    const char *source;                /* result, link, api, import, operator, report */
    const char *evidence;              /* the reply or report that caused it; NULL: none */
    struct opt_int expires_us;         /* unset: it stays */
};

enum { MAILBOX_FULL_DAYS = 14 };

/* The end of the suppression of an address whose mailbox was full at a time. */
struct opt_int suppression_mailbox_full_end(int64_t at_us);

/* Suppresses an address of the brand of `work` in the open transaction. A complaint replaces any other reason, a lasting
 * suppression one that expires, and the person's own unsubscribe that of a program. Otherwise the first reason stays, and an
 * unsubscribe is kept behind it. Many addresses are suppressed with the statement suppressions_add of suppress.sql. */
MUST_CHECK bool suppression_add(const struct work *work, const struct suppression *suppression, struct error *err) NONNULL(1, 2, 3);
