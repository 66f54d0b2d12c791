/*
 * Rate limit (throttle): counts the calls of a credential and policy in a
 * rolling (sliding) window (R-119 …). A limit store does the counting. When the
 * store does not answer, no call is refused.
 */
#pragma once

#include "api/limits/limit_store.h"

struct limits;

/* Takes ownership of the store; NULL: memory. `installation` is borrowed, and first read when a call is counted. */
struct limits *limits_new(struct limit_store *store, const char *installation) NONNULL(2) RETURNS_NONNULL;
void limits_free(struct limits *limits);

/* Counts a call of this caller. False when the window is full. `ret_rate` is filled either way. A multiplier of 0 means no limit.
 */
bool limits_admit(struct limits *limits, const struct principal *who, const struct rate_policy *policy, int64_t now_us,
                  struct rate_state *ret_rate) NONNULL(1, 2, 3, 5);

/* True when limits_admit would admit a call now. Counts nothing. */
bool limits_have_room(struct limits *limits, const struct principal *who, const struct rate_policy *policy, int64_t now_us,
                      struct rate_state *ret_rate) NONNULL(1, 2, 3, 5);

/* The rate state of a caller without a limit: all calls of the window remain. */
struct rate_state limits_unlimited(const struct rate_policy *policy, int64_t now_us);

/* True when counting a call may wait for the network. An I/O thread must not count then. */
bool limits_may_wait(const struct limits *limits) NONNULL(1);

/* True when the store answered the last request. */
bool limits_are_counted(const struct limits *limits) NONNULL(1);
