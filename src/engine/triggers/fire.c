/*
 * A fire in order: the trigger with its contract, the automations that listen and
 * the definitions of custom fields are read in one round trip. The payload is
 * checked before the automations are counted. Then the contact is saved,
 * and the same round trip reads its earlier runs behind the lock of its row. One
 * round trip stores the payload and starts the runs, and the last one records the
 * fire and wakes the runs that wait for it.
 *
 * All starts of a fire are in one transaction, so the state partially_fired of an
 * instance does not occur: a passing error of a start fails the call as a whole.
 */
#include "engine/triggers/fire.h"

#include "base/json_read.h"
#include "engine/nodes/graph.h"
#include "engine/payloads/payloads.h"
#include "engine/runs/start.h"
#include "engine/triggers/fire_contact.h"
#include "engine/triggers/reentry.h"
#include "engine/triggers/triggers.h"
#include "sql/fields.h"
#include "sql/fire.h"

#include <string.h>

enum { NOT_STARTED_MAX_BYTES = 4 * 1024 * 1024 };

/* An automation that listens. */
struct listener {
    int64_t automation_id;
    int64_t version_id;
    const char *node_id;
    const struct trigger_reentry *reentry; /* NULL: always */
};

/* One fire in progress. */
struct firing {
    const struct work *work;
    const struct fire_request *request;
    int64_t instance_id;
    int64_t payload_id;
    struct trigger_contract trigger;
    struct listener *listeners;
    size_t listener_count;
    const struct db_rows *fields; /* definitions of custom fields */
    struct fire_payload payload;
    const struct contact_row *contact;
    struct run_start *starts;
    size_t start_count;
    struct fire_refusal *refusals;
    size_t refusal_count;
    struct int_list run_ids;
};

/* ---- Reading ---- */

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

static bool read_listeners(struct firing *firing, const struct db_rows *rows, struct error *err)
{
    const struct work *work = firing->work;
    const struct fire_automations_row *row = rows->rows;
    firing->listeners = arena_array(work->arena, rows->count, sizeof(*firing->listeners));
    for (size_t i = 0; i < rows->count; i++)
        if (!read_listener(work, &row[i], &firing->listeners[i], err))
            return false;
    firing->listener_count = rows->count;
    return true;
}

/* The rows of a statement; none when it was left out (SIZE_MAX). */
static const struct db_rows *rows_at(const struct db_batch *batch, size_t index)
{
    static const struct db_rows none = { .count = 0 };
    return index != SIZE_MAX ? db_batch_rows(batch, index) : &none;
}

static bool read_trigger(struct firing *firing, struct error *err)
{
    const struct work *work = firing->work;
    int64_t trigger_id = firing->request->trigger_id;
    struct trigger_find_params trigger = { .brand_id = work->brand_id, .id = trigger_id };
    struct fire_lock_automations_params lock = { .brand_id = work->brand_id, .trigger_id = trigger_id };
    struct fire_automations_params automations = { .brand_id = work->brand_id, .trigger_id = trigger_id };
    struct contact_fields_find_params fields = {
        .brand_id = work->brand_id,
        .names = fire_field_names(work, firing->request->payload),
    };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    size_t trigger_at = db_batch_add(batch, &trigger_find_statement, &trigger);
    size_t ids_at = db_batch_add(batch, &fire_next_ids_statement, NULL);
    db_batch_add(batch, &fire_lock_automations_statement, &lock);
    size_t automations_at = db_batch_add(batch, &fire_automations_statement, &automations);
    size_t fields_at = fields.names.count > 0 ? db_batch_add(batch, &contact_fields_find_statement, &fields) : SIZE_MAX;
    if (!db_batch_run(batch, err))
        return false;
    const struct db_rows *found = db_batch_rows(batch, trigger_at);
    if (found->count == 0)
        return fail(err, ERR_TRIGGER_EVENT_NOT_FOUND, "triggerEventId", "No trigger with this id in this brand.");
    const struct fire_next_ids_row *ids = db_batch_rows(batch, ids_at)->rows;
    firing->instance_id = ids->instance_id;
    firing->payload_id = ids->payload_id;
    firing->fields = rows_at(batch, fields_at);
    return trigger_contract_of_row(work, found->rows, &firing->trigger, err) &&
           read_listeners(firing, db_batch_rows(batch, automations_at), err);
}

/* ---- The contact, and who may start ---- */

