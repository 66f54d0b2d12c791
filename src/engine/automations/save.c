/*
 * Saving automations: create and update. An edit is checked as a whole before
 * anything is written.
 */
#include "engine/automations/automations.h"

#include "base/json_read.h"
#include "base/text.h"
#include "engine/automations/blockers.h"
#include "engine/automations/branch_warnings.h"
#include "engine/automations/definition.h"
#include "engine/automations/graph_issues.h"
#include "engine/automations/listeners.h"
#include "engine/runs/cancel.h"
#include "engine/runs/release.h"

#include <string.h>

static const char untitled[] = "Untitled";

/* Writes what a dry run has found. `id` 0: a new automation. */
static bool report(const struct work *work, int64_t id, const struct definition *definition, struct json_writer *json,
                   struct error *err)
{
    struct blockers blockers;
    if (!blockers_find(work, definition->graph, &definition->refs, &blockers, err) ||
        !listeners_check(work, id, definition, &blockers, err) || !branch_warnings_find(work, id, definition, &blockers, err))
        return false;
    blockers_write_report(&blockers, definition->graph, json);
    return true;
}

static bool clean_name(const struct work *work, const char *given, const char **ret_name, struct error *err)
{
    *ret_name = given != NULL ? text_trim(work->arena, given) : NULL;
    return *ret_name == NULL || (*ret_name)[0] != '\0' ||
           fail(err, ERR_INVALID_REQUEST, "name", "The name of an automation must not be blank.");
}

/* ---- Creating ---- */

static bool insert(const struct work *work, const struct automation_edit *edit, const char *name,
                   const struct definition *definition, int64_t *ret_id, struct error *err)
{
    bool has_description = edit->description != NULL && edit->description[0] != '\0';
    struct automation_insert_params params = {
        .brand_id = work->brand_id,
        .name = name != NULL ? name : untitled,
        .description = has_description ? edit->description : NULL,
        .nodes = definition->nodes,
        .connections = definition->connections,
        .definition_hash = { .data = definition->hash, .size = sizeof(definition->hash) },
        .trigger_id = definition->trigger_id,
        .audience_id = definition->audience_id,
        .email_ids = definition->email_ids,
        .bound = AUTOMATIONS_MAX_PER_BRAND,
        .now = work->now_us,
    };
    struct automation_insert_row *row;
    if (!sql_automation_insert(work->conn, work->arena, &params, &row, err))
        return false;
    if (row == NULL)
        return fail(err, ERR_INVALID_REQUEST, "name", "A brand can have at most %d automations. Delete one.",
                    AUTOMATIONS_MAX_PER_BRAND);
    *ret_id = row->id;
    return true;
}

bool automation_create(const struct work *work, const struct automation_edit *edit, struct json_writer *json,
                       struct automation_saved *ret_saved, struct error *err)
{
    struct definition definition = { .graph = NULL };
    const char *name;
    int64_t id;
    *ret_saved = (struct automation_saved){ .row = NULL };
    if (edit->published.set && edit->published.value)
        return fail(
            err, ERR_INVALID_REQUEST, "published",
            "A new automation is a draft. Create it without published, then change it by its automationId with published true.");
    if (!clean_name(work, edit->name, &name, err) || !definition_read(work, edit->nodes, edit->connections, &definition, err) ||
        !graph_issues_check(work, definition.graph, &definition.refs, err))
        return false;
    if (edit->is_dry_run)
        return report(work, 0, &definition, json, err);
    return insert(work, edit, name, &definition, &id, err) &&
           automation_get(work, id, (struct automation_parts){ .graph = true }, &ret_saved->row, err);
}

/* ---- Changing ---- */

/* The change of an automation that is locked. */
struct change {
    int64_t id;
    const struct automation_edit *edit;
    const struct automation_lock_row *before;
    const char *name;
    bool is_publishing;
    bool is_unpublishing;
    bool is_paused;   /* behind the change */
    bool has_graph;   /* the edit has nodes or connections */
    bool needs_graph; /* it must be checked */
    struct definition definition;
    struct blockers *warnings; /* of a publication; NULL: it is none */
};

static bool lock(const struct work *work, struct change *change, struct error *err)
{
    struct automation_lock_params params = { .brand_id = work->brand_id, .id = change->id };
    struct automation_lock_row *row;
    if (!sql_automation_lock(work->conn, work->arena, &params, &row, err))
        return false;
    change->before = row;
    return row != NULL || fail(err, ERR_AUTOMATION_NOT_FOUND, "automationId", "No automation with this id in this brand.");
}

/* Checks what needs no database. */
static bool check_edit(const struct automation_edit *edit, struct error *err)
{
    bool unpublishes = edit->published.set && !edit->published.value;
    bool changes = edit->name != NULL || edit->description != NULL || edit->nodes != NULL || edit->connections != NULL ||
                   edit->published.set || edit->paused.set || edit->stop_in_flight.set || edit->is_dry_run;
    if (!changes)
        return fail(err, ERR_INVALID_REQUEST, "nodes",
                    "Pass what to change: name, description, nodes, connections, published or paused.");
    if (edit->stop_in_flight.set && !unpublishes)
        return fail(err, ERR_INVALID_REQUEST, "stopInFlight", "stopInFlight goes with published false only.") || /* */
               error_suggest(err, "Add published: false, or leave out stopInFlight.");
    if (unpublishes && edit->paused.set)
        return fail(err, ERR_INVALID_REQUEST, "paused", "A draft cannot be paused. Pass either published false or paused.");
    return true;
}

