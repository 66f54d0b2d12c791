/*
 * Cohort build: selects the members of a cohort from events. The build reads the
 * events of the selection by keyset, one step per transaction, and stores its
 * position in the row, so that it resumes there after a crash (checkpoint). The
 * members never change after the build.
 */
#include "engine/audiences/audiences.h"

#include "base/clock.h"
#include "base/json_read.h"
#include "engine/filters/filter.h"
#include "mail/address.h"

#include <string.h>

enum {
    SELECTION_MAX_BYTES = 16 * 1024,
    NAME_MAX_BYTES = 256,
    ANALYZE_ABOVE = 1000, /* members; with fewer, the statistics wait for autovacuum (migration 48) */
};

static const char *const event_types[] = { "sent", "delivered", "opened", "clicked", "bounced", "complained", "unsubscribed" };

bool audience_needs_build(const struct audience_row *audience)
{
    return audience->readiness != NULL && strcmp(audience->readiness, "pending") == 0;
}

/* ---- The selection ---- */

static bool check_event_types(const struct work *work, const struct text_list *types, struct error *err)
{
    for (size_t i = 0; i < types->count; i++) {
        size_t known = 0;
        while (known < ARRAY_COUNT(event_types) && strcmp(event_types[known], types->items[i]) != 0)
            known++;
        if (known == ARRAY_COUNT(event_types))
            return fail(
                err, ERR_INVALID_REQUEST, arena_printf(work->arena, "eventTypes.%zu", i),
                "%.20s is not an email event type; use sent, delivered, opened, clicked, bounced, complained or unsubscribed.",
                types->items[i]);
    }
    return true;
}

static bool check_window(const struct work *work, const struct audience_selection *selection, int64_t *ret_to_us, struct error *err)
{
    /* Later events never belong to the cohort, so a future end becomes now. */
    *ret_to_us = selection->to_us.set && selection->to_us.value < work->now_us ? selection->to_us.value : work->now_us;
    if (selection->from_us.value >= *ret_to_us)
        return fail(err, ERR_INVALID_REQUEST, "from", "The time range is empty: from must be before to and not in the future.");
    return true;
}

static struct int_list read_ids(struct arena *arena, const json_t *selection, const char *name)
{
    const json_t *list = json_object_get(selection, name);
    size_t count = json_array_size(list);
    int64_t *ids = arena_array(arena, count, sizeof(*ids));
    for (size_t i = 0; i < count; i++)
        ids[i] = json_integer_value(json_array_get(list, i));
    return (struct int_list){ ids, count };
}

static const struct filter **membership_filters(const struct work *work, struct int_list audience_ids)
{
    const struct filter **filters = arena_array(work->arena, audience_ids.count, sizeof(*filters));
    for (size_t i = 0; i < audience_ids.count; i++)
        filters[i] = filter_of_audience(work, audience_ids.items[i], true, "audienceIds");
    return filters;
}

static struct int_list decode_ids(const struct work *work, enum id_kind kind, const struct text_list *wire_ids)
{
    int64_t *ids = arena_array(work->arena, wire_ids->count, sizeof(*ids));
    for (size_t i = 0; i < wire_ids->count; i++)
        ids[i] = id_decode(&work->engine->ids, kind, wire_ids->items[i]);
    return (struct int_list){ ids, wire_ids->count };
}

static bool refuse_missing(const struct work *work, struct opt_int place, const char *list, enum error_code code, const char *kind,
                           struct error *err)
{
    if (!place.set)
        return true;
    return fail(err, code, arena_printf(work->arena, "%s.%lld", list, (long long)place.value), "No %s with this id in this brand.",
                kind);
}

/* Checks that everything that the selection names belongs to the brand. Deleted designs and automations still have their events. */
static bool check_subjects(const struct work *work, const struct audience_selection *selection, struct int_list automation_ids,
                           struct int_list audience_ids, struct error *err)
{
    struct audience_subjects_params params = {
        .brand_id = work->brand_id,
        .send_id = selection->send_id,
        .email_id = selection->email_id,
        .automation_ids = automation_ids,
        .audience_ids = audience_ids,
    };
    struct audience_subjects_row *found;
    if (!sql_audience_subjects(work->conn, work->arena, &params, &found, err))
        return false;
    if (selection->send_id != 0 && !found->has_send)
        return fail(err, ERR_SEND_NOT_FOUND, "sendId", "No send with this id in this brand.");
    if (selection->email_id != 0 && !found->has_email)
        return fail(err, ERR_EMAIL_NOT_FOUND, "emailId", "No email with this id in this brand.");
    return refuse_missing(work, found->missing_automation, "automationIds", ERR_AUTOMATION_NOT_FOUND, "automation", err) &&
           refuse_missing(work, found->missing_audience, "audienceIds", ERR_AUDIENCE_NOT_FOUND, "audience", err);
}

