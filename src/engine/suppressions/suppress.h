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

/* Suppresses an address of the brand of `work` in the open transaction. A complaint replaces any other reason, a lasting
 * suppression one that expires; otherwise the first reason stays. */
MUST_CHECK bool suppression_add(const struct work *work, const struct suppression *suppression, struct error *err) NONNULL(1, 2, 3);
