#include "engine/analytics/analytics.h"

#include "base/clock.h"
#include "base/text.h"
#include "engine/analytics/figures.h"
#include "engine/core/page.h"
#include "mail/address.h"

#include <string.h>

static const int64_t day_us = INT64_C(86400) * US_PER_S;

enum { HOURLY_MAX_DAYS = 3 };

bool window_read(const struct work *work, struct opt_int from_us, struct opt_int to_us, int default_days, struct window *ret_window,
                 struct error *err)
{
    int64_t to = to_us.set ? to_us.value : work->now_us;
    int64_t from = from_us.set ? from_us.value : to - default_days * day_us;
    if (from >= to)
        return fail(err, ERR_INVALID_REQUEST, "from", "from must be before to.");
    if (to - from > ANALYTICS_MAX_DAYS * day_us)
        return fail(err, ERR_INVALID_REQUEST, "from", "from and to must be at most %d days apart.", ANALYTICS_MAX_DAYS);
    *ret_window = (struct window){ .from_us = from, .to_us = to, .has_from = from_us.set, .has_to = to_us.set };
    return true;
}

void window_write(struct window window, struct json_writer *json)
{
    json_key(json, "range");
    json_object_begin(json);
    json_member_time(json, "from", window.from_us);
    json_member_time(json, "to", window.to_us);
    json_object_end(json);
}

/* ---- Overview ---- */

static struct mail_figures figures_of(const struct overview_buckets_row *counts, bool is_tracked)
{
    return (struct mail_figures){
        .sent = counts->sent,
        .delivered = counts->delivered,
        .opened = counts->opened,
        .clicked = counts->clicked,
        .bounced = counts->bounced,
        .complained = counts->complained,
        .unsubscribed = counts->unsubscribed,
        .is_tracked = is_tracked,
    };
}

static struct overview_buckets_row sum_up(const struct overview_buckets_row *buckets, size_t count)
{
    struct overview_buckets_row total = { .at = 0 };
    for (size_t i = 0; i < count; i++) {
        total.sent += buckets[i].sent;
        total.delivered += buckets[i].delivered;
        total.opened += buckets[i].opened;
        total.clicked += buckets[i].clicked;
        total.bounced += buckets[i].bounced;
        total.complained += buckets[i].complained;
        total.unsubscribed += buckets[i].unsubscribed;
    }
    return total;
}

bool analytics_overview(const struct work *work, struct window window, struct json_writer *json, struct error *err)
{
    bool hourly = window.to_us - window.from_us <= HOURLY_MAX_DAYS * day_us;
    struct overview_buckets_params params = {
        .brand_id = work->brand_id,
        .unit = hourly ? "hour" : "day",
        .from_time = window.from_us,
        .to_time = window.to_us,
    };
    struct overview_is_tracked_params tracked_params = { .brand_id = work->brand_id, .to_time = window.to_us };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    size_t buckets_at = db_batch_add(batch, &overview_buckets_statement, &params);
    size_t tracked_at = db_batch_add(batch, &overview_is_tracked_statement, &tracked_params);
    if (!db_batch_run(batch, err))
        return false;
    const struct overview_buckets_row *buckets = db_batch_rows(batch, buckets_at)->rows;
    size_t count = db_batch_rows(batch, buckets_at)->count;
    bool is_tracked = ((const struct overview_is_tracked_row *)db_batch_rows(batch, tracked_at)->rows)->is_tracked;

    struct overview_buckets_row total = sum_up(buckets, count);
    struct mail_figures totals = figures_of(&total, is_tracked);
    json_object_begin(json);
    json_key(json, "totals");
    json_object_begin(json);
    figures_write(work, &totals, json);
    json_object_end(json);
    if (work_is_for_assistant(work)) {
        figures_write_rates(&totals, json);
        figures_write_not_tracked(&totals, json);
    }
    json_key(json, "buckets");
    json_array_begin(json);
    for (size_t i = 0; i < count; i++) {
        json_object_begin(json);
        json_member_time(json, "at", buckets[i].at);
        struct mail_figures bucket = figures_of(&buckets[i], is_tracked);
        figures_write(work, &bucket, json);
        json_object_end(json);
    }
    json_array_end(json);
    json_member_text(json, "granularity", hourly ? "1h" : "1d");
    window_write(window, json);
    json_object_end(json);
    return true;
}

