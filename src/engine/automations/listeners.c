#include "engine/automations/listeners.h"

#include "db/advisory_locks.h"
#include "sql/listeners.h"

/* The statement behind the lock sees what was committed while this one waited. */
static bool find(const struct work *work, int64_t automation_id, int64_t trigger_id, const struct listeners_find_row **ret_row,
                 struct error *err)
{
    struct listeners_serialize_params lock = { .lock = ADVISORY_LOCK_LISTENERS, .trigger_id = trigger_id };
    struct listeners_find_params params = {
        .brand_id = work->brand_id,
        .trigger_id = trigger_id,
        .automation_id = automation_id,
        .bound = LISTENERS_MAX,
    };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    db_batch_add(batch, &listeners_serialize_statement, &lock);
    size_t at = db_batch_add(batch, &listeners_find_statement, &params);
    if (!db_batch_run(batch, err))
        return false;
    *ret_row = db_batch_rows(batch, at)->rows;
    return true;
}

bool listeners_check(const struct work *work, int64_t automation_id, const struct definition *definition, struct blockers *blockers,
                     struct error *err)
{
    const struct graph *graph = definition->graph;
    const struct listeners_find_row *found;
    if (!definition->trigger_id.set)
        return true;
    if (!find(work, automation_id, definition->trigger_id.value, &found, err))
        return false;
    if (!found->is_listener && found->others >= LISTENERS_MAX)
        blocker_add(blockers, &graph->nodes[graph->trigger], false,
                    "At most %d published automations start with one trigger event, and this one has them. "
                    "Set triggerEventId to another, or unpublish an automation.",
                    LISTENERS_MAX);
    return true;
}
