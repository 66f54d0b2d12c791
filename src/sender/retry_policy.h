/*
 * Decide: what the end of a hand-over means for a recipient, from what the
 * relay said, how often it was tried and what the operator wants.
 */
#pragma once

#include "engine/delivery/delivery.h"
#include "smtp/event_loop.h"

struct retry_policy {
    bool hold_uncertain;    /* --uncertain hold: what may have arrived is not sent again */
    int64_t first_retry_us; /* before the second attempt; the further pauses are multiples of it */
};

/* The result of an attempt; `before` is what was known (attempts, uncertain). Texts are copied to the arena. `jitter` is
 * between 0 and 1. SMTP_NOT_SENT counts as an attempt that a relay put off. */
struct delivery_result retry_policy_result(const struct retry_policy *policy, const struct delivery_batch *batch, size_t index,
                                           const struct smtp_outcome *outcome, int64_t now_us, double jitter, struct arena *arena)
    NONNULL(1, 2, 4, 7);

/* The pause before attempt number `attempts` + 1: 1, 5, 15, 30 minutes, 1, 2, 4 hours, then every 4, give or take a fifth. */
int64_t retry_policy_backoff_us(const struct retry_policy *policy, int64_t attempts, double jitter) NONNULL(1) PURE;
