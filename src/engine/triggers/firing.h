/*
 * Private to the triggers module: fires in progress, and what they have in common.
 *
 * Each fire allocates its own results in the arena of its call. What several fires
 * share is allocated in the arena of the first.
 */
#pragma once

#include "engine/runs/start.h"
#include "engine/triggers/fire.h"
#include "engine/triggers/fire_contact.h"
#include "engine/triggers/triggers.h"
#include "sql/fire.h"

/* An automation that listens. */
struct listener {
    int64_t automation_id;
    int64_t version_id;
    const char *node_id;
    const struct trigger_reentry *reentry; /* NULL: always */
};

/* A trigger that fires of the group name. */
struct fired_trigger {
    int64_t id;
    bool is_found;
    struct trigger_contract contract;
    struct listener *listeners;
    size_t listener_count;
    bool is_heard; /* a published automation starts with it or waits for it */
    size_t trigger_at;
    size_t automations_at;
};

struct fire {
    struct work work;
    struct fire_request request;
    struct fire_group *group; /* of the first fire of a group */
    bool is_refused;
    struct error refusal;
    struct fired_trigger *trigger;
    int64_t instance_id;
    int64_t payload_id;
    struct fire_payload payload;
    struct fire_contact contact;
    struct contact_saving *saving;
    const struct contact_row *saved;
    const struct run_start *starts;
    size_t start_count;
    struct fire_refusal *refusals;
    size_t refusal_count;
    bool wakes_runs;
};

/* Fires of one brand and of different addresses, in the order of their addresses, in one transaction. */
struct fire_group {
    const struct work *work;
    struct fire *const *fires;
    size_t count;
    struct fired_trigger *triggers;
    size_t trigger_count;
    size_t ids_at;
    size_t fields_at;
    const struct db_rows *fields; /* definitions of custom fields */
    struct fire **open;           /* the fires that are not refused, in the same order */
    size_t open_count;
    struct run_start *starts; /* of all open fires */
    size_t start_count;
};

/* ---- fire_reading.c ---- */

/* Adds the statements that read what the fires need, and lock the automations. */
void fire_group_read_ask(struct fire_group *group, struct db_batch *batch) NONNULL(1, 2);

/* Takes the results, and finds the fires that are refused. */
MUST_CHECK bool fire_group_read(struct fire_group *group, const struct db_batch *batch, struct error *err) NONNULL(1, 2, 3);

/* ---- fire_starting.c ---- */

/* The listeners with a rule of re-entry, each with the address of its fire. `max`: listeners of all open fires. */
struct fire_last_runs_params fire_group_rules(const struct fire_group *group, size_t max) NONNULL(1);

/* Sorts the listeners of each open fire into starts and refusals. `last_runs` are those of fire_group_rules, `run_ids` has an id
 * for each listener. */
void fire_group_choose_starts(struct fire_group *group, const struct db_rows *last_runs, const struct db_rows *run_ids)
    NONNULL(1, 2, 3);
