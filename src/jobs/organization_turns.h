/*
 * Organization turns: bounds the slow work that one organization does on several
 * connections at once, such as the chunks of its imports. Alone it has no bound.
 * While another organization has calls or a campaign that is being delivered, its
 * work takes turns: one piece at a time in this process, so that it leaves a
 * processor to the others (ADR 15).
 *
 * Thread-safe. Private to src/jobs.
 */
#pragma once

#include "engine/core/work.h"

struct organization_turns;

struct organization_turns *organization_turns_new(void) RETURNS_NONNULL;
/* Frees turns that nobody has or waits for. */
void organization_turns_free(struct organization_turns *turns);

/* Waits for a turn of the organization of `work`, whose connection is asked who else is active. organization_turns_end ends it.
 * Errors: of the database; then there is no turn. */
MUST_CHECK bool organization_turns_begin(struct organization_turns *turns, const struct work *work, struct error *err)
    NONNULL(1, 2, 3);
void organization_turns_end(struct organization_turns *turns, int64_t organization_id) NONNULL(1);
