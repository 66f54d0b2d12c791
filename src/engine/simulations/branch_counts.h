/*
 * Branch counts: how many simulated runs left each node by each of its branches.
 * Private to engine/simulations, except struct branch_count.
 */
#pragma once

#include "engine/nodes/simulate.h"

/* How many contacts left a node by a branch. A contact that comes again counts again. */
struct branch_count {
    const struct graph_node *node;
    const char *branch; /* NULL: the only way out, or the end */
    int64_t count;
    bool may_differ; /* a simulation does not know it: people, an event or the payload of a fire decides it */
    bool is_reached; /* a contact left the node by any of its branches */
};

struct branch_counts {
    struct branch_count *items; /* by node, in the order of the graph */
    size_t count;
};

/* The branches of a graph, without counts. The result belongs to the arena. */
void branch_counts_init(struct arena *arena, const struct graph *graph, struct branch_counts *ret_counts) NONNULL(1, 2, 3);

/* Adds the visits of one run. */
void branch_counts_add(struct branch_counts *counts, const struct simulation *simulation) NONNULL(1, 2);

/* Whether no contact took the branch, although contacts came to its node and their own data chooses the branch. */
bool branch_is_unused(const struct branch_count *branch) NONNULL(1) PURE;
