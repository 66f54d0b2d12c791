/*
 * Splits: by a share of the contacts, and by conditions. The place of a contact
 * in a share is a hash of the seed, the node and the contact, uniform in
 * [0, 100). So a contact takes the same branch at each visit, and the branches
 * of two nodes are independent of each other.
 */
#include "base/json_read.h"
#include "engine/nodes/branches.h"
#include "engine/nodes/facts.h"

#include <string.h>

static const struct condition_branches left_or_right = { "left", "right" };

/* The finalizer of SplitMix64: every bit of the result depends on every bit of the state. */
static uint64_t mix(uint64_t state)
{
    state += UINT64_C(0x9e3779b97f4a7c15);
    state = (state ^ state >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    state = (state ^ state >> 27) * UINT64_C(0x94d049bb133111eb);
    return state ^ state >> 31;
}

/* The place in [0, 100), in steps of 2^-53. */
static double place_of(const struct step_in *in)
{
    enum { UNUSED_BITS = 11 };
    uint64_t hash = mix((uint64_t)in->seed);
    for (const char *at = in->node->id; *at != '\0'; at++)
        hash = mix(hash ^ (unsigned char)*at);
    hash = mix(hash ^ (uint64_t)in->contact_id);
    return (double)(hash >> UNUSED_BITS) * 0x1.0p-53 * 100;
}

static const char *branch_of(const struct split_config *config, double place)
{
    return place < config->left_percentage.value ? left_or_right.holds : left_or_right.fails;
}

/* A constant for a branch that a test forces; NULL: the node has no such branch. */
static const char *known_branch(const struct graph_node *node, const char *branch)
{
    for (size_t i = 0; i < node->branches.count; i++)
        if (strcmp(node->branches.items[i], branch) == 0)
            return node->branches.items[i];
    return NULL;
}

void step_split(struct arena *arena, const struct step_in *in, struct step_out *ret_out)
{
    const struct split_config *config = in->node->config;
    const char *forced = in->forced_branch != NULL ? known_branch(in->node, in->forced_branch) : NULL;
    struct step_record record;
    if (forced == NULL && config->form == SPLIT_FORM_FIELDS) {
        const struct condition_list list = { config->logical_operator, config->conditions, in->node->condition_parts,
                                             config->conditions_count };
        step_by_conditions(arena, in, &list, left_or_right, ret_out);
        return;
    }
    step_record_begin(&record, arena);
    step_record_text(&record, "forced", forced);
    if (forced == NULL)
        step_record_number(&record, "place", place_of(in));
    step_go(ret_out, &record, forced != NULL ? forced : branch_of(config, place_of(in)));
}

const char *replay_split(struct arena *arena, const struct graph_node *node, const json_t *facts)
{
    const struct split_config *config = node->config;
    const char *forced = json_get_text(facts, "forced");
    const json_t *place = json_object_get(facts, "place");
    if (forced != NULL)
        return known_branch(node, forced);
    if (config->form == SPLIT_FORM_FIELDS)
        return replay_conditions(arena, config->logical_operator, config->conditions_count, left_or_right, facts);
    return json_is_number(place) ? branch_of(config, json_number_value(place)) : NULL;
}
