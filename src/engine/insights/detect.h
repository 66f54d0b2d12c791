/*
 * Detectors: each compares figures of a brand by the test that
 * schemas/insights.json declares, and adds a finding for every test that it
 * makes, also for one without a result. Pure functions, for any thread.
 */
#pragma once

#include "engine/insights/insight_data.h"

enum { INSIGHT_LEVEL_PERCENT = 5, INSIGHT_LEAST_EFFECT_PERCENT = 20 };

/* Runs all detectors and judges their findings. */
void insights_detect(struct arena *arena, const struct insight_data *data, struct insight_findings *ret_findings) NONNULL(1, 2, 3);

/* Decides which findings are held: all tests together by the weighted procedure of Benjamini and Hochberg (Genovese, Roeder and
 * Wasserman, Biometrika 93, 2006) at 5 %, and a change of at least a fifth. A fact is held when it is worth it. */
void insights_judge(struct arena *arena, struct insight_findings *findings) NONNULL(1, 2);

/* ---- Parts, for detect.c ---- */

void detect_delivery(struct arena *arena, const struct insight_data *data, struct insight_findings *findings) NONNULL(1, 2, 3);
void detect_engagement(struct arena *arena, const struct insight_data *data, struct insight_findings *findings) NONNULL(1, 2, 3);
void detect_list(struct arena *arena, const struct insight_data *data, struct insight_findings *findings) NONNULL(1, 2, 3);
void detect_automations(struct arena *arena, const struct insight_data *data, struct insight_findings *findings) NONNULL(1, 2, 3);
