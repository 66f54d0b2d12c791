/*
 * Blockers of values: placeholders and conditions that name members of the payload
 * which the contract of the trigger does not declare.
 */
#pragma once

#include "engine/automations/blocker_list.h"
#include "engine/automations/graph_refs.h"

/* Adds the merge fields of the mail nodes, and the fields of conditions, for which no value is known. At most one round trip. */
MUST_CHECK bool value_blockers_find(const struct work *work, const struct graph *graph, const struct graph_refs *refs,
                                    struct blockers *blockers, struct error *err) NONNULL(1, 2, 3, 4, 5);
