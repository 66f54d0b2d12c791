/*
 * The list of blockers and warnings of a graph, as it is found and shown. It belongs
 * to an arena; one thread.
 */
#pragma once

#include "base/json_write.h"
#include "engine/nodes/graph.h"

struct blocker {
    const struct graph_node *node; /* NULL: of the whole graph */
    const char *branch;            /* of the node; NULL: none */
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

/* Fails when there is a blocker that is no warning. Errors: PUBLISH_VALIDATION_FAILED, with warnings too in details. */
MUST_CHECK bool blockers_refuse(const struct blockers *blockers, struct error *err) NONNULL(1, 2);

/* Writes the member warnings; nothing when there are none. */
void blockers_write_warnings(const struct blockers *blockers, struct json_writer *json) NONNULL(1, 2);

/* The resource "automationDryRun". */
void blockers_write_report(const struct blockers *blockers, const struct graph *graph, struct json_writer *json) NONNULL(1, 2, 3);

/* Adds one. */
void blocker_add(struct blockers *blockers, const struct graph_node *node, bool is_warning, const char *format, ...) NONNULL(1, 4)
    PRINTF_LIKE(4, 5);
