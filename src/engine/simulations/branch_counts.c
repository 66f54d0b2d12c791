#include "engine/simulations/branch_counts.h"

#include "base/text.h"

/* The payload of a fire is not known to a simulation. The runs of a launch have none. */
static bool has_payload(const struct graph *graph)
{
    const struct trigger_config *trigger = graph->nodes[graph->trigger].config;
    return trigger->form == TRIGGER_FORM_EVENT;
}

static bool may_differ(const struct graph *graph, const struct graph_node *node)
{
    struct step_needs needs = step_needs(node);
    return needs.messages || needs.events || (needs.payload && has_payload(graph));
}

void branch_counts_init(struct arena *arena, const struct graph *graph, struct branch_counts *ret_counts)
{
    size_t count = 0;
    for (size_t i = 0; i < graph->node_count; i++)
        count += graph->nodes[i].branches.count + 1;
    struct branch_count *items = arena_array(arena, count, sizeof(*items));
    count = 0;
    for (size_t i = 0; i < graph->node_count; i++) {
        const struct graph_node *node = &graph->nodes[i];
        bool differs = may_differ(graph, node);
        for (size_t at = 0; at < node->branches.count; at++)
            items[count++] = (struct branch_count){ .node = node, .branch = node->branches.items[at], .may_differ = differs };
        if (node->branches.count == 0)
            items[count++] = (struct branch_count){ .node = node };
    }
    *ret_counts = (struct branch_counts){ .items = items, .count = count };
}

static void count_visit(struct branch_counts *counts, const struct simulated_visit *visit)
{
    for (size_t i = 0; i < counts->count; i++) {
        struct branch_count *branch = &counts->items[i];
        if (branch->node != visit->node)
            continue;
        branch->count += text_equal(branch->branch, visit->branch);
        branch->is_reached = branch->is_reached || visit->branch != NULL;
    }
}

void branch_counts_add(struct branch_counts *counts, const struct simulation *simulation)
{
    for (size_t i = 0; i < simulation->count; i++)
        count_visit(counts, &simulation->visits[i]);
}

bool branch_is_unused(const struct branch_count *branch)
{
    return branch->is_reached && branch->branch != NULL && branch->count == 0 && !branch->may_differ;
}
