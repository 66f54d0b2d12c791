/* The trigger: a run that begins leads on at once. */
#include "engine/nodes/conditions.h"
#include "engine/nodes/facts.h"

void step_trigger(struct arena *arena, const struct step_in *in, struct step_out *ret_out)
{
    struct step_record record;
    (void)in;
    step_record_begin(&record, arena);
    step_go(ret_out, &record, NULL);
}

bool step_exits(struct arena *arena, const struct step_in *in, const char **ret_reason)
{
    if (in->graph->trigger == GRAPH_NONE)
        return false;
    const struct trigger_config *config = in->graph->nodes[in->graph->trigger].config;
    const struct condition_group *exit = config->exit;
    if (exit == NULL)
        return false;
    const struct condition_list list = { exit->logical_operator, exit->conditions,
                                         in->graph->nodes[in->graph->trigger].condition_parts, exit->conditions_count };
    bool *each = arena_array(arena, list.count, sizeof(*each));
    size_t ignored;
    *ret_reason = "The exit conditions of the trigger hold.";
    return conditions_hold(arena, in, &list, each, &ignored);
}