static bool check_states(struct change *change, struct error *err)
{
    const struct automation_edit *edit = change->edit;
    bool is_live = change->before->live_version_id.set;
    change->is_publishing = edit->published.set && edit->published.value;
    change->is_unpublishing = edit->published.set && !edit->published.value;
    change->has_graph = edit->nodes != NULL || edit->connections != NULL;
    change->needs_graph = change->has_graph || change->is_publishing || edit->is_dry_run;
    change->is_paused = edit->paused.set ? edit->paused.value : change->before->is_paused && !change->is_unpublishing;
    if (change->is_unpublishing && !is_live)
        return fail(err, ERR_AUTOMATION_NOT_PUBLISHED, "published", "This automation is a draft already.");
    return !edit->paused.set || is_live || change->is_publishing ||
           fail(err, ERR_INVALID_REQUEST, "paused", "This automation is a draft, which cannot be paused. Publish it first.");
}

/* The given part of the graph, or that of the latest version. */
static bool graph_part(const struct work *work, const json_t *given, const char *stored, const json_t **ret_part, struct error *err)
{
    *ret_part = given;
    return given != NULL || json_read(work->arena, stored, strlen(stored),
                                      (struct json_bounds){ .max_bytes = SIZE_MAX, .from_jsonb = true }, ret_part, err);
}

static bool check_publication(const struct work *work, struct change *change, struct error *err)
{
    const struct definition *definition = &change->definition;
    struct blockers *found = arena_alloc(work->arena, sizeof(*found));
    change->warnings = found;
    return blockers_find(work, definition->graph, &definition->refs, found, err) &&
           listeners_check(work, change->id, definition, found, err) && blockers_refuse(found, err) &&
           branch_warnings_find(work, change->id, definition, found, err);
}

/* Checks the graph. A stored one had no issues when it was saved; if it has one now, it is a blocker. */
static bool check_graph(const struct work *work, struct change *change, struct error *err)
{
    struct definition *definition = &change->definition;
    const json_t *nodes;
    const json_t *connections;
    if (!change->needs_graph)
        return true;
    if (!graph_part(work, change->edit->nodes, change->before->nodes, &nodes, err) ||
        !graph_part(work, change->edit->connections, change->before->connections, &connections, err) ||
        !definition_read(work, nodes, connections, definition, err) ||
        (change->has_graph && !graph_issues_check(work, definition->graph, &definition->refs, err)))
        return false;
    return !change->is_publishing || change->edit->is_dry_run || check_publication(work, change, err);
}

/* Appends a version when the graph is another one. */
static bool append_version(const struct work *work, const struct change *change, struct error *err)
{
    const struct definition *definition = &change->definition;
    struct bytes before = change->before->definition_hash;
    bool is_same = before.size == sizeof(definition->hash) && memcmp(before.data, definition->hash, before.size) == 0;
    if (!change->has_graph || is_same)
        return true;
    struct automation_append_version_params params = {
        .brand_id = work->brand_id,
        .id = change->id,
        .nodes = definition->nodes,
        .connections = definition->connections,
        .definition_hash = { .data = definition->hash, .size = sizeof(definition->hash) },
        .trigger_id = definition->trigger_id,
        .audience_id = definition->audience_id,
        .email_ids = definition->email_ids,
        .now = work->now_us,
    };
    return sql_automation_append_version(work->conn, work->arena, &params, NULL, err);
}

static bool change_row(const struct work *work, const struct change *change, struct error *err)
{
    struct automation_change_params params = {
        .brand_id = work->brand_id,
        .id = change->id,
        .name = change->name,
        .description = change->edit->description,
        .publishing = change->is_publishing     ? "publish"
                      : change->is_unpublishing ? "unpublish"
                                                : NULL,
        .is_paused = change->is_paused,
        .now = work->now_us,
    };
    return sql_automation_change(work->conn, work->arena, &params, NULL, err);
}

/* Stops the runs, or lets those go on that were held. */
static bool change_runs(const struct work *work, const struct change *change, struct error *err)
{
    int64_t canceled;
    if (change->edit->stop_in_flight.set && change->edit->stop_in_flight.value)
        return runs_cancel(work, (struct runs_to_cancel){ .automation_id = change->id }, &canceled, err);
    if (!change->before->is_paused || change->is_paused)
        return true;
    return runs_release(work, (struct runs_to_release){ .automation_id = change->id }, err);
}

bool automation_update(const struct work *work, int64_t id, const struct automation_edit *edit, struct json_writer *json,
                       struct automation_saved *ret_saved, struct error *err)
{
    struct change change = { .id = id, .edit = edit };
    *ret_saved = (struct automation_saved){ .row = NULL };
    if (!check_edit(edit, err) || !clean_name(work, edit->name, &change.name, err) || !lock(work, &change, err) ||
        !check_states(&change, err) || !check_graph(work, &change, err))
        return false;
    if (edit->is_dry_run)
        return report(work, id, &change.definition, json, err);
    ret_saved->warnings = change.warnings;
    return append_version(work, &change, err) && change_row(work, &change, err) && change_runs(work, &change, err) &&
           automation_get(work, id, (struct automation_parts){ .graph = true }, &ret_saved->row, err);
}
