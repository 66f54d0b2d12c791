/*
 * Private to the triggers module: the rule of re-entry of a trigger node. It says
 * whether a fire starts another run for an address that had one (D-110). The
 * caller holds the lock of the contact, so two fires of one address are judged
 * one after the other.
 */
#pragma once

#include "catalogue/nodes.h"
#include "engine/core/work.h"

/* Whether the rule looks at earlier runs; NULL is no rule. */
bool reentry_looks_back(const struct trigger_reentry *rule) PURE;

/* Why a fire may not start a run after the last one, which began at `last_us`; NULL: it may. */
const char *reentry_refusal(struct arena *arena, const struct trigger_reentry *rule, int64_t last_us, int64_t now_us) NONNULL(1, 2);
