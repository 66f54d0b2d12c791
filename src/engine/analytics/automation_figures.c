/*
 * Figures of automations: their runs and their mail in a window.
 */
#include "sql/automation_figures.h"
#include "engine/analytics/analytics.h"
#include "engine/core/page.h"

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

static size_t rows_before_page(const struct automation_figures_row *rows, size_t count, const struct page_cursor *cursor_start)
{
    size_t skipped = 0;
    while (cursor_start->set && skipped < count &&
           (rows[skipped].created_at > cursor_start->number ||
            (rows[skipped].created_at == cursor_start->number && rows[skipped].id >= cursor_start->id)))
        skipped++;
    return skipped;
}

static void write_page(const struct work *work, const struct automation_figures_row *rows, size_t count, int64_t limit,
                       const char *binding, struct json_writer *json)
{
    struct page page = page_begin(json, limit, (struct db_page){ .count = count });
    while (page_next_row(&page))
        write_automation(work, &rows[page.shown - 1], json);
    struct page_cursor end = { .set = false };
    if (page.shown > 0)
        end = (struct page_cursor){ .number = rows[page.shown - 1].created_at, .id = rows[page.shown - 1].id };
    page_end(&page, work, binding, end);
}

static void write_totals(const struct automation_figures_row *rows, size_t count, struct json_writer *json)
{
    struct automation_figures_row total = { .id = 0 };
    for (size_t i = 0; i < count; i++)
        add_to(&total, &rows[i]);
    json_key(json, "totals");
    json_object_begin(json);
    write_counts(&total, json);
    json_object_end(json);
}

bool analytics_automations(const struct work *work, struct window window, int64_t limit, const char *cursor,
                           struct json_writer *json, struct error *err)
{
    const char *binding =
        arena_printf(work->arena, "analytics.automations|%lld|%lld", (long long)(window.has_from ? window.from_us : 0),
                     (long long)(window.has_to ? window.to_us : 0));
    struct automation_figures_params params = { .brand_id = work->brand_id, .from_time = window.from_us, .to_time = window.to_us };
    struct page_cursor cursor_start;
    struct automation_figures_row *rows;
    size_t count;
    if (!page_cursor_read(work, binding, cursor, &cursor_start, err) ||
        !sql_automation_figures(work->conn, work->arena, &params, &rows, &count, err))
        return false;
    size_t skipped = rows_before_page(rows, count, &cursor_start);
    write_page(work, &rows[skipped], count - skipped, limit, binding, json);
    write_totals(rows, count, json);
    window_write(window, json);
    json_object_end(json);
    return true;
}
