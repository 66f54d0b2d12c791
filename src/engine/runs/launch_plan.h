/*
 * Launch plan: the facts about the graph of a version that a launch needs.
 * Private to the runs module.
 */
#pragma once

#include "engine/core/work.h"

struct launch_plan {
    const char *trigger_node;   /* NULL: none */
    int64_t message_nodes;      /* nodes that send */
    int64_t certain_messages;   /* of these, those that each run passes: the ones before the first branch */
    struct int_list domain_ids; /* the domains that the message nodes name; 0: the default domain of the brand */
};

/* Reads the plan from the JSON of a version. Errors: those of json_read and graph_read, when it is damaged. */
MUST_CHECK bool launch_plan_read(const struct work *work, const char *nodes, const char *connections, struct launch_plan *ret_plan,
                                 struct error *err) NONNULL(1, 2, 3, 4, 5);
