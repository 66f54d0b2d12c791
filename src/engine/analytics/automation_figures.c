/*
 * Figures of automations: their runs and their mail in a window.
 */
#include "sql/automation_figures.h"
#include "engine/analytics/analytics.h"
#include "engine/core/page.h"

#include <stdlib.h>

/* ---- Counts ---- */

static const char *const count_names[] = { "runs",   "completed", "failed",  "sent",       "delivered",
                                           "opened", "clicked",   "bounced", "complained", "unsubscribed" };

static int64_t *count_at(struct automation_figures_row *row, size_t i)
{
    int64_t *const counts[ARRAY_COUNT(count_names)] = {
        &row->runs,   &row->completed, &row->failed,  &row->sent,       &row->delivered,
        &row->opened, &row->clicked,   &row->bounced, &row->complained, &row->unsubscribed,
    };
    return counts[i];
}

static void write_counts(struct automation_figures_row *row, struct json_writer *json)
{
    for (size_t i = 0; i < ARRAY_COUNT(count_names); i++)
        json_member_int(json, count_names[i], *count_at(row, i));
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

static void write_automation(const struct work *work, struct automation_figures_row *row, struct json_writer *json)
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

/* ---- Totals ---- */

/* Adding up all automations takes long, so the first page does it, and its cursor takes the totals to the others. */
static const char *totals_text(const struct work *work, struct automation_figures_row *totals)
{
    struct buf *text = buf_in_arena(work->arena, PAGE_TEXT_KEY_MAX_BYTES);
    for (size_t i = 0; i < ARRAY_COUNT(count_names); i++)
        buf_printf(text, "%lld ", (long long)*count_at(totals, i));
    return buf_text(text);
}

static struct automation_figures_row *totals_read(const struct work *work, const char *text)
{
    struct automation_figures_row *totals = arena_alloc(work->arena, sizeof(*totals));
    *totals = (struct automation_figures_row){ .id = 0 };
    for (size_t i = 0; i < ARRAY_COUNT(count_names); i++) {
        char *end;
        *count_at(totals, i) = strtoll(text, &end, 10);
        text = end;
    }
    return totals;
}

static void write_totals(struct automation_figures_row *totals, struct json_writer *json)
{
    json_key(json, "totals");
    json_object_begin(json);
    write_counts(totals, json);
    json_object_end(json);
}

/* ---- Pages ---- */

static void write_page(const struct work *work, const struct db_rows *found, int64_t limit, struct automation_figures_row *totals,
                       const char *binding, struct json_writer *json)
{
    struct automation_figures_row *rows = found->rows;
    struct page page = page_begin(json, limit, (struct db_page){ .count = found->count, .is_cut = found->is_cut });
    while (page_next_row(&page))
        write_automation(work, &rows[page.shown - 1], json);
    struct page_cursor end = { .text = totals_text(work, totals) };
    if (page.shown > 0) {
        end.number = rows[page.shown - 1].created_at;
        end.id = rows[page.shown - 1].id;
    }
    page_end(&page, work, binding, end);
}

static bool find_page(const struct work *work, struct window window, const struct page_cursor *start, int64_t limit,
                      const struct db_rows **ret_found, struct automation_figures_row **ret_totals, struct error *err)
{
    struct automation_figures_params figures = {
        .brand_id = work->brand_id,
        .from_time = window.from_us,
        .to_time = window.to_us,
        .from_start = !start->set,
        .at = start->number,
        .id = start->id,
        .limit = limit + 1,
    };
    struct automation_totals_params totals = { .brand_id = work->brand_id, .from_time = window.from_us, .to_time = window.to_us };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    size_t figures_at = db_batch_add(batch, &automation_figures_statement, &figures);
    size_t totals_at = start->text == NULL ? db_batch_add(batch, &automation_totals_statement, &totals) : 0;
    if (!db_batch_run(batch, err))
        return false;
    *ret_found = db_batch_rows(batch, figures_at);
    *ret_totals = start->text == NULL ? db_batch_rows(batch, totals_at)->rows : totals_read(work, start->text);
    return true;
}

bool analytics_automations(const struct work *work, struct window window, int64_t limit, const char *cursor,
                           struct json_writer *json, struct error *err)
{
    const char *binding =
        arena_printf(work->arena, "analytics.automations|%lld|%lld", (long long)(window.has_from ? window.from_us : 0),
                     (long long)(window.has_to ? window.to_us : 0));
    struct page_cursor start;
    const struct db_rows *found;
    struct automation_figures_row *totals;
    if (!page_cursor_read(work, binding, cursor, &start, err) || !find_page(work, window, &start, limit, &found, &totals, err))
        return false;
    write_page(work, found, limit, totals, binding, json);
    write_totals(totals, json);
    window_write(window, json);
    json_object_end(json);
    return true;
}
