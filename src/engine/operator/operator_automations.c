#include "engine/operator/operator_automations.h"

#include "engine/automations/move.h"
#include "engine/operator/operator_audit.h"

bool operator_move_automation(struct work *work, const char *wire_id, const char *version, bool is_dry_run,
                              struct json_writer *json, struct error *err)
{
    int64_t id = id_decode(&work->engine->ids, ID_AUTOMATION, wire_id);
    DB_TX tx = { .conn = NULL };
    if (!automation_find_brand(work, id, &work->brand_id, &work->organization_id, err) || !db_tx_begin(work->conn, &tx, err) ||
        !automation_move(work, id, version, is_dry_run, json, err))
        return false;
    return is_dry_run || operator_commit(work, &tx, "admin.automation.move", wire_id, err);
}
