#include "engine/simulations/audience_simulation.h"

#include "base/text.h"
#include "engine/contacts/search.h"
#include "engine/simulations/draft.h"
#include "sql/simulations.h"

#include <string.h>

static const struct scenario nothing_happens = { 0 };

/* ---- Contacts ---- */

static bool load_contacts(const struct work *work, int64_t audience_id, size_t limit, struct simulation_contact_row **ret_rows,
                          size_t *ret_count, struct error *err)
{
    struct contact_page page;
    struct contact_search search = { .audience_id = audience_id, .order_by = CONTACT_BY_EMAIL, .limit = (int64_t)limit };
    if (!contact_find(work, &search, &page, err))
        return false;
    int64_t *ids = arena_array(work->arena, page.count, sizeof(*ids));
    for (size_t i = 0; i < page.count; i++)
        ids[i] = page.contacts[i].id;
    struct simulation_contacts_params params = { .brand_id = work->brand_id, .ids = { ids, page.count } };
    return sql_simulation_contacts(work->conn, work->arena, &params, ret_rows, ret_count, err);
}

/* ---- Branches ---- */

static bool may_differ(const struct graph_node *node)
{
    struct step_needs needs = step_needs(node);
    return needs.messages || needs.events;
}

static struct branch_count *list_branches(const struct work *work, const struct graph *graph, size_t *ret_count)
{
    size_t count = 0;
    for (size_t i = 0; i < graph->node_count; i++)
        count += graph->nodes[i].branches.count + 1;
    struct branch_count *branches = arena_array(work->arena, count, sizeof(*branches));
    *ret_count = 0;
    for (size_t i = 0; i < graph->node_count; i++) {
        const struct graph_node *node = &graph->nodes[i];
        for (size_t at = 0; at < node->branches.count; at++)
            branches[(*ret_count)++] =
                (struct branch_count){ .node = node, .branch = node->branches.items[at], .may_differ = may_differ(node) };
        if (node->branches.count == 0)
            branches[(*ret_count)++] = (struct branch_count){ .node = node };
    }
    return branches;
}

static void count_visits(const struct simulation *simulation, struct branch_count *branches, size_t count)
{
    for (size_t i = 0; i < simulation->count; i++)
        for (size_t at = 0; at < count; at++)
            if (branches[at].node == simulation->visits[i].node && text_equal(branches[at].branch, simulation->visits[i].branch))
                branches[at].count++;
}

bool branch_is_unused(const struct audience_simulation *simulation, const struct branch_count *branch)
{
    return simulation->contact_count > 0 && branch->branch != NULL && branch->count == 0 && !branch->may_differ;
}

/* ---- Simulating ---- */

static bool simulate_contact(const struct work *work, int64_t automation_id, const struct draft *draft,
                             const struct simulation_contact_row *row, struct simulated_contact *ret_contact, struct error *err)
{
    struct simulated_run run = {
        .graph = draft->graph,
        .scenario = &nothing_happens,
        .seed = automation_id,
        .contact_id = row->id,
        .started_us = work->now_us,
        .time_zone = draft->time_zone,
    };
    if (!draft_read_contact(work->arena, row->contact, &run.contact, err))
        return false;
    ret_contact->email = row->email;
    simulate(work->arena, &run, &ret_contact->simulation);
    return true;
}

bool audience_simulate(const struct work *work, int64_t automation_id, int64_t audience_id, size_t limit,
                       struct audience_simulation *ret_simulation, struct error *err)
{
    struct draft draft;
    struct simulation_contact_row *rows;
    size_t count;
    if (!draft_load(work, automation_id, &draft, err) || !load_contacts(work, audience_id, limit, &rows, &count, err))
        return false;
    struct simulated_contact *contacts = arena_array(work->arena, count, sizeof(*contacts));
    size_t branch_count;
    struct branch_count *branches = list_branches(work, draft.graph, &branch_count);
    for (size_t i = 0; i < count; i++) {
        if (!simulate_contact(work, automation_id, &draft, &rows[i], &contacts[i], err))
            return false;
        count_visits(&contacts[i].simulation, branches, branch_count);
    }
    *ret_simulation = (struct audience_simulation){
        .version_id = draft.version_id,
        .contacts = contacts,
        .contact_count = count,
        .branches = branches,
        .branch_count = branch_count,
    };
    return true;
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
    for (size_t i = 0; i < simulation->branch_count; i++) {
        const struct branch_count *branch = &simulation->branches[i];
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
    for (size_t i = 0; i < simulation->branch_count; i++)
        if (branch_is_unused(simulation, &simulation->branches[i]))
            json_text(json, arena_printf(work->arena, "None of these contacts takes the branch %s of %s.",
                                         simulation->branches[i].branch, simulation->branches[i].node->id));
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
