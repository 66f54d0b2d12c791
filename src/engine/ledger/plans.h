/*
 * Plans: what an organization may use in a calendar month (UTC). The table is
 * generated from schemas/policies.json.
 */
#pragma once

#include "base/arena.h"
#include "base/compiler.h"
#include "base/values.h"
#include "catalogue/plans.h"

/* The plan of this key; an unknown key is the most restricted plan. */
const struct plan *plan_find(const char *key) NONNULL(1) RETURNS_NONNULL;

/* The keys of all plans, to be told to a person. */
const char *plan_keys(struct arena *arena) NONNULL(1) RETURNS_NONNULL;

/* Plan credits left plus bonus credits, never negative; unset when unlimited. */
struct opt_int plan_credits_remaining(const char *plan_key, int64_t bonus_credits, int64_t used) NONNULL(1);
