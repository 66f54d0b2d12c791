/*
 * Paths through a graph: the nodes that can be reached, and the loops that a run
 * could go round without a wait. A graph has at most GRAPH_NODES_MAX nodes, so each
 * function costs a bounded time.
 */
#pragma once

#include "engine/nodes/graph.h"

enum { LOOP_WAIT_MIN_S = 60 };

/* Which nodes a run can reach from `from`, the node itself included: a bool for each node. */
bool *graph_reach(struct arena *arena, const struct graph *graph, size_t from) NONNULL(1, 2) RETURNS_NONNULL;

/* For each node the number of its loop, from 1 on: a run can come back to the node without having waited for LOOP_WAIT_MIN_S.
 * 0: the node is in no such loop. `ret_count` is the number of loops. */
size_t *graph_quick_loops(struct arena *arena, const struct graph *graph, size_t *ret_count) NONNULL(1, 2, 3) RETURNS_NONNULL;
