/*
 * What a graph refers to: designs, domains, its trigger event or audience. All of
 * it is read by one statement, and belongs to the arena of the work.
 */
#pragma once

#include "engine/core/work.h"
#include "engine/nodes/graph.h"
#include "sql/graph_refs.h"

struct graph_refs {
    const struct graph_refs_row *rows; /* by kind and id */
    size_t count;
};

/* Reads what the nodes refer to, and locks the trigger events against changes until the transaction ends. One round trip. */
MUST_CHECK bool graph_refs_load(const struct work *work, const struct graph *graph, struct graph_refs *ret_refs, struct error *err)
    NONNULL(1, 2, 3, 4);

/* A row by its kind (version, domain, trigger, audience, fields) and id; NULL: it is not in the brand. The row of the fields has
 * the id 0. */
const struct graph_refs_row *graph_ref(const struct graph_refs *refs, const char *kind, int64_t id) NONNULL(1, 2) PURE;

/* The key that a member of a config names; 0: the member is absent, or is no id of this kind. */
int64_t node_config_id(const struct work *work, const struct graph_node *node, enum id_kind kind, const char *member)
    NONNULL(1, 2, 4);

/* The id of the trigger event as a trigger node or a wait for an event names it; NULL: none. */
const char *node_event_text(const struct graph_node *node) NONNULL(1);

/* The trigger event that a trigger node or a wait for an event names; 0: none, or no id of an event. */
int64_t node_event_id(const struct work *work, const struct graph_node *node) NONNULL(1, 2);

/* A text of a config; NULL: absent or empty. */
const char *node_config_text(const struct graph_node *node, const char *member) NONNULL(1, 2);
