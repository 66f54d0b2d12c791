/*
 * The texts of a finding: the declared ones with their values, and the JSON of
 * its action and its detail. Memory belongs to the arena of the work.
 */
#pragma once

#include "engine/core/work.h"
#include "engine/insights/insight_data.h"

/* A declared text with the subject and the figures of a finding in the place of {subject}, {value}, {baseline} and {sample}. */
char *insight_text(struct arena *arena, const struct insight_finding *finding, const char *text) NONNULL(1, 2, 3) RETURNS_NONNULL;

/* The object `action`. */
const char *insight_action_json(const struct work *work, const struct insight_finding *finding) NONNULL(1, 2) RETURNS_NONNULL;

/* The members of the detail: rationale, metrics, evidence, subject, method. */
const char *insight_detail_json(const struct work *work, const struct insight_finding *finding) NONNULL(1, 2) RETURNS_NONNULL;

/* 0 to 100: half for the certainty of the test, half for the size of the change. */
double insight_score(const struct insight_finding *finding) NONNULL(1);

/* The declared severity, or critical. */
const char *insight_severity(const struct insight_finding *finding) NONNULL(1) RETURNS_NONNULL;
