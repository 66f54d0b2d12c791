/*
 * Subscriptions: unsubscribing by the link of a message, or by a link that was asked for (link.h).
 *
 * Unsubscribing suppresses the hash of the address. The suppression survives the
 * contact, so it also applies after the contact was deleted or imported again.
 * Only a later consent removes it (engine/contacts). Unsubscribing is idempotent.
 */
#pragma once

#include "engine/subscriptions/link.h"

struct subscription {
    int64_t organization_id;
    const char *brand_name;
    bool has_left; /* has unsubscribed by a link */
};

/* Finds the brand of a link. Errors: NOT_FOUND when the brand no longer exists. */
MUST_CHECK bool subscription_find(const struct work *work, const struct unsubscribe_link *link,
                                  struct subscription *ret_subscription, struct error *err) NONNULL(1, 2, 3, 4);

/* How a person unsubscribed, as the suppression and the event say it. */
struct leave_reason {
    const char *source;   /* link or report (engine/suppressions/suppress.h) */
    const char *evidence; /* NULL: none */
    const char *summary;  /* of the event; NULL: none */
    int64_t at_us;
};

/* Unsubscribes the contact, suppresses the address and records the event of a send once, in the open transaction. The
 * link of a test message does nothing. `ret_new`: whether an event was recorded. */
MUST_CHECK bool subscription_leave_for(const struct work *work, const struct unsubscribe_link *link,
                                       const struct leave_reason *reason, bool *ret_new, struct error *err) NONNULL(1, 2, 3, 4, 5);

/* The same for a person who follows the link. */
MUST_CHECK bool subscription_leave(const struct work *work, const struct unsubscribe_link *link, struct error *err)
    NONNULL(1, 2, 3);
