/*
 * Retry policy: the result of a delivery attempt. It decides between delivered,
 * bounced, held and a retry after a backoff, from the relay's reply, the number
 * of attempts and the operator's settings. It has no state.
 */
#pragma once

#include "engine/delivery/delivery.h"
#include "smtp/event_loop.h"

struct retry_policy {
    bool hold_uncertain;    /* --uncertain hold: a message that may have arrived is not sent again */
    int64_t first_retry_us; /* the backoff before the second attempt; all others are multiples of it */
};

/* The result of an attempt to deliver to recipient `index` of the batch. The batch's result of this recipient has the attempts
 * before, and whether one of them is uncertain. SMTP_NOT_SENT counts as an attempt that the relay deferred. `jitter` is between 0
 * and 1. Texts are copied to the arena. */
struct delivery_result retry_policy_result(const struct retry_policy *policy, const struct delivery_batch *batch, size_t index,
                                           const struct smtp_outcome *outcome, int64_t now_us, double jitter, struct arena *arena)
    NONNULL(1, 2, 4, 7);

/* The backoff after attempt number `attempts`: 1, 5, 15, 30, 60, 120 times the first, then 240 times; with a jitter of a fifth up
 * or down. */
int64_t retry_policy_backoff_us(const struct retry_policy *policy, int64_t attempts, double jitter) NONNULL(1) PURE;
