/*
 * Loads the figures by send and receiving domain, and those by source, from the
 * rollups of a brand. The rollups are read in pages and added up here, because
 * that costs less than half of adding up in the database. The memory depends on the
 * number of sends and named domains, not on the number of rollups.
 */
#pragma once

#include "engine/core/work.h"
#include "engine/insights/insight_data.h"

/* The index of a send. */
struct send_place {
    int64_t id;
    size_t place;
};

/* The sends by their id; as many as `data` has. */
struct send_place *send_places(struct arena *arena, const struct insight_data *data) NONNULL(1, 2) RETURNS_NONNULL;
const struct send_place *send_place_find(const struct send_place *places, const struct insight_data *data, int64_t send_id)
    NONNULL(1, 2);

/* Needs the sends. Fills their figures, the domains, the cells and the sources. */
MUST_CHECK bool insight_cells_load(const struct work *work, struct insight_data *data, struct error *err) NONNULL(1, 2, 3);
