/*
 * Subscriptions: leaving by the link of a message (link.h).
 *
 * Whoever leaves is suppressed by the hash of the address, which outlives
 * the contact, so it works although the contact was deleted or is imported
 * again; only a consent given later lifts it (engine/contacts). Leaving twice
 * is leaving once.
 */
#pragma once

#include "engine/subscriptions/link.h"

struct subscription {
    int64_t organization_id;
    const char *brand_name;
    bool has_left; /* by a link */
};

/* Whose mail the link belongs to. Errors: NOT_FOUND when the brand is gone. */
MUST_CHECK bool subscription_find(const struct work *work, const struct unsubscribe_link *link,
                                  struct subscription *ret_subscription, struct error *err) NONNULL(1, 2, 3, 4);

/* In the open transaction: the contact is unsubscribed, the address suppressed, the event told once. A test message's link
 * does nothing. */
MUST_CHECK bool subscription_leave(const struct work *work, const struct unsubscribe_link *link, struct error *err)
    NONNULL(1, 2, 3);
