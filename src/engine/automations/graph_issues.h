/*
 * Issues of a graph: the faults for which a graph is refused, also as a draft. All
 * of them are reported at once.
 */
#pragma once

#include "engine/automations/graph_refs.h"

/* Fails when the graph has issues. Errors: INVALID_REQUEST (nodes) without exactly one trigger node, or with a subject that is no
 * template; TRIGGER_EVENT_NOT_FOUND, AUDIENCE_NOT_FOUND; AUTOMATION_GRAPH_INVALID with all issues in details. */
MUST_CHECK bool graph_issues_check(const struct work *work, const struct graph *graph, const struct graph_refs *refs,
                                   struct error *err) NONNULL(1, 2, 3, 4);

/* The check for exactly one trigger node, which needs no references. */
MUST_CHECK bool graph_trigger_check(const struct graph *graph, struct error *err) NONNULL(1, 2);