/* Automations with a rule of re-entry. */
static struct int_list ruled_automations(const struct firing *firing)
{
    int64_t *ids = arena_array(firing->work->arena, firing->listener_count, sizeof(*ids));
    size_t count = 0;
    for (size_t i = 0; i < firing->listener_count; i++)
        if (reentry_looks_back(firing->listeners[i].reentry))
            ids[count++] = firing->listeners[i].automation_id;
    return (struct int_list){ ids, count };
}

static const char *find_refusal(const struct firing *firing, const struct listener *listener, const struct db_rows *last_runs)
{
    const struct fire_last_runs_row *runs = last_runs->rows;
    for (size_t i = 0; i < last_runs->count; i++)
        if (runs[i].automation_id == listener->automation_id)
            return reentry_refusal(firing->work->arena, listener->reentry, runs[i].started_at, firing->work->now_us);
    return NULL;
}

/* Sorts the listeners into starts and refusals. */
static void choose_starts(struct firing *firing, const struct db_rows *last_runs)
{
    struct arena *arena = firing->work->arena;
    firing->starts = arena_array(arena, firing->listener_count, sizeof(*firing->starts));
    firing->refusals = arena_array(arena, firing->listener_count, sizeof(*firing->refusals));
    for (size_t i = 0; i < firing->listener_count; i++) {
        const struct listener *listener = &firing->listeners[i];
        const char *reason = find_refusal(firing, listener, last_runs);
        if (reason != NULL) {
            firing->refusals[firing->refusal_count++] = (struct fire_refusal){ listener->automation_id, reason };
            continue;
        }
        firing->starts[firing->start_count++] = (struct run_start){
            .automation_id = listener->automation_id,
            .version_id = listener->version_id,
            .trigger_node = listener->node_id,
            .trigger_id = firing->request->trigger_id,
            .instance_id = firing->instance_id,
            .payload_id = firing->payload_id,
            .contact_id = firing->contact->id,
            .email = firing->contact->email,
            .email_key = firing->payload.address.key,
        };
    }
}

/* Saves the contact. The statement behind it sees every run of the address, because the row of the contact is locked. */
static bool save_contact(struct firing *firing, struct fire_contact *contact, struct error *err)
{
    const struct work *work = firing->work;
    struct contact_saving *saving;
    struct contact_saved saved;
    if (!fire_contact_make(contact, firing->fields, err) || !contact_save_check(work, &contact->change, &saving, err))
        return false;
    struct fire_last_runs_params last = {
        .brand_id = work->brand_id,
        .email_key = firing->payload.address.key,
        .automation_ids = ruled_automations(firing),
    };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    contact_save_ask(work, &saving, 1, batch);
    size_t last_at = last.automation_ids.count > 0 ? db_batch_add(batch, &fire_last_runs_statement, &last) : SIZE_MAX;
    if (!db_batch_run(batch, err) || !contact_save_take(work, saving, batch, &saved, err))
        return false;
    firing->contact = saved.contact;
    choose_starts(firing, rows_at(batch, last_at));
    return true;
}

/* ---- Runs ---- */

/* A fire that starts nothing stores no payload. */
static bool start_runs(struct firing *firing, struct error *err)
{
    const struct work *work = firing->work;
    struct payload_storing storing = {
        .id = firing->payload_id,
        .payload = firing->payload.object,
        .fallbacks = firing->payload.fallbacks,
    };
    size_t started_at;
    if (firing->start_count == 0)
        return true;
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    if (!payload_store_ask(work, &storing, batch, err) ||
        !runs_start_ask(work, firing->starts, firing->start_count, batch, &started_at, err) || !db_batch_run(batch, err) ||
        !payload_store_take(work, &storing, batch, err))
        return false;
    firing->run_ids = runs_start_take(work, batch, started_at);
    return true;
}

/* ---- The instance ---- */

static struct int_list matched_automations(const struct firing *firing)
{
    int64_t *ids = arena_array(firing->work->arena, firing->listener_count, sizeof(*ids));
    for (size_t i = 0; i < firing->listener_count; i++)
        ids[i] = firing->listeners[i].automation_id;
    return (struct int_list){ ids, firing->listener_count };
}

static const char *not_started_json(const struct firing *firing)
{
    struct buf *text = buf_in_arena(firing->work->arena, NOT_STARTED_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, text);
    json_array_begin(&json);
    for (size_t i = 0; i < firing->refusal_count; i++) {
        json_object_begin(&json);
        json_member_int(&json, "automation", firing->refusals[i].automation_id);
        json_member_text(&json, "reason", firing->refusals[i].reason);
        json_object_end(&json);
    }
    json_array_end(&json);
    return buf_text(text);
}

