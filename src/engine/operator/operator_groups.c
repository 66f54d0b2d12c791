#include "engine/operator/operator.h"
#include "engine/operator/operator_audit.h"
#include "engine/preferences/preferences.h"

bool operator_set_public_group(const struct work *work, const char *name, const char *title, struct error *err)
{
    DB_TX tx = { .conn = NULL };
    return db_tx_begin(work->conn, &tx, err) && public_group_set(work, name, title, err) &&
           operator_commit(work, &tx, "admin.group.public", name, err);
}

bool operator_remove_public_group(const struct work *work, const char *name, bool *ret_changed, struct error *err)
{
    DB_TX tx = { .conn = NULL };
    return db_tx_begin(work->conn, &tx, err) && public_group_remove(work, name, ret_changed, err) &&
           operator_commit(work, &tx, "admin.group.private", name, err);
}

bool operator_write_public_groups(const struct work *work, struct json_writer *json, struct error *err)
{
    return public_groups_write(work, json, err);
}
