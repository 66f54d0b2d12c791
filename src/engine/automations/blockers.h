/*
 * Blockers: what keeps a draft from being published, and warnings, which do not. A
 * draft may have any of them. All are found at once, and belong to the arena of the
 * work.
 */
#pragma once

#include "engine/automations/blocker_list.h"
#include "engine/automations/graph_refs.h"

/* Finds all blockers of a graph without issues. At most one round trip. */
MUST_CHECK bool blockers_find(const struct work *work, const struct graph *graph, const struct graph_refs *refs,
                              struct blockers *ret_blockers, struct error *err) NONNULL(1, 2, 3, 4, 5);
