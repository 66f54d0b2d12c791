/*
 * Paths through a graph: the branches of a node, the nodes that can be reached, and
 * the loops that a run could go round without a wait. A graph has at most
 * GRAPH_NODES_MAX nodes, so each function costs a bounded time.
 */
#pragma once

#include "engine/nodes/graph.h"

enum { BRANCHES_MAX = 3, LOOP_WAIT_MIN_S = 60 };

/* The names of the ways out of a node; none: it has one way out, without a name. */
struct branch_list {
    const char *names[BRANCHES_MAX];
    size_t count;
};
struct branch_list node_branches(const struct graph_node *node) NONNULL(1);
bool branch_list_has(const struct branch_list *branches, const char *name) NONNULL(1, 2) PURE;

/* Which nodes a run can reach from `from`, the node itself included: a bool for each node. */
bool *graph_reach(struct arena *arena, const struct graph *graph, size_t from) NONNULL(1, 2) RETURNS_NONNULL;

/* For each node the number of its loop, from 1 on: a run can come back to the node without having waited for LOOP_WAIT_MIN_S.
 * 0: the node is in no such loop. `ret_count` is the number of loops. */
size_t *graph_quick_loops(struct arena *arena, const struct graph *graph, size_t *ret_count) NONNULL(1, 2, 3) RETURNS_NONNULL;

/* Seconds of {duration, unit}; 0 when it is absent. */
int64_t duration_seconds(const json_t *duration);
