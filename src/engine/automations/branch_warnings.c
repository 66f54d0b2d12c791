#include "engine/automations/branch_warnings.h"

#include "engine/simulations/branch_sample.h"

static void add_unused(struct blockers *blockers, const struct branch_count *branch, size_t contacts, bool is_audience)
{
    const char *group = is_audience ? "of the audience" : "with recent events of the trigger";
    const char *noun = contacts == 1 ? "contact" : "contacts";
    blocker_add(blockers, branch->node, true, "None of %zu %s %s takes the branch %s.", contacts, noun, group, branch->branch);
    blockers->items[blockers->count - 1].branch = branch->branch;
}

bool branch_warnings_find(const struct work *work, int64_t automation_id, const struct definition *definition,
                          struct blockers *blockers, struct error *err)
{
    struct branch_sample sample;
    struct branch_sample_of of = {
        .graph = definition->graph,
        .seed = automation_id,
        .audience_id = definition->audience_id.set ? definition->audience_id.value : 0,
        .trigger_id = definition->trigger_id.set ? definition->trigger_id.value : 0,
    };
    if (blockers->error_count > 0)
        return true;
    if (!branch_sample_take(work, &of, &sample, err))
        return false;
    if (sample.is_refused)
        blocker_add(blockers, NULL, true, "The contacts could not be read, so branches that nobody takes are not reported.");
    for (size_t i = 0; i < sample.branches.count; i++)
        if (branch_is_unused(&sample.branches.items[i]))
            add_unused(blockers, &sample.branches.items[i], sample.contact_count, of.audience_id != 0);
    return true;
}