/* ---- Events ---- */

/* Outside the mail, the type on the wire is the domain and the stored type: automation_started. */
static const char *wire_type(const struct work *work, const struct event_row *event)
{
    return text_equal(event->domain, "email") ? event->event_type
                                              : arena_printf(work->arena, "%s_%s", event->domain, event->event_type);
}

/* No two domains share a stored type. NULL stays NULL. */
static const char *stored_type(const char *type)
{
    const char *separator = type != NULL ? strchr(type, '_') : NULL;
    return separator != NULL ? separator + 1 : type;
}

static bool find_of_send(const struct work *work, const struct event_filter *filter, const char *recipient_key,
                         const struct page_cursor *cursor_start, int64_t limit, struct event_row **ret_rows,
                         struct db_page *ret_page, struct error *err)
{
    struct event_page_of_send_params params = {
        .brand_id = work->brand_id,
        .send_id = filter->send_id,
        .automation_id = filter->automation_id,
        .run_id = filter->run_id,
        .recipient_key = recipient_key,
        .event_type = stored_type(filter->event_type),
        .from_time = filter->window.from_us,
        .to_time = filter->window.to_us,
        .from_start = !cursor_start->set,
        .at = cursor_start->number,
        .id = cursor_start->id,
        .limit = limit,
    };
    return sql_event_page_of_send(work->conn, work->arena, &params, ret_rows, ret_page, err);
}

static bool find_of_recipient(const struct work *work, const struct event_filter *filter, const char *recipient_key,
                              const struct page_cursor *cursor_start, int64_t limit, struct event_row **ret_rows,
                              struct db_page *ret_page, struct error *err)
{
    struct event_page_of_recipient_params params = {
        .brand_id = work->brand_id,
        .recipient_key = recipient_key,
        .automation_id = filter->automation_id,
        .event_type = stored_type(filter->event_type),
        .from_time = filter->window.from_us,
        .to_time = filter->window.to_us,
        .from_start = !cursor_start->set,
        .at = cursor_start->number,
        .id = cursor_start->id,
        .limit = limit,
    };
    return sql_event_page_of_recipient(work->conn, work->arena, &params, ret_rows, ret_page, err);
}

static bool find_of_run(const struct work *work, const struct event_filter *filter, const char *recipient_key,
                        const struct page_cursor *cursor_start, int64_t limit, struct event_row **ret_rows,
                        struct db_page *ret_page, struct error *err)
{
    struct event_page_of_run_params params = {
        .brand_id = work->brand_id,
        .run_id = filter->run_id,
        .recipient_key = recipient_key,
        .automation_id = filter->automation_id,
        .event_type = stored_type(filter->event_type),
        .from_time = filter->window.from_us,
        .to_time = filter->window.to_us,
        .from_start = !cursor_start->set,
        .at = cursor_start->number,
        .id = cursor_start->id,
        .limit = limit,
    };
    return sql_event_page_of_run(work->conn, work->arena, &params, ret_rows, ret_page, err);
}

static bool find_of_automation(const struct work *work, const struct event_filter *filter, const struct page_cursor *cursor_start,
                               int64_t limit, struct event_row **ret_rows, struct db_page *ret_page, struct error *err)
{
    struct event_page_of_automation_params params = {
        .brand_id = work->brand_id,
        .automation_id = filter->automation_id,
        .event_type = stored_type(filter->event_type),
        .from_time = filter->window.from_us,
        .to_time = filter->window.to_us,
        .from_start = !cursor_start->set,
        .at = cursor_start->number,
        .id = cursor_start->id,
        .limit = limit,
    };
    return sql_event_page_of_automation(work->conn, work->arena, &params, ret_rows, ret_page, err);
}

