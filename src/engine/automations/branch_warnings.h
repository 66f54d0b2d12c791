/*
 * Branch warnings: the branches of a graph that no contact of a sample takes.
 */
#pragma once

#include "engine/automations/blocker_list.h"
#include "engine/automations/definition.h"

/* Adds a warning for each such branch. Does nothing for a graph with blockers. `automation_id` decides splits; 0: it does not exist
 * yet. At most 8 round trips. */
MUST_CHECK bool branch_warnings_find(const struct work *work, int64_t automation_id, const struct definition *definition,
                                     struct blockers *blockers, struct error *err) NONNULL(1, 3, 4, 5);
