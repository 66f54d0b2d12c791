/*
 * Branches by conditions, shared by filters and splits, and the replay of each
 * type. Private to engine/nodes.
 */
#pragma once

#include "engine/nodes/conditions.h"

/* The two branches of a node that conditions decide. */
struct condition_branches {
    const char *holds;
    const char *fails;
};

/* Decides by conditions; the facts are the result of each, null of those behind the one that decided. */
void step_by_conditions(struct arena *arena, const struct step_in *in, const struct condition_list *list,
                        struct condition_branches branches, struct step_out *ret_out) NONNULL(1, 2, 3, 5);

/* The branch that recorded results give; NULL when they do not fit the conditions. */
const char *replay_conditions(struct arena *arena, enum condition_logic logic, size_t count, struct condition_branches branches,
                              const json_t *facts) NONNULL(1, 5);

/* The branch that recorded facts of a node of the type give; NULL: none. */
const char *replay_filter(struct arena *arena, const struct graph_node *node, const json_t *facts) NONNULL(1, 2, 3);
const char *replay_split(struct arena *arena, const struct graph_node *node, const json_t *facts) NONNULL(1, 2, 3);
