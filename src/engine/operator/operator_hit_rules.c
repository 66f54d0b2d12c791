#include "engine/operator/operator_hit_rules.h"

#include "engine/hits/hit_matches.h"
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

static bool write_changed(const struct work *work, struct json_writer *json, struct error *err)
{
    hit_matchers_forget(work);
    return hit_rules_write(work, json, err);
}

bool operator_add_hit_match(const struct work *work, const char *fact, const char *text, const char *actor,
                            struct json_writer *json, struct error *err)
{
    DB_TX tx = { .conn = NULL };
    return db_tx_begin(work->conn, &tx, err) && hit_match_set(work, fact, text, actor, err) &&
           operator_commit(work, &tx, "admin.hit-rule.add", text, err) && write_changed(work, json, err);
}

bool operator_remove_hit_match(const struct work *work, const char *fact, const char *text, struct json_writer *json,
                               struct error *err)
{
    DB_TX tx = { .conn = NULL };
    return db_tx_begin(work->conn, &tx, err) && hit_match_drop(work, fact, text, err) &&
           operator_commit(work, &tx, "admin.hit-rule.remove", text, err) && write_changed(work, json, err);
}
