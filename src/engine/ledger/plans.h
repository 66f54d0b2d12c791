/*
 * Plans: the monthly limits of an organization (credits and sends per calendar
 * month, UTC). The table is generated from schemas/policies.json.
 */
#pragma once

#include "base/arena.h"
#include "base/compiler.h"
#include "base/values.h"
#include "catalogue/plans.h"

/* The plan with this key; for an unknown key, the plan with the lowest limit. */
const struct plan *plan_find(const char *key) NONNULL(1) RETURNS_NONNULL;

/* The keys of all plans, for a message. */
const char *plan_keys(struct arena *arena) NONNULL(1) RETURNS_NONNULL;

/* The keys of the plans without a limit of credits. */
struct text_list plans_unlimited(struct arena *arena) NONNULL(1);

/* The remaining plan credits plus bonus credits, never negative; unset when unlimited. */
struct opt_int plan_credits_remaining(const char *plan_key, int64_t bonus_credits, int64_t used) NONNULL(1);
