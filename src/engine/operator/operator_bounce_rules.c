#include "engine/operator/operator_bounce_rules.h"

#include "base/text.h"
#include "engine/operator/operator_audit.h"

bool operator_add_bounce_rule(const struct work *work, const char *pattern, const char *class_name, struct json_writer *json,
                              struct error *err)
{
    int64_t id;
    DB_TX tx = { .conn = NULL };
    if (!db_tx_begin(work->conn, &tx, err) || !bounce_rule_add(work, pattern, class_name, &id, err))
        return false;
    const char *subject = arena_printf(work->arena, "%lld", (long long)id);
    if (!operator_commit(work, &tx, "admin.bounce-rule.add", subject, err))
        return false;
    json_object_begin(json);
    json_member_int(json, "ruleId", id);
    json_member_text(json, "pattern", pattern);
    json_member_text(json, "class", class_name);
    json_object_end(json);
    return true;
}

bool operator_remove_bounce_rule(const struct work *work, const char *id, struct json_writer *json, struct error *err)
{
    int64_t number;
    if (!int64_parse(id, &number))
        return fail(err, ERR_INVALID_REQUEST, "rule", "Name the rule by its number; posthorn admin bounce-rule list shows it.");
    DB_TX tx = { .conn = NULL };
    if (!db_tx_begin(work->conn, &tx, err) || !bounce_rule_remove(work, number, err) ||
        !operator_commit(work, &tx, "admin.bounce-rule.remove", id, err))
        return false;
    json_object_begin(json);
    json_member_int(json, "ruleId", number);
    json_member_bool(json, "removed", true);
    json_object_end(json);
    return true;
}
