#include "engine/simulations/audience_simulation.h"

#include "engine/simulations/draft.h"
#include "engine/simulations/people.h"

/* ---- Simulating ---- */

static bool walk_all(const struct work *work, const struct walked_graph *walked, const struct people *people,
                     struct audience_simulation *simulation, struct error *err)
{
    struct simulated_contact *contacts = arena_array(work->arena, people->count, sizeof(*contacts));
    for (size_t i = 0; i < people->count; i++) {
        contacts[i].email = people->rows[i].email;
        if (!people_walk(work, work->arena, walked, &people->rows[i], &contacts[i].simulation, err))
            return false;
        branch_counts_add(&simulation->branches, &contacts[i].simulation);
    }
    simulation->contacts = contacts;
    simulation->contact_count = people->count;
    return true;
}

bool audience_simulate(const struct work *work, int64_t automation_id, int64_t audience_id, size_t limit,
                       struct audience_simulation *ret_simulation, struct error *err)
{
    struct draft draft;
    struct people people;
    if (!draft_load(work, automation_id, &draft, err) || !people_of_audience(work, audience_id, limit, &people, err))
        return false;
    struct walked_graph walked = {
        .graph = draft.graph, .seed = automation_id, .time_zone = draft.time_zone, .max_compared = SIMULATION_COMPARED_MAX
    };
    *ret_simulation = (struct audience_simulation){ .version_id = draft.version_id };
    branch_counts_init(work->arena, draft.graph, &ret_simulation->branches);
    return walk_all(work, &walked, &people, ret_simulation, err);
}

/* ---- JSON ---- */

static void write_visit(const struct simulated_visit *visit, struct json_writer *json)
{
    json_object_begin(json);
    json_member_text(json, "nodeId", visit->node->id);
    json_member_text_if(json, "branch", visit->branch);
    json_member_time(json, "from", visit->entered_us);
    json_member_time(json, "to", visit->left_us);
    json_member_text_if(json, "error", visit->error);
    json_object_end(json);
}

static void write_contact(const struct simulated_contact *contact, struct json_writer *json)
{
    json_object_begin(json);
    json_member_text(json, "email", contact->email);
    json_member_text(json, "status", contact->simulation.error != NULL ? "failed" : "completed");
    json_key(json, "path");
    json_array_begin(json);
    for (size_t i = 0; i < contact->simulation.count; i++)
        write_visit(&contact->simulation.visits[i], json);
    json_array_end(json);
    json_object_end(json);
}

static void write_branches(const struct audience_simulation *simulation, struct json_writer *json)
{
    json_key(json, "branches");
    json_array_begin(json);
    for (size_t i = 0; i < simulation->branches.count; i++) {
        const struct branch_count *branch = &simulation->branches.items[i];
        json_object_begin(json);
        json_member_text(json, "nodeId", branch->node->id);
        json_member_text_if(json, "branch", branch->branch);
        json_member_int(json, "contacts", branch->count);
        json_object_end(json);
    }
    json_array_end(json);
}

static void write_warnings(const struct work *work, const struct audience_simulation *simulation, struct json_writer *json)
{
    json_key(json, "warnings");
    json_array_begin(json);
    for (size_t i = 0; i < simulation->branches.count; i++)
        if (branch_is_unused(&simulation->branches.items[i]))
            json_text(json, arena_printf(work->arena, "None of these contacts takes the branch %s of %s.",
                                         simulation->branches.items[i].branch, simulation->branches.items[i].node->id));
    json_array_end(json);
}

void audience_simulation_write(const struct work *work, const struct audience_simulation *simulation, struct json_writer *json)
{
    json_object_begin(json);
    json_member_id(json, work, "automationVersionId", ID_VERSION, simulation->version_id);
    json_member_int(json, "contacts", (int64_t)simulation->contact_count);
    write_branches(simulation, json);
    write_warnings(work, simulation, json);
    json_key(json, "runs");
    json_array_begin(json);
    for (size_t i = 0; i < simulation->contact_count; i++)
        write_contact(&simulation->contacts[i], json);
    json_array_end(json);
    json_object_end(json);
}
