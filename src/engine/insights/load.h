/*
 * Loads the figures that the detectors compare. Outside of a transaction. The rollups are
 * read by load_cells.h.
 */
#pragma once

#include "engine/core/work.h"
#include "engine/insights/insight_data.h"

MUST_CHECK bool insight_data_load(const struct work *work, struct insight_data *ret_data, struct error *err) NONNULL(1, 2, 3);
