/*
 * The rate gate: calls a key and policy over a rolling window (R-119 …). Counts
 * are kept in memory for one process; a refused call does not count.
 */
#pragma once

#include "api/call.h"

struct limits;

struct limits *limits_new(void) RETURNS_NONNULL;
void limits_free(struct limits *limits);

/* Counts a call of this caller. False when the window is full; `ret_rate` is filled either way.
 * A multiplier of 0 means no limit. */
bool limits_admit(struct limits *limits, const struct principal *who, const struct rate_policy *policy, int64_t now_us,
                  struct rate_state *ret_rate) NONNULL(1, 2, 3, 5);

/* What a caller is told whom no policy limits: R-123's full window. */
struct rate_state limits_unlimited(const struct rate_policy *policy, int64_t now_us);
