#include "engine/automations/move.h"

#include "base/json_read.h"
#include "base/text.h"
#include "engine/automations/blockers.h"
#include "engine/automations/definition.h"
#include "engine/runs/cancel.h"
#include "engine/runs/start.h"
#include "sql/automations.h"
#include "sql/move.h"

#include <string.h>

static bool not_found(struct error *err)
{
    return fail(err, ERR_AUTOMATION_NOT_FOUND, "automationId", "No automation with this id.");
}

bool automation_find_brand(const struct work *work, int64_t automation_id, int64_t *ret_brand_id, int64_t *ret_organization_id,
                           struct error *err)
{
    struct automation_brand_params params = { .id = automation_id };
    struct automation_brand_row *row;
    if (!sql_automation_brand(work->conn, work->arena, &params, &row, err))
        return false;
    if (row == NULL)
        return not_found(err);
    *ret_brand_id = row->brand_id;
    *ret_organization_id = row->organization_id;
    return true;
}

/* ---- The version ---- */

static bool find_version(const struct work *work, int64_t automation_id, const char *name,
                         struct automation_version_find_row **ret_row, struct error *err)
{
    int64_t number;
    bool is_number = int64_parse(name, &number);
    struct automation_version_find_params params = {
        .brand_id = work->brand_id,
        .automation_id = automation_id,
        .id = { .set = !is_number, .value = is_number ? 0 : id_decode(&work->engine->ids, ID_VERSION, name) },
        .version = { .set = is_number, .value = is_number ? number : 0 },
    };
    if (!sql_automation_version_find(work->conn, work->arena, &params, ret_row, err))
        return false;
    return *ret_row != NULL || fail(err, ERR_AUTOMATION_VERSION_NOT_FOUND, "to",
                                    "The automation has no version %.64s. Pass its number or its id.", name);
}

static bool read_stored(const struct work *work, const char *text, const json_t **ret_json, struct error *err)
{
    return json_read(work->arena, text, strlen(text), (struct json_bounds){ .max_bytes = SIZE_MAX, .from_jsonb = true }, ret_json,
                     err);
}

/* Reads the graph of the version, and refuses one that could not be published: runs would fail in it. */
static bool read_target(const struct work *work, const struct automation_version_find_row *version,
                        struct definition *ret_definition, struct error *err)
{
    const json_t *nodes;
    const json_t *connections;
    struct blockers blockers;
    return read_stored(work, version->nodes, &nodes, err) && read_stored(work, version->connections, &connections, err) &&
           definition_read(work, nodes, connections, ret_definition, err) &&
           blockers_find(work, ret_definition->graph, &ret_definition->refs, &blockers, err) && blockers_refuse(&blockers, err);
}

/* ---- The runs ---- */

struct move {
    int64_t automation_id;
    const struct automation_version_find_row *version;
    const struct graph *graph;
    bool is_dry_run;
    const struct runs_move_row *rows;
    size_t count;
};

static bool move_runs(const struct work *work, struct move *move, struct error *err)
{
    const struct graph *graph = move->graph;
    const char **nodes = arena_array(work->arena, graph->node_count, sizeof(*nodes));
    const char **types = arena_array(work->arena, graph->node_count, sizeof(*types));
    bool *reads_payload = arena_array(work->arena, graph->node_count, sizeof(*reads_payload));
    for (size_t i = 0; i < graph->node_count; i++) {
        nodes[i] = graph->nodes[i].id;
        types[i] = node_types[graph->nodes[i].type].name;
        reads_payload[i] = graph->nodes[i].payload_ahead;
    }
    struct runs_move_params params = {
        .brand_id = work->brand_id,
        .automation_id = move->automation_id,
        .version_id = move->version->id,
        .nodes = { .items = nodes, .count = graph->node_count },
        .types = { .items = types, .count = graph->node_count },
        .reads_payload = { .items = reads_payload, .count = graph->node_count },
        .trigger_node = graph->nodes[graph->trigger].id,
        .applies = !move->is_dry_run,
        .now = work->now_us,
    };
    struct runs_move_row *rows;
    if (!sql_runs_move(work->conn, work->arena, &params, &rows, &move->count, err))
        return false;
    move->rows = rows;
    return true;
}

/* Cancels the runs whose node the version does not have. */
static bool cancel_leaving(const struct work *work, const struct move *move, struct error *err)
{
    for (size_t i = 0; i < move->count; i++) {
        const struct runs_move_row *row = &move->rows[i];
        int64_t canceled;
        struct runs_to_cancel which = {
            .run_ids = row->run_ids,
            .reason = arena_printf(work->arena, "The node %s is not in version %lld, to which the run was to move.", row->node_id,
                                   (long long)move->version->version),
        };
        if (row->run_ids.count > 0 && !runs_cancel(work, which, &canceled, err))
            return false;
    }
    return true;
}

/* ---- The counts ---- */

static int64_t sum_of(const struct move *move, const char *outcome)
{
    int64_t sum = 0;
    for (size_t i = 0; i < move->count; i++)
        if (text_equal(move->rows[i].outcome, outcome))
            sum += move->rows[i].runs;
    return sum;
}

static void write_move(const struct work *work, const struct move *move, struct json_writer *json)
{
    json_object_begin(json);
    json_member_id(json, work, "automationId", ID_AUTOMATION, move->automation_id);
    json_member_id(json, work, "automationVersionId", ID_VERSION, move->version->id);
    json_member_int(json, "version", move->version->version);
    json_member_bool(json, "dryRun", move->is_dry_run);
    json_member_int(json, "moves", sum_of(move, "moves"));
    json_member_int(json, "leaves", sum_of(move, "leaves"));
    json_member_int(json, "stays", sum_of(move, "stays"));
    json_key(json, "nodes");
    json_array_begin(json);
    for (size_t i = 0; i < move->count; i++) {
        json_object_begin(json);
        json_member_int(json, "fromVersion", move->rows[i].version);
        json_member_text(json, "nodeId", move->rows[i].node_id);
        json_member_text(json, "outcome", move->rows[i].outcome);
        json_member_int(json, "runs", move->rows[i].runs);
        json_object_end(json);
    }
    json_array_end(json);
    json_object_end(json);
}

/* The lock keeps the version and the pause of the automation until the commit. */
static bool lock_automation(const struct work *work, int64_t automation_id, struct error *err)
{
    struct automation_lock_params params = { .brand_id = work->brand_id, .id = automation_id };
    struct automation_lock_row *row;
    return sql_automation_lock(work->conn, work->arena, &params, &row, err) && (row != NULL || not_found(err));
}

bool automation_move(const struct work *work, int64_t automation_id, const char *version, bool is_dry_run, struct json_writer *json,
                     struct error *err)
{
    struct automation_version_find_row *target;
    struct definition definition = { .graph = NULL };
    if (!lock_automation(work, automation_id, err) || !find_version(work, automation_id, version, &target, err) ||
        !read_target(work, target, &definition, err))
        return false;
    struct move move = { .automation_id = automation_id, .version = target, .graph = definition.graph, .is_dry_run = is_dry_run };
    if (!move_runs(work, &move, err))
        return false;
    write_move(work, &move, json);
    return is_dry_run || (cancel_leaving(work, &move, err) && runs_notify(work, err));
}