/* Checks that the build can use all audiences at once. */
static bool check_audiences(const struct work *work, struct int_list audience_ids, struct error *err)
{
    return audience_ids.count == 0 || filter_check_together(work, membership_filters(work, audience_ids), audience_ids.count, err);
}

static bool write_recipient(const struct work *work, const char *recipient, struct json_writer *json, struct error *err)
{
    struct address address;
    if (recipient == NULL)
        return true;
    if (!address_parse(work->arena, recipient, "recipient", &address, err))
        return false;
    json_member_text(json, "recipientKey", address.key);
    return true;
}

static bool write_selection(const struct work *work, const struct audience_selection *selection, const char **ret_json,
                            struct error *err)
{
    int64_t to_us;
    struct int_list automation_ids = decode_ids(work, ID_AUTOMATION, &selection->automation_ids);
    struct int_list audience_ids = decode_ids(work, ID_AUDIENCE, &selection->audience_ids);
    if (!check_event_types(work, &selection->event_types, err) || !check_window(work, selection, &to_us, err) ||
        !check_subjects(work, selection, automation_ids, audience_ids, err) || !check_audiences(work, audience_ids, err))
        return false;
    struct buf *out = buf_in_arena(work->arena, SELECTION_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, out);
    json_object_begin(&json);
    json_member_texts(&json, "eventTypes", selection->event_types);
    json_member_int(&json, "fromUs", selection->from_us.value);
    json_member_int(&json, "toUs", to_us);
    if (selection->send_id != 0)
        json_member_int(&json, "sendId", selection->send_id);
    if (selection->email_id != 0)
        json_member_int(&json, "emailId", selection->email_id);
    json_member_ints(&json, "automationIds", automation_ids);
    json_member_ints(&json, "audienceIds", audience_ids);
    if (!write_recipient(work, selection->recipient, &json, err))
        return false;
    json_object_end(&json);
    *ret_json = buf_text(out);
    return true;
}

/* "opened, clicked since 2026-11-01" */
static const char *cohort_name(const struct work *work, const struct audience_selection *selection)
{
    if (selection->name != NULL)
        return selection->name;
    char since[CLOCK_ISO_CHARS + 1];
    struct buf *name = buf_in_arena(work->arena, NAME_MAX_BYTES);
    clock_format_iso(selection->from_us.value, since);
    for (size_t i = 0; i < selection->event_types.count; i++)
        buf_printf(name, "%s%s", i > 0 ? ", " : "", selection->event_types.items[i]);
    buf_printf(name, " since %.10s", since);
    return buf_text(name);
}

bool audience_create_cohort(const struct work *work, const struct audience_selection *selection, struct audience_row **ret_audience,
                            struct error *err)
{
    struct audience_insert_cohort_params params = {
        .brand_id = work->brand_id,
        .name = cohort_name(work, selection),
        .now = work->now_us,
    };
    return write_selection(work, selection, &params.selection, err) &&
           sql_audience_insert_cohort(work->conn, work->arena, &params, ret_audience, err);
}

/* ---- The build ---- */

static struct opt_int opt_id(const json_t *selection, const char *name)
{
    int64_t id = json_get_int(selection, name, 0);
    return (struct opt_int){ .set = id != 0, .value = id };
}

static struct text_list selected_event_types(struct arena *arena, const json_t *selection)
{
    const json_t *list = json_object_get(selection, "eventTypes");
    size_t count = json_array_size(list);
    const char **items = arena_array(arena, count, sizeof(*items));
    for (size_t i = 0; i < count; i++)
        items[i] = json_string_value(json_array_get(list, i));
    return (struct text_list){ .items = items, .count = count };
}

static bool read_selection(const struct work *work, const char *text, const json_t **ret_selection, struct error *err)
{
    static const struct json_bounds bounds = { .max_bytes = SELECTION_MAX_BYTES, .max_depth = 4 };
    return json_read(work->arena, text, strlen(text), bounds, ret_selection, err);
}

