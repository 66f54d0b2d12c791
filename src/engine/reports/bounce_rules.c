#include "engine/reports/bounce_rules.h"

#include "base/text.h"
#include "engine/reports/reports.h"
#include "sql/bounce_rules.h"

#include <string.h>

/* White space alone is in every diagnostic, so it does not count. */
static bool check_pattern(const struct work *work, const char *pattern, struct error *err)
{
    if (!utf8_has_length(pattern, BOUNCE_PATTERN_MIN_CHARS, BOUNCE_PATTERN_MAX_CHARS) ||
        utf8_length(text_trim(work->arena, pattern)) < BOUNCE_PATTERN_MIN_CHARS)
        return fail(err, ERR_INVALID_REQUEST, "pattern", "The pattern has %d to %d characters beside white space.",
                    BOUNCE_PATTERN_MIN_CHARS, BOUNCE_PATTERN_MAX_CHARS);
    return true;
}

static bool check_class(const char *name, struct error *err)
{
    enum bounce_class bounce;
    return bounce_class_parse(name, &bounce) ||
           fail(err, ERR_INVALID_REQUEST, "class", "The class must be hard, mailbox_full, block or refused.");
}

bool bounce_rule_add(const struct work *work, const char *pattern, const char *class_name, int64_t *ret_id, struct error *err)
{
    struct bounce_rule_insert_params params = {
        .pattern = text_lower(work->arena, pattern),
        .class_name = class_name,
        .now = work->now_us,
        .most = BOUNCE_RULES_MAX,
    };
    struct bounce_rule_insert_row *row;
    if (!check_pattern(work, pattern, err) || !check_class(class_name, err) ||
        !sql_bounce_rule_insert(work->conn, work->arena, &params, &row, err))
        return false;
    if (row->same_id.set)
        return fail(err, ERR_INVALID_REQUEST, "pattern", "Rule %lld has this pattern; remove it first.",
                    (long long)row->same_id.value);
    if (!row->id.set)
        return fail(err, ERR_INVALID_REQUEST, "pattern", "There are %d rules; remove one first.", BOUNCE_RULES_MAX);
    *ret_id = row->id.value;
    return true;
}

bool bounce_rules_write(const struct work *work, struct json_writer *json, struct error *err)
{
    struct bounce_rules_list_row *rows;
    size_t count;
    if (!sql_bounce_rules_list(work->conn, work->arena, &rows, &count, err))
        return false;
    json_list_begin(json);
    for (size_t i = 0; i < count; i++) {
        json_object_begin(json);
        json_member_int(json, "ruleId", rows[i].id);
        json_member_text(json, "pattern", rows[i].pattern);
        json_member_text(json, "class", rows[i].class_name);
        json_member_time(json, "createdAt", rows[i].created_at);
        json_object_end(json);
    }
    json_list_end(json);
    return true;
}

bool bounce_rule_remove(const struct work *work, int64_t id, struct error *err)
{
    struct bounce_rule_delete_params params = { id };
    struct bounce_rule_delete_row *row;
    if (!sql_bounce_rule_delete(work->conn, work->arena, &params, &row, err))
        return false;
    return row != NULL || fail(err, ERR_NOT_FOUND, "rule", "No bounce rule with this number.");
}
