/*
 * Fires in order: the triggers with their contracts, the automations that listen and
 * the definitions of custom fields are read in one round trip. Each payload is
 * checked before its automations are counted. Then the contacts are saved,
 * and the same round trip reads their earlier runs behind the locks of their rows.
 * One more round trip stores the payloads, starts the runs, records the fires and
 * wakes the runs that wait for them.
 *
 * Fires that arrive together share all of this. One that is refused leaves the group
 * before anything is written.
 *
 * All starts of a fire are in one transaction, so the state partially_fired of an
 * instance does not occur: a passing error of a start fails the call as a whole.
 */
#include "engine/triggers/firing.h"

#include "base/json_read.h"
#include "base/text.h"
#include "engine/payloads/payloads.h"

#include <string.h>

enum {
    NOT_STARTED_MAX_BYTES = 4 * 1024 * 1024,
    BIGINT_MAX_CHARS = 20, /* of a bigint */
    SHARED_LISTENERS = 50, /* a fire that starts more runs shares no transaction with others */
};

/* ---- The contacts, and who may start ---- */

/* Defines the fields that are missing. Another transaction may have defined one with another type. */
static bool define_missing(const struct work *work, struct field_registry *missing, struct error *err)
{
    if (json_object_size(missing->types) == 0)
        return true;
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    size_t defined_at = field_registry_query(missing, work, batch);
    if (!db_batch_run(batch, err))
        return false;
    field_registry_load(missing, batch, defined_at);
    return true;
}

static bool make_contacts(const struct fire_group *group, struct error *err)
{
    struct field_registry missing = field_registry_new(group->work->arena);
    for (size_t i = 0; i < group->open_count; i++) {
        struct fire *fire = group->open[i];
        fire_contact_begin(&fire->contact, &fire->work, &fire->trigger->contract.contract, &fire->payload);
        fire_contact_read(&fire->contact, group->fields, &missing);
    }
    if (!define_missing(group->work, &missing, err))
        return false;
    for (size_t i = 0; i < group->open_count; i++)
        fire_contact_fill(&group->open[i]->contact, &missing);
    return true;
}

/* Checks what is saved. A fire whose contact is refused leaves the group. */
static struct contact_saving **check_contacts(struct fire_group *group)
{
    struct contact_saving **savings = arena_array(group->work->arena, group->open_count, sizeof(struct contact_saving *));
    size_t kept = 0;
    for (size_t i = 0; i < group->open_count; i++) {
        struct fire *fire = group->open[i];
        fire->is_refused = !contact_save_check(&fire->work, &fire->contact.change, &savings[kept], &fire->refusal);
        if (!fire->is_refused)
            group->open[kept++] = fire;
    }
    group->open_count = kept;
    return savings;
}

static size_t count_listeners(const struct fire_group *group)
{
    size_t count = 0;
    for (size_t i = 0; i < group->open_count; i++)
        count += group->open[i]->trigger->listener_count;
    return count;
}

static bool take_contacts(const struct fire_group *group, struct contact_saving *const *savings, const struct db_batch *batch,
                          struct error *err)
{
    for (size_t i = 0; i < group->open_count; i++) {
        struct contact_saved saved;
        if (!contact_save_take(group->work, savings[i], batch, &saved, err))
            return false;
        group->open[i]->saved = saved.contact;
    }
    return true;
}

/* Saves the contacts. The statements behind it see every run of their addresses, because the rows of the contacts are locked. */
static bool save_contacts(struct fire_group *group, struct error *err)
{
    static const struct db_rows none = { .count = 0 };
    const struct work *work = group->work;
    if (!make_contacts(group, err))
        return false;
    struct contact_saving **savings = check_contacts(group);
    if (group->open_count == 0)
        return true;
    size_t listeners = count_listeners(group);
    struct fire_last_runs_params rules = fire_group_rules(group, listeners);
    struct fire_next_run_ids_params ids = { .count = (int64_t)listeners };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    contact_save_ask(work, savings, group->open_count, batch);
    size_t last_at = rules.email_keys.count > 0 ? db_batch_add(batch, &fire_last_runs_statement, &rules) : SIZE_MAX;
    size_t ids_at = db_batch_add(batch, &fire_next_run_ids_statement, &ids);
    if (!db_batch_run(batch, err) || !take_contacts(group, savings, batch, err))
        return false;
    fire_group_choose_starts(group, last_at != SIZE_MAX ? db_batch_rows(batch, last_at) : &none, db_batch_rows(batch, ids_at));
    return true;
}

/* ---- The instances ---- */

