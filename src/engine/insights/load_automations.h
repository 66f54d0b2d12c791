/* Loads the figures of automations: their runs, steps and splits, and the events of triggers. */
#pragma once

#include "engine/core/work.h"
#include "engine/insights/insight_data.h"

MUST_CHECK bool insight_automations_load(const struct work *work, struct insight_data *data, struct error *err) NONNULL(1, 2, 3);
