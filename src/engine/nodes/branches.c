#include "engine/nodes/branches.h"

#include "engine/nodes/facts.h"

void step_by_conditions(struct arena *arena, const struct step_in *in, const struct condition_list *list,
                        struct condition_branches branches, struct step_out *ret_out)
{
    struct step_record record;
    bool *each = arena_array(arena, list->count, sizeof(*each));
    size_t seen;
    bool holds = conditions_hold(arena, in, list, each, &seen);
    step_record_begin(&record, arena);
    step_record_flags(&record, "conditions", each, seen, list->count);
    step_go(ret_out, &record, holds ? branches.holds : branches.fails);
}

const char *replay_conditions(struct arena *arena, enum condition_logic logic, size_t count, struct condition_branches branches,
                              const json_t *facts)
{
    const json_t *results = json_object_get(facts, "conditions");
    if (json_array_size(results) != count)
        return NULL;
    bool *each = arena_array(arena, count, sizeof(*each));
    for (size_t i = 0; i < count; i++)
        each[i] = json_is_true(json_array_get(results, i));
    return conditions_joined(logic, each, count) ? branches.holds : branches.fails;
}