static struct int_list matched_automations(const struct fire *fire)
{
    const struct fired_trigger *trigger = fire->trigger;
    int64_t *ids = arena_array(fire->work.arena, trigger->listener_count, sizeof(*ids));
    for (size_t i = 0; i < trigger->listener_count; i++)
        ids[i] = trigger->listeners[i].automation_id;
    return (struct int_list){ ids, trigger->listener_count };
}

static struct int_list started_runs(const struct fire *fire)
{
    int64_t *ids = arena_array(fire->work.arena, fire->start_count, sizeof(*ids));
    for (size_t i = 0; i < fire->start_count; i++)
        ids[i] = fire->starts[i].id;
    return (struct int_list){ ids, fire->start_count };
}

/* A bigint[] as text. */
static const char *list_text(struct arena *arena, struct int_list list)
{
    struct buf *text = buf_in_arena(arena, (list.count + 1) * (BIGINT_MAX_CHARS + 1));
    buf_add_char(text, '{');
    for (size_t i = 0; i < list.count; i++)
        buf_printf(text, "%s%lld", i > 0 ? "," : "", (long long)list.items[i]);
    buf_add_char(text, '}');
    return buf_text(text);
}

static const char *not_started_json(const struct fire *fire)
{
    struct buf *text = buf_in_arena(fire->work.arena, NOT_STARTED_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, text);
    json_array_begin(&json);
    for (size_t i = 0; i < fire->refusal_count; i++) {
        json_object_begin(&json);
        json_member_int(&json, "automation", fire->refusals[i].automation_id);
        json_member_text(&json, "reason", fire->refusals[i].reason);
        json_object_end(&json);
    }
    json_array_end(&json);
    return buf_text(text);
}

/* The recorded fires, as the columns of the statement. */
struct record_columns {
    int64_t *ids;
    int64_t *trigger_ids;
    const char **providers;
    int64_t *contact_ids;
    const char **emails;
    const char **email_keys;
    const char **matched;
    const char **runs;
    const char **not_started;
    bool *findings;
};

static struct record_columns record_columns_new(struct arena *arena, size_t count)
{
    return (struct record_columns){
        .ids = arena_array(arena, count, sizeof(int64_t)),
        .trigger_ids = arena_array(arena, count, sizeof(int64_t)),
        .providers = arena_array(arena, count, sizeof(const char *)),
        .contact_ids = arena_array(arena, count, sizeof(int64_t)),
        .emails = arena_array(arena, count, sizeof(const char *)),
        .email_keys = arena_array(arena, count, sizeof(const char *)),
        .matched = arena_array(arena, count, sizeof(const char *)),
        .runs = arena_array(arena, count, sizeof(const char *)),
        .not_started = arena_array(arena, count, sizeof(const char *)),
        .findings = arena_array(arena, count, sizeof(bool)),
    };
}

static void put_record(const struct record_columns *columns, size_t i, const struct fire *fire)
{
    struct arena *arena = fire->work.arena;
    columns->ids[i] = fire->instance_id;
    columns->trigger_ids[i] = fire->trigger->id;
    columns->providers[i] = fire->request.provider != NULL ? fire->request.provider : "";
    columns->contact_ids[i] = fire->saved->id;
    columns->emails[i] = fire->saved->email;
    columns->email_keys[i] = fire->payload.address.key;
    columns->matched[i] = list_text(arena, matched_automations(fire));
    columns->runs[i] = list_text(arena, started_runs(fire));
    columns->not_started[i] = not_started_json(fire);
    columns->findings[i] = fire->payload.warning_count > 0;
}

/* Returns the place of the statement that wakes runs. */
static size_t record_ask(const struct fire_group *group, struct db_batch *batch)
{
    const struct work *work = group->work;
    size_t count = group->open_count;
    struct record_columns columns = record_columns_new(work->arena, count);
    for (size_t i = 0; i < count; i++)
        put_record(&columns, i, group->open[i]);
    struct fires_record_params record = {
        .brand_id = work->brand_id,
        .ids = { columns.ids, count },
        .trigger_ids = { columns.trigger_ids, count },
        .providers = { columns.providers, count },
        .contact_ids = { columns.contact_ids, count },
        .emails = { columns.emails, count },
        .email_keys = { columns.email_keys, count },
        .matched = { columns.matched, count },
        .runs = { columns.runs, count },
        .not_started = { columns.not_started, count },
        .has_findings = { columns.findings, count },
        .now = work->now_us,
    };
    db_batch_add(batch, &fires_record_statement, &record);
    return runs_wake_by_events_ask(work, &(struct run_events){ record.trigger_ids, record.email_keys }, batch);
}

