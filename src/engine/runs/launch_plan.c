#include "engine/runs/launch_plan.h"

#include "base/json_read.h"
#include "engine/nodes/graph.h"

#include <string.h>

enum { STORED_GRAPH_MAX_BYTES = 16 * 1024 * 1024 };

/* Counts the messages before the first branch. A run may end by the exit conditions of the trigger before any other node. A loop
 * without a branch is walked once. */
static int64_t count_certain(const struct graph *graph)
{
    const struct graph_node *node = &graph->nodes[graph->trigger];
    const struct trigger_config *trigger = node->config;
    int64_t count = 0;
    if (trigger->exit != NULL)
        return 0;
    for (size_t steps = 0; steps < graph->node_count && node != NULL; steps++) {
        count += node->type == NODE_SEND_EMAIL;
        node = node->branches.count == 0 ? graph_next(graph, node, NULL) : NULL;
    }
    return count;
}

static struct launch_plan plan_of(const struct work *work, const struct graph *graph)
{
    int64_t *domain_ids = arena_array(work->arena, graph->node_count, sizeof(*domain_ids));
    struct launch_plan plan = { .domain_ids = { domain_ids, 0 } };
    for (size_t i = 0; i < graph->node_count; i++) {
        const struct send_email_config *config = graph->nodes[i].config;
        if (graph->nodes[i].type == NODE_SEND_EMAIL)
            domain_ids[plan.domain_ids.count++] = config->domain_id;
    }
    plan.message_nodes = (int64_t)plan.domain_ids.count;
    if (graph->trigger != GRAPH_NONE) {
        plan.trigger_node = graph->nodes[graph->trigger].id;
        plan.certain_messages = count_certain(graph);
    }
    return plan;
}

static bool read_stored(const struct work *work, const char *text, const json_t **ret_json, struct error *err)
{
    struct json_bounds bounds = { .max_bytes = STORED_GRAPH_MAX_BYTES };
    return json_read(work->arena, text, strlen(text), bounds, ret_json, err);
}

bool launch_plan_read(const struct work *work, const char *nodes_text, const char *connections_text, struct launch_plan *ret_plan,
                      struct error *err)
{
    const json_t *nodes;
    const json_t *connections;
    struct graph *graph;
    if (!read_stored(work, nodes_text, &nodes, err) || !read_stored(work, connections_text, &connections, err) ||
        !graph_read(work->arena, &work->engine->ids, nodes, connections, &graph, err))
        return false;
    *ret_plan = plan_of(work, graph);
    return true;
}
