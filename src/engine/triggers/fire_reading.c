/*
 * What fires read before they write: their triggers with contracts, the automations
 * that listen, and the definitions of custom fields. A trigger of several fires is
 * read once.
 */
#include "engine/triggers/firing.h"

#include "base/json_read.h"
#include "engine/nodes/graph.h"
#include "sql/fields.h"
#include "sql/fire.h"

#include <string.h>

/* ---- Asking ---- */

/* The triggers of a group are at most as many as its calls, which a batch bounds. */
static struct fired_trigger *find_trigger(struct fire_group *group, int64_t id)
{
    for (size_t i = 0; i < group->trigger_count; i++)
        if (group->triggers[i].id == id)
            return &group->triggers[i];
    struct fired_trigger *trigger = &group->triggers[group->trigger_count++];
    *trigger = (struct fired_trigger){ .id = id };
    return trigger;
}

static void ask_trigger(const struct work *work, struct fired_trigger *trigger, struct db_batch *batch)
{
    struct trigger_find_params find = { .brand_id = work->brand_id, .id = trigger->id };
    struct fire_lock_automations_params lock = { .brand_id = work->brand_id, .trigger_id = trigger->id };
    struct fire_automations_params automations = { .brand_id = work->brand_id, .trigger_id = trigger->id };
    trigger->trigger_at = db_batch_add(batch, &trigger_find_statement, &find);
    db_batch_add(batch, &fire_lock_automations_statement, &lock);
    trigger->automations_at = db_batch_add(batch, &fire_automations_statement, &automations);
}

static struct text_list all_field_names(const struct fire_group *group)
{
    struct text_list *lists = arena_array(group->work->arena, group->count, sizeof(*lists));
    size_t count = 0;
    for (size_t i = 0; i < group->count; i++) {
        lists[i] = fire_field_names(group->work, group->fires[i]->request.payload);
        count += lists[i].count;
    }
    const char **names = arena_array(group->work->arena, count, sizeof(*names));
    count = 0;
    for (size_t i = 0; i < group->count; i++)
        for (size_t k = 0; k < lists[i].count; k++)
            names[count++] = lists[i].items[k];
    return (struct text_list){ names, count };
}

void fire_group_read_ask(struct fire_group *group, struct db_batch *batch)
{
    const struct work *work = group->work;
    struct fire_next_ids_params ids = { .count = (int64_t)group->count };
    struct contact_fields_find_params fields = { .brand_id = work->brand_id, .names = all_field_names(group) };
    group->triggers = arena_array(work->arena, group->count, sizeof(*group->triggers));
    for (size_t i = 0; i < group->count; i++)
        group->fires[i]->trigger = find_trigger(group, group->fires[i]->request.trigger_id);
    for (size_t i = 0; i < group->trigger_count; i++)
        ask_trigger(work, &group->triggers[i], batch);
    group->ids_at = db_batch_add(batch, &fire_next_ids_statement, &ids);
    group->fields_at = fields.names.count > 0 ? db_batch_add(batch, &contact_fields_find_statement, &fields) : SIZE_MAX;
}

/* ---- Taking ---- */

static bool read_json(const struct work *work, const char *text, const json_t **ret_json, struct error *err)
{
    struct json_bounds bounds = { .max_bytes = strlen(text) };
    return json_read(work->arena, text, strlen(text), bounds, ret_json, err);
}

/* Reads the trigger node as a graph of its own. */
static bool read_listener(const struct work *work, const struct fire_automations_row *row, struct listener *ret_listener,
                          struct error *err)
{
    const json_t *node;
    struct graph *graph;
    if (!read_json(work, row->node, &node, err))
        return false;
    json_t *nodes = json_in_arena(work->arena, json_array());
    json_array_append(nodes, json_for_iteration(node));
    if (!graph_read(work->arena, &work->engine->ids, nodes, json_in_arena(work->arena, json_array()), &graph, err))
        return false;
    const struct trigger_config *config = graph->nodes[0].config;
    *ret_listener = (struct listener){
        .automation_id = row->automation_id,
        .version_id = row->version_id,
        .node_id = graph->nodes[0].id,
        .reentry = config->reentry,
    };
    return true;
}

static bool read_listeners(const struct work *work, const struct db_rows *rows, struct fired_trigger *trigger, struct error *err)
{
    const struct fire_automations_row *row = rows->rows;
    trigger->listeners = arena_array(work->arena, rows->count, sizeof(*trigger->listeners));
    for (size_t i = 0; i < rows->count; i++)
        if (!read_listener(work, &row[i], &trigger->listeners[i], err))
            return false;
    trigger->listener_count = rows->count;
    trigger->is_heard = rows->count > 0;
    return true;
}

static bool read_trigger(const struct work *work, const struct db_batch *batch, struct fired_trigger *trigger, struct error *err)
{
    const struct db_rows *found = db_batch_rows(batch, trigger->trigger_at);
    trigger->is_found = found->count > 0;
    return !trigger->is_found || (trigger_contract_of_row(work, found->rows, &trigger->contract, err) &&
                                  read_listeners(work, db_batch_rows(batch, trigger->automations_at), trigger, err));
}

/* ---- Refusals ---- */

/* A trigger that starts nothing may still end the waits of runs. An integration needs no automation. */
static bool find_waiting_automations(const struct fire_group *group, struct error *err)
{
    for (size_t i = 0; i < group->count; i++) {
        const struct fire *fire = group->fires[i];
        struct fired_trigger *trigger = fire->trigger;
        if (!fire->is_refused && !trigger->is_heard && fire->request.provider == NULL &&
            !trigger_has_listener(group->work, trigger->id, &trigger->is_heard, err))
            return false;
    }
    return true;
}

static bool check_trigger_and_payload(struct fire *fire, struct error *err)
{
    if (!fire->trigger->is_found)
        return fail(err, ERR_TRIGGER_EVENT_NOT_FOUND, "triggerEventId", "No trigger with this id in this brand.");
    return fire_payload_check(&fire->work, &fire->trigger->contract.contract, fire->request.payload, &fire->payload, err);
}

static bool check_heard(const struct fire *fire, struct error *err)
{
    return fire->trigger->is_heard || fire->request.provider != NULL ||
           fail(err, ERR_NO_PUBLISHED_AUTOMATION, "triggerEventId",
                "No published automation starts with this trigger or waits for it.");
}

static void list_open(struct fire_group *group)
{
    group->open = arena_array(group->work->arena, group->count, sizeof(struct fire *));
    for (size_t i = 0; i < group->count; i++) {
        struct fire *fire = group->fires[i];
        fire->is_refused = fire->is_refused || !check_heard(fire, &fire->refusal);
        if (!fire->is_refused)
            group->open[group->open_count++] = fire;
    }
}

bool fire_group_read(struct fire_group *group, const struct db_batch *batch, struct error *err)
{
    static const struct db_rows none = { .count = 0 };
    const struct fire_next_ids_row *ids = db_batch_rows(batch, group->ids_at)->rows;
    group->fields = group->fields_at != SIZE_MAX ? db_batch_rows(batch, group->fields_at) : &none;
    for (size_t i = 0; i < group->trigger_count; i++)
        if (!read_trigger(group->work, batch, &group->triggers[i], err))
            return false;
    for (size_t i = 0; i < group->count; i++) {
        struct fire *fire = group->fires[i];
        fire->instance_id = ids[i].instance_id;
        fire->payload_id = ids[i].payload_id;
        fire->is_refused = !check_trigger_and_payload(fire, &fire->refusal);
    }
    if (!find_waiting_automations(group, err))
        return false;
    list_open(group);
    return true;
}
