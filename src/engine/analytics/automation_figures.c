/*
 * Figures of automations: their runs and their mail in a window.
 */
#include "sql/automation_figures.h"
#include "engine/analytics/analytics.h"

/* The totals are summed up in a row of the same shape. */
static void add_to(struct automation_figures_row *total, const struct automation_figures_row *row)
{
    total->runs += row->runs;
    total->completed += row->completed;
    total->failed += row->failed;
    total->sent += row->sent;
    total->delivered += row->delivered;
    total->opened += row->opened;
    total->clicked += row->clicked;
    total->bounced += row->bounced;
    total->complained += row->complained;
    total->unsubscribed += row->unsubscribed;
}

static void write_counts(const struct automation_figures_row *row, struct json_writer *json)
{
    json_member_int(json, "runs", row->runs);
    json_member_int(json, "completed", row->completed);
    json_member_int(json, "failed", row->failed);
    json_member_int(json, "sent", row->sent);
    json_member_int(json, "delivered", row->delivered);
    json_member_int(json, "opened", row->opened);
    json_member_int(json, "clicked", row->clicked);
    json_member_int(json, "bounced", row->bounced);
    json_member_int(json, "complained", row->complained);
    json_member_int(json, "unsubscribed", row->unsubscribed);
}

/* A share of 0 to 1; null where there is nothing to divide by. More than all can be counted when the window cuts off the earlier
 * part, so the share is at most 1. */
static void write_rate(struct json_writer *json, const char *name, int64_t count, int64_t of)
{
    json_key(json, name);
    if (of == 0)
        json_null_value(json);
    else
        json_number(json, count < of ? (double)count / (double)of : 1);
}

static void write_automation(const struct work *work, const struct automation_figures_row *row, struct json_writer *json)
{
    int64_t tracked = row->is_tracked ? row->delivered : 0;
    json_object_begin(json);
    json_member_id(json, work, "automationId", ID_AUTOMATION, row->id);
    json_member_text(json, "name", row->name);
    json_member_bool(json, "published", row->is_published);
    write_counts(row, json);
    write_rate(json, "successRate", row->completed, row->completed + row->failed);
    write_rate(json, "openRate", row->opened, tracked);
    write_rate(json, "clickRate", row->clicked, tracked);
    json_member_time_if(json, "lastRunAt", row->last_run_at);
    json_object_end(json);
}

bool analytics_automations(const struct work *work, struct window window, struct json_writer *json, struct error *err)
{
    struct automation_figures_params params = { .brand_id = work->brand_id, .from_time = window.from_us, .to_time = window.to_us };
    struct automation_figures_row *rows;
    size_t count;
    if (!sql_automation_figures(work->conn, work->arena, &params, &rows, &count, err))
        return false;
    struct automation_figures_row total = { .id = 0 };
    json_list_begin(json);
    for (size_t i = 0; i < count; i++) {
        add_to(&total, &rows[i]);
        if (i < ANALYTICS_AUTOMATIONS_MAX)
            write_automation(work, &rows[i], json);
    }
    json_array_end(json);
    json_key(json, "totals");
    json_object_begin(json);
    write_counts(&total, json);
    json_object_end(json);
    window_write(window, json);
    json_object_end(json);
    return true;
}