static bool record_fire(const struct firing *firing, struct error *err)
{
    const struct work *work = firing->work;
    struct fire_record_params record = {
        .brand_id = work->brand_id,
        .id = firing->instance_id,
        .trigger_id = firing->request->trigger_id,
        .source = firing->request->provider != NULL ? "integration" : "api",
        .provider = firing->request->provider,
        .contact_id = firing->contact->id,
        .email = firing->contact->email,
        .email_key = firing->payload.address.key,
        .matched = matched_automations(firing),
        .runs = firing->run_ids,
        .not_started = not_started_json(firing),
        .has_findings = firing->payload.warning_count > 0,
        .now = work->now_us,
    };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    db_batch_add(batch, &fire_record_statement, &record);
    size_t woken_at = runs_wake_by_event_ask(work, firing->request->trigger_id, firing->payload.address.key, batch);
    return db_batch_run(batch, err) && runs_wake_by_event_take(work, batch, woken_at, err);
}

/* ---- The seam ---- */

/* A trigger that starts nothing may still end the waits of runs. */
static bool check_has_listener(const struct work *work, int64_t trigger_id, struct error *err)
{
    bool found;
    return trigger_has_listener(work, trigger_id, &found, err) &&
           (found || fail(err, ERR_NO_PUBLISHED_AUTOMATION, "triggerEventId",
                          "No published automation starts with this trigger or waits for it."));
}

bool trigger_fire(const struct work *work, const struct fire_request *request, struct fire_result *ret_result, struct error *err)
{
    struct firing firing = { .work = work, .request = request };
    struct fire_contact contact;
    if (!read_trigger(&firing, err) || !fire_payload_check(work, &firing.trigger.contract, request->payload, &firing.payload, err))
        return false;
    if (firing.listener_count == 0 && request->provider == NULL && !check_has_listener(work, request->trigger_id, err))
        return false;
    fire_contact_begin(&contact, work, &firing.trigger.contract, &firing.payload);
    if (!save_contact(&firing, &contact, err) || !start_runs(&firing, err) || !record_fire(&firing, err))
        return false;
    *ret_result = (struct fire_result){
        .instance_id = firing.instance_id,
        .contact_id = firing.contact->id,
        .automation_ids = matched_automations(&firing),
        .run_ids = firing.run_ids,
        .refusals = firing.refusals,
        .refusal_count = firing.refusal_count,
        .warnings = contact.warnings,
        .warning_count = contact.warning_count,
    };
    return true;
}

static void write_refusals(const struct work *work, const struct fire_result *result, struct json_writer *json)
{
    json_array_begin(json);
    for (size_t i = 0; i < result->refusal_count; i++) {
        json_object_begin(json);
        json_member_id(json, work, "automationId", ID_AUTOMATION, result->refusals[i].automation_id);
        json_member_text(json, "reason", result->refusals[i].reason);
        json_object_end(json);
    }
    json_array_end(json);
}

static void write_warnings(const struct fire_result *result, struct json_writer *json)
{
    json_array_begin(json);
    for (size_t i = 0; i < result->warning_count; i++) {
        const struct fire_warning *warning = &result->warnings[i];
        json_object_begin(json);
        json_member_text(json, "code", warning->code);
        json_member_text_if(json, "message", warning->message);
        json_member_text(json, "field", warning->field);
        json_member_text_if(json, "expectedType", warning->expected_type);
        json_member_text_if(json, "actualType", warning->actual_type);
        json_object_end(json);
    }
    json_array_end(json);
}

void fire_write(const struct work *work, const struct fire_result *result, struct json_writer *json)
{
    json_object_begin(json);
    json_member_text(json, "status", "triggered");
    json_member_id(json, work, "triggerInstanceId", ID_INSTANCE, result->instance_id);
    json_key(json, "automationRunIds");
    json_array_begin(json);
    for (size_t i = 0; i < result->run_ids.count; i++)
        json_text(json, work_id(work, ID_RUN, result->run_ids.items[i]));
    json_array_end(json);
    json_key(json, "notStarted");
    write_refusals(work, result, json);
    json_key(json, "warnings");
    write_warnings(result, json);
    json_object_end(json);
}
