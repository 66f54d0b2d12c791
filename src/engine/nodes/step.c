#include "engine/nodes/step.h"

#include "engine/nodes/branches.h"

struct step_needs step_needs(const struct graph_node *node)
{
    const struct filter_config *filter = node->config;
    const struct wait_config *wait = node->config;
    return (struct step_needs){
        .contact = node->reads_contact,
        .payload = node->reads_payload,
        .messages = node->type == NODE_FILTER && filter->form == FILTER_FORM_ENGAGEMENT,
        .events = node->type == NODE_WAIT && wait->form == WAIT_FORM_EVENT,
    };
}

void step_decide(struct arena *arena, const struct step_in *in, struct step_out *ret_out)
{
    node_types[in->node->type].step(arena, in, ret_out);
}

/* ---- Replay ---- */

static const char *replay_wait(const struct graph_node *node, const json_t *facts)
{
    const struct wait_config *config = node->config;
    const json_t *event = json_object_get(facts, "event");
    if (config->form != WAIT_FORM_EVENT || event == NULL)
        return NULL;
    return json_is_true(event) ? "event" : "timeout";
}

const char *step_replay(struct arena *arena, const struct graph_node *node, const json_t *facts)
{
    switch (node->type) {
    case NODE_FILTER:
        return replay_filter(arena, node, facts);
    case NODE_SPLIT:
        return replay_split(arena, node, facts);
    case NODE_WAIT:
        return replay_wait(node, facts);
    case NODE_TRIGGER:
    case NODE_SEND_EMAIL:
    case NODE_TYPE_COUNT:
        break;
    }
    return NULL;
}
