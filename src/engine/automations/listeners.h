/*
 * The bound of published automations that start with one trigger event: a fire
 * starts a run of each in one transaction. What is beyond the bound from before stays
 * published, and fires start its runs.
 */
#pragma once

#include "engine/automations/blocker_list.h"
#include "engine/automations/definition.h"

enum { LISTENERS_MAX = 5000 };

/* Adds a blocker when the trigger of a definition has no room for one more automation. Publications that start with one trigger
 * wait for each other from here to the end of their transactions, so no two of them take the last place. `automation_id` 0: a
 * new one. One round trip. */
MUST_CHECK bool listeners_check(const struct work *work, int64_t automation_id, const struct definition *definition,
                                struct blockers *blockers, struct error *err) NONNULL(1, 3, 4, 5);
