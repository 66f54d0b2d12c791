#include "engine/simulations/draft.h"

#include "base/json_read.h"
#include "sql/simulations.h"

#include <string.h>

enum { STORED_MAX_BYTES = 4 * 1024 * 1024 };

static bool read_stored(struct arena *arena, const char *text, const json_t **ret_json, struct error *err)
{
    return json_read(arena, text, strlen(text), (struct json_bounds){ .max_bytes = STORED_MAX_BYTES, .from_jsonb = true }, ret_json,
                     err);
}

bool draft_load(const struct work *work, int64_t automation_id, struct draft *ret_draft, struct error *err)
{
    struct simulation_automation_params params = { .brand_id = work->brand_id, .id = automation_id };
    struct simulation_automation_row *row;
    const json_t *nodes;
    const json_t *connections;
    if (!sql_simulation_automation(work->conn, work->arena, &params, &row, err))
        return false;
    if (row == NULL)
        return fail(err, ERR_AUTOMATION_NOT_FOUND, "automationId", "No automation with this id in this brand.");
    ret_draft->version_id = row->version_id;
    ret_draft->time_zone = row->time_zone;
    return read_stored(work->arena, row->nodes, &nodes, err) && read_stored(work->arena, row->connections, &connections, err) &&
           graph_read(work->arena, &work->engine->ids, nodes, connections, &ret_draft->graph, err);
}

bool draft_read_contact(struct arena *arena, const char *text, const json_t **ret_contact, struct error *err)
{
    return read_stored(arena, text, ret_contact, err);
}
