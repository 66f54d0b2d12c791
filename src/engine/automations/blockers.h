/*
 * Blockers: what keeps a draft from being published, and warnings, which do not. A
 * draft may have any of them. All are found at once, and belong to the arena of the
 * work.
 */
#pragma once

#include "engine/automations/graph_refs.h"

struct blocker {
    const struct graph_node *node; /* NULL: of the whole graph */
    bool is_warning;
    const char *message;
};

struct blockers {
    struct arena *arena;
    struct blocker *items;
    size_t count;
    size_t capacity;
    size_t error_count;
};

/* Finds all blockers of a graph without issues. At most one round trip. */
MUST_CHECK bool blockers_find(const struct work *work, const struct graph *graph, const struct graph_refs *refs,
                              struct blockers *ret_blockers, struct error *err) NONNULL(1, 2, 3, 4, 5);

/* Fails when there is a blocker that is no warning. Errors: PUBLISH_VALIDATION_FAILED, with warnings too in details. */
MUST_CHECK bool blockers_refuse(const struct blockers *blockers, struct error *err) NONNULL(1, 2);

/* The resource "automationDryRun". */
void blockers_write_report(const struct blockers *blockers, const struct graph *graph, struct json_writer *json) NONNULL(1, 2, 3);

/* Adds one. */
void blocker_add(struct blockers *blockers, const struct graph_node *node, bool is_warning, const char *format, ...) NONNULL(1, 4)
    PRINTF_LIKE(4, 5);

/* ---- Only for blockers.c ---- */

/* Merge fields of the mail nodes, and fields of conditions, for which no value is known (value_blockers.c). */
MUST_CHECK bool blockers_find_values(const struct work *work, const struct graph *graph, const struct graph_refs *refs,
                                     struct blockers *blockers, struct error *err) NONNULL(1, 2, 3, 4, 5);