/* ---- Payloads and runs ---- */

/* A fire that starts nothing stores no payload. Returns their number. */
static size_t list_payloads(const struct fire_group *group, struct payload_storing *ret_storings)
{
    size_t count = 0;
    for (size_t i = 0; i < group->open_count; i++) {
        const struct fire *fire = group->open[i];
        if (fire->start_count > 0)
            ret_storings[count++] = (struct payload_storing){ fire->payload_id, fire->payload.object, fire->payload.fallbacks };
    }
    return count;
}

/* One statement takes RUN_STARTS_MAX runs. A trigger may have more automations from before there was a bound of them. */
static bool ask_starts(const struct fire_group *group, struct db_batch *batch, struct error *err)
{
    size_t ignored;
    for (size_t at = 0; at < group->start_count; at += RUN_STARTS_MAX) {
        size_t left = group->start_count - at;
        size_t count = left < RUN_STARTS_MAX ? left : RUN_STARTS_MAX;
        if (!runs_start_ask(group->work, &group->starts[at], count, batch, &ignored, err))
            return false;
    }
    return true;
}

static bool write_fires(const struct fire_group *group, struct error *err)
{
    const struct work *work = group->work;
    struct payload_storing *storings = arena_array(work->arena, group->open_count, sizeof(*storings));
    size_t stored = list_payloads(group, storings);
    size_t stored_at;
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    if (!payloads_store_ask(work, storings, stored, batch, &stored_at, err) || !ask_starts(group, batch, err))
        return false;
    size_t woken_at = record_ask(group, batch);
    if (!db_batch_run(batch, err) || !payloads_store_take(work, storings, stored, batch, stored_at, err))
        return false;
    bool has_woken = runs_have_woken(batch, woken_at);
    for (size_t i = 0; i < group->open_count; i++)
        group->open[i]->wakes_runs = has_woken || group->open[i]->start_count > 0;
    return true;
}

/* ---- The seam ---- */

struct fire *fire_new(const struct work *work, const struct fire_request *request)
{
    struct fire *fire = arena_alloc(work->arena, sizeof(*fire));
    *fire = (struct fire){ .work = *work, .request = *request };
    return fire;
}

const char *fire_lock_key(const struct fire *fire)
{
    struct address address;
    struct error ignored = { .code = ERR_NONE };
    const char *text = json_get_text(fire->request.payload, "email");
    if (text == NULL || !address_parse(fire->work.arena, text_trim(fire->work.arena, text), "email", &address, &ignored))
        return NULL;
    return address.key;
}

int64_t fire_trigger_id(const struct fire *fire)
{
    return fire->request.trigger_id;
}

void fires_ask(const struct work *work, struct fire *const *fires, size_t count, struct db_batch *batch)
{
    struct fire_group *group = arena_alloc(work->arena, sizeof(*group));
    *group = (struct fire_group){ .work = &fires[0]->work, .fires = fires, .count = count };
    for (size_t i = 0; i < count; i++)
        *fires[i] = (struct fire){ .work = fires[i]->work, .request = fires[i]->request };
    fires[0]->group = group;
    fire_group_read_ask(group, batch);
}

bool fire_is_large(const struct fire *fire, const struct db_batch *batch)
{
    return db_batch_rows(batch, fire->trigger->automations_at)->count > SHARED_LISTENERS;
}

bool fires_finish(struct fire *const *fires, const struct db_batch *batch, struct error *err)
{
    struct fire_group *group = fires[0]->group;
    return fire_group_read(group, batch, err) && (group->open_count == 0 || save_contacts(group, err)) &&
           (group->open_count == 0 || write_fires(group, err));
}

bool fire_take(const struct fire *fire, struct fire_result *ret_result, struct error *err)
{
    if (fire->is_refused) {
        *err = fire->refusal;
        return false;
    }
    *ret_result = (struct fire_result){
        .instance_id = fire->instance_id,
        .contact_id = fire->saved->id,
        .automation_ids = matched_automations(fire),
        .run_ids = started_runs(fire),
        .refusals = fire->refusals,
        .refusal_count = fire->refusal_count,
        .warnings = fire->contact.warnings,
        .warning_count = fire->contact.warning_count,
        .wakes_runs = fire->wakes_runs,
    };
    return true;
}

bool trigger_fire(const struct work *work, const struct fire_request *request, struct fire_result *ret_result, struct error *err)
{
    struct fire *fire = fire_new(work, request);
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    fires_ask(work, &fire, 1, batch);
    return db_batch_run(batch, err) && fires_finish(&fire, batch, err) && fire_take(fire, ret_result, err);
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