static bool scan_events(const struct work *work, int64_t id, const struct audience_build_lock_row *cohort, const json_t *selection,
                        struct audience_build_step_row **ret_step, struct error *err)
{
    struct audience_build_step_params params = {
        .brand_id = work->brand_id,
        .id = id,
        .event_types = selected_event_types(work->arena, selection),
        .from = json_get_int(selection, "fromUs", 0),
        .to = json_get_int(selection, "toUs", 0),
        .send_id = opt_id(selection, "sendId"),
        .email_id = opt_id(selection, "emailId"),
        .automation_ids = read_ids(work->arena, selection, "automationIds"),
        .recipient_key = json_get_text(selection, "recipientKey"),
        .after_at = cohort->scanned_at.set ? cohort->scanned_at.value : DB_TIME_MINUS_INFINITY,
        .after_id = cohort->scanned_id.value,
        .limit = AUDIENCE_BUILD_STEP_EVENTS,
    };
    return sql_audience_build_step(work->conn, work->arena, &params, ret_step, err);
}

/* Removes the members that are in none of the audiences. */
static bool restrict_members(const struct work *work, int64_t cohort_id, struct int_list audience_ids, int64_t *ret_removed,
                             struct error *err)
{
    const struct filter **filters = membership_filters(work, audience_ids);
    const struct filter_scope *scope;
    struct search_sql sql;
    if (!filter_resolve(work, filters, audience_ids.count, &scope, err))
        return false;
    search_sql_init(&sql, work->arena);
    search_sql_add(&sql, "delete from audience_members k where k.brand_id = ");
    search_sql_number(&sql, work->brand_id);
    search_sql_add(&sql, " and k.audience_id = ");
    search_sql_number(&sql, cohort_id);
    search_sql_add(&sql,
                   " and not exists (select 1 from contacts c where c.brand_id = k.brand_id and c.id = k.contact_id and (false");
    for (size_t i = 0; i < audience_ids.count; i++) {
        search_sql_add(&sql, " or ");
        if (!filter_compile(filters[i], scope, &sql, err))
            return false;
    }
    search_sql_add(&sql, "))");
    const struct db_statement statement = {
        .name = "", .result = DB_EXEC, .sql = buf_text(sql.text), .params = sql.fields, .param_count = sql.count
    };
    struct db_rows rows;
    if (!db_run(work->conn, work->arena, &statement, sql.values, &rows, err))
        return false;
    *ret_removed = rows.affected;
    return true;
}

bool audience_build_step(const struct work *work, int64_t id, bool *ret_done, struct error *err)
{
    struct audience_build_lock_params lock = { .brand_id = work->brand_id, .id = id };
    struct audience_build_lock_row *cohort;
    struct audience_build_step_row *step;
    const json_t *selection;
    *ret_done = true;
    if (!sql_audience_build_lock(work->conn, work->arena, &lock, &cohort, err))
        return false;
    if (cohort == NULL || strcmp(cohort->readiness, "ready") == 0)
        return true;
    if (!read_selection(work, cohort->selection, &selection, err) || !scan_events(work, id, cohort, selection, &step, err))
        return false;
    *ret_done = step->scanned < AUDIENCE_BUILD_STEP_EVENTS;
    if (*ret_done && cohort->stamped + step->stamped > ANALYZE_ABOVE && !sql_audience_analyze(work->conn, work->arena, NULL, err))
        return false;
    int64_t removed = 0;
    struct int_list audience_ids = read_ids(work->arena, selection, "audienceIds");
    if (*ret_done && audience_ids.count > 0 && !restrict_members(work, id, audience_ids, &removed, err))
        return false;
    struct audience_build_note_params note = {
        .brand_id = work->brand_id,
        .id = id,
        .readiness = *ret_done ? "ready" : "running",
        .scanned = step->scanned,
        .stamped = step->stamped - removed,
        .last_at = step->last_at,
        .last_id = step->last_id,
        .now = work->now_us,
    };
    return sql_audience_build_note(work->conn, work->arena, &note, NULL, err);
}

bool audience_build_fail(const struct work *work, int64_t id, struct error *err)
{
    struct audience_build_note_params note = { .brand_id = work->brand_id, .id = id, .readiness = "failed", .now = work->now_us };
    return sql_audience_build_note(work->conn, work->arena, &note, NULL, err);
}
