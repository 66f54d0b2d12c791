#include "engine/automations/definition.h"

#include "base/json_read.h"
#include "engine/automations/graph_issues.h"

#include <stdlib.h>
#include <string.h>

static int compare_ids(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left;
    int64_t b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* The designs that the nodes send, each once. */
static struct int_list design_ids(const struct work *work, const struct graph *graph)
{
    int64_t *ids = arena_array(work->arena, graph->node_count, sizeof(*ids));
    size_t count = 0;
    size_t kept = 0;
    for (size_t i = 0; i < graph->node_count; i++)
        if (graph->nodes[i].type == NODE_SEND_EMAIL)
            ids[count++] = node_config_id(work, &graph->nodes[i], ID_EMAIL, "emailId");
    qsort(ids, count, sizeof(*ids), compare_ids);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || ids[kept - 1] != ids[i])
            ids[kept++] = ids[i];
    return (struct int_list){ .items = ids, .count = kept };
}

/* A version refers to the trigger event and the audience only if the brand has them. */
static void take_references(const struct work *work, struct definition *definition)
{
    const struct graph_node *trigger = &definition->graph->nodes[definition->graph->trigger];
    int64_t trigger_id = node_event_id(work, trigger);
    int64_t audience_id = node_config_id(work, trigger, ID_AUDIENCE, "audienceId");
    bool has_trigger = graph_ref(&definition->refs, "trigger", trigger_id) != NULL;
    bool has_audience = graph_ref(&definition->refs, "audience", audience_id) != NULL;
    definition->trigger_id = (struct opt_int){ .set = has_trigger, .value = trigger_id };
    definition->audience_id = (struct opt_int){ .set = has_audience, .value = audience_id };
    definition->email_ids = design_ids(work, definition->graph);
}

bool definition_read(const struct work *work, const json_t *nodes, const json_t *connections, struct definition *ret_definition,
                     struct error *err)
{
    struct graph *graph;
    if (!graph_read(work->arena, &work->engine->ids, nodes, connections, &graph, err) || !graph_trigger_check(graph, err))
        return false;
    ret_definition->graph = graph;
    const char *canonical = graph_canonical(work->arena, graph);
    sha256(canonical, strlen(canonical), ret_definition->hash);
    ret_definition->nodes = json_compact(work->arena, graph_nodes_json(work->arena, graph));
    ret_definition->connections = json_compact(work->arena, connections);
    if (!graph_refs_load(work, graph, &ret_definition->refs, err))
        return false;
    take_references(work, ret_definition);
    return true;
}
