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
    bool *each = arena_array(arena, exit->conditions_count, sizeof(*each));
    *ret_reason = "The exit conditions of the trigger hold.";
    return conditions_hold(arena, in, exit->logical_operator, exit->conditions, exit->conditions_count, each);
}
