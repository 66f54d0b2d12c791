#include "engine/operator/operator_hit_rules.h"

#include "engine/operator/operator_audit.h"

bool operator_set_hit_rule(const struct work *work, const char *subject, const char *decision, struct json_writer *json,
                           struct error *err)
{
    DB_TX tx = { .conn = NULL };
    return db_tx_begin(work->conn, &tx, err) && hit_override_set(work, subject, decision, err) &&
           operator_commit(work, &tx, "admin.hit-rule.set", subject, err) && hit_rules_write(work, json, err);
}

bool operator_remove_hit_rule(const struct work *work, const char *subject, const char *kind, struct json_writer *json,
                              struct error *err)
{
    DB_TX tx = { .conn = NULL };
    return db_tx_begin(work->conn, &tx, err) && hit_override_remove(work, subject, kind, err) &&
           operator_commit(work, &tx, "admin.hit-rule.remove", subject, err) && hit_rules_write(work, json, err);
}