static bool find_event_page(const struct work *work, const struct event_filter *filter, const char *recipient_key,
                            const struct page_cursor *cursor_start, int64_t limit, struct event_row **ret_rows,
                            struct db_page *ret_page, struct error *err)
{
    if (filter->send_id != 0)
        return find_of_send(work, filter, recipient_key, cursor_start, limit, ret_rows, ret_page, err);
    if (filter->run_id != 0)
        return find_of_run(work, filter, recipient_key, cursor_start, limit, ret_rows, ret_page, err);
    if (recipient_key != NULL)
        return find_of_recipient(work, filter, recipient_key, cursor_start, limit, ret_rows, ret_page, err);
    if (filter->automation_id != 0)
        return find_of_automation(work, filter, cursor_start, limit, ret_rows, ret_page, err);
    struct event_page_params params = {
        .brand_id = work->brand_id,
        .event_type = stored_type(filter->event_type),
        .from_time = filter->window.from_us,
        .to_time = filter->window.to_us,
        .from_start = !cursor_start->set,
        .at = cursor_start->number,
        .id = cursor_start->id,
        .limit = limit,
    };
    return sql_event_page(work->conn, work->arena, &params, ret_rows, ret_page, err);
}

static void write_event(const struct work *work, const struct event_row *event, struct json_writer *json)
{
    json_object_begin(json);
    json_member_id(json, work, "id", ID_EVENT, event->id);
    json_member_text(json, "domain", event->domain);
    json_member_text(json, "eventType", wire_type(work, event));
    json_member_time(json, "occurredAt", event->occurred_at);
    json_member_text_if(json, "recipientEmail", event->recipient_email);
    json_member_id_if(json, work, "sendId", ID_SEND, event->send_id);
    json_member_id_if(json, work, "emailId", ID_EMAIL, event->email_id);
    json_member_text_if(json, "emailName", event->email_name);
    json_member_text(json, "mode", event->mode);
    json_member_text_if(json, "summary", event->summary);
    json_member_text_if(json, "url", event->url);
    json_member_text_if(json, "actor", event->actor);
    json_member_id_if(json, work, "automationId", ID_AUTOMATION, event->automation_id);
    json_member_text_if(json, "automationName", event->automation_name);
    json_member_text_if(json, "nodeId", event->node_id);
    json_member_id_if(json, work, "automationRunId", ID_RUN, event->automation_run_id);
    json_member_id_if(json, work, "audienceRunId", ID_AUDIENCE_RUN, event->audience_run_id);
    json_member_id_if(json, work, "triggerInstanceId", ID_INSTANCE, event->trigger_instance_id);
    json_object_end(json);
}

static bool recipient_key_of(const struct work *work, const char *recipient, const char **ret_key, struct error *err)
{
    struct address address;
    *ret_key = NULL;
    if (recipient == NULL)
        return true;
    if (!address_parse(work->arena, text_trim(work->arena, recipient), "recipient", &address, err))
        return false;
    *ret_key = address.key;
    return true;
}

bool analytics_events(const struct work *work, const struct event_filter *filter, int64_t limit, const char *cursor,
                      struct json_writer *json, struct error *err)
{
    const char *key;
    if (!recipient_key_of(work, filter->recipient, &key, err))
        return false;
    const struct window *window = &filter->window;
    const char *binding =
        arena_printf(work->arena, "analytics.events|%s|%s|%lld|%lld|%lld|%lld|%lld", key != NULL ? key : "",
                     filter->event_type != NULL ? filter->event_type : "", (long long)filter->send_id,
                     (long long)filter->automation_id, (long long)filter->run_id,
                     (long long)(window->has_from ? window->from_us : 0), (long long)(window->has_to ? window->to_us : 0));
    struct page_cursor cursor_start;
    struct event_row *rows;
    struct db_page found;
    if (!page_cursor_read(work, binding, cursor, &cursor_start, err) ||
        !find_event_page(work, filter, key, &cursor_start, limit + 1, &rows, &found, err))
        return false;

    struct page page = page_begin(json, limit, found);
    while (page_next_row(&page))
        write_event(work, &rows[page.shown - 1], json);
    struct page_cursor end = { .set = false };
    if (page.shown > 0)
        end = (struct page_cursor){ .number = rows[page.shown - 1].occurred_at, .id = rows[page.shown - 1].id };
    page_end(&page, work, binding, end);
    window_write(filter->window, json);
    json_object_end(json);
    return true;
}
