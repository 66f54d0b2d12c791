#include "engine/sends/sends.h"

#include "base/text.h"
#include "engine/core/page.h"
#include "engine/sends/gradual.h"
#include "sql/delivery.h"

static bool send_not_found(struct error *err)
{
    return fail(err, ERR_SEND_NOT_FOUND, "sendId", "No send with this id in this brand.");
}

/* A message of an automation is a send of its own for callers: an id names a campaign or a message. */
struct send_places {
    size_t campaign;
    size_t message;
};

static struct send_places add_find(const struct work *work, int64_t send_id, struct db_batch *batch)
{
    struct send_find_params campaign = { .brand_id = work->brand_id, .id = send_id };
    struct send_find_message_params message = { .brand_id = work->brand_id, .id = send_id };
    struct send_places places = { .campaign = db_batch_add(batch, &send_find_statement, &campaign) };
    places.message = db_batch_add(batch, &send_find_message_statement, &message);
    return places;
}

static struct send_row *found_send(const struct db_batch *batch, struct send_places places)
{
    struct send_row *campaign = db_batch_rows(batch, places.campaign)->rows;
    return campaign != NULL ? campaign : db_batch_rows(batch, places.message)->rows;
}

/* ---- Reading ---- */

bool send_get(const struct work *work, int64_t send_id, bool with_events, struct send_progress *ret_progress,
              struct json_writer *json, struct error *err)
{
    struct send_events_params events = { .brand_id = work->brand_id, .send_id = send_id, .limit = SEND_EVENTS_MAX + 1 };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    struct send_places places = add_find(work, send_id, batch);
    size_t listed = with_events ? db_batch_add(batch, &send_events_statement, &events) : 0;
    struct send_left_out_params left_out = { .brand_id = work->brand_id, .send_id = send_id };
    size_t counted = work_is_for_assistant(work) ? db_batch_add(batch, &send_left_out_statement, &left_out) : 0;
    struct send_links_params links = { .brand_id = work->brand_id, .send_id = send_id, .limit = SEND_LINKS_MAX };
    size_t followed = work_is_for_assistant(work) ? db_batch_add(batch, &send_links_statement, &links) : 0;
    if (!db_batch_run(batch, err))
        return false;
    const struct send_row *send = found_send(batch, places);
    if (send == NULL)
        return send_not_found(err);

    if (ret_progress != NULL)
        *ret_progress = send_progress_of(send);
    struct send_extras extras = { .events = with_events ? db_batch_rows(batch, listed) : NULL };
    extras.left_out = work_is_for_assistant(work) ? db_batch_rows(batch, counted) : NULL;
    extras.links = work_is_for_assistant(work) ? db_batch_rows(batch, followed) : NULL;
    send_write(work, send, &extras, json);
    return true;
}

bool send_filter_is_joined(const struct send_filter *filter)
{
    return filter->automation_id != 0 || filter->run_id != 0 || filter->audience_run_id != 0 || filter->instance_id != 0;
}

/* */
static bool check_joins(const struct work *work, const struct send_filter *filter, struct error *err)
{
    struct send_filter_check_params params = { .brand_id = work->brand_id,
                                               .run_id = filter->run_id,
                                               .audience_run_id = filter->audience_run_id };
    struct send_filter_check_row *found;
    if (filter->run_id == 0 && filter->audience_run_id == 0)
        return true;
    if (!sql_send_filter_check(work->conn, work->arena, &params, &found, err))
        return false;
    if (!found->has_run)
        return fail(err, ERR_AUTOMATION_RUN_NOT_FOUND, "automationRunId", "No automation run with this id in this brand.");
    return found->has_audience_run ||
           fail(err, ERR_AUDIENCE_RUN_NOT_FOUND, "audienceRunId", "No audience run with this id in this brand.");
}

/* The source of a page of messages: the narrowest filter. */
static const char *message_source(const struct send_filter *filter)
{
    if (filter->run_id != 0)
        return "run";
    if (filter->instance_id != 0)
        return "instance";
    if (text_equal(filter->status, "failed"))
        return "failed";
    if (text_equal(filter->status, "queued") || text_equal(filter->status, "running"))
        return "open";
    if (filter->audience_run_id != 0)
        return "audience_run";
    return text_equal(filter->status, "canceled") ? "canceled" : "automation";
}

/* A message is never scheduled, and never paused. */
static bool may_have_status(const char *status)
{
    return status == NULL || !(text_equal(status, "scheduled") || text_equal(status, "paused"));
}

static bool find_message_page(const struct work *work, const struct send_filter *filter, const struct page_cursor *cursor_start,
                              int64_t limit, struct send_row **ret_rows, struct db_page *ret_page, struct error *err)
{
    struct send_page_of_automation_params params = {
        .brand_id = work->brand_id,
        .by = message_source(filter),
        .automation_id = filter->automation_id,
        .run_id = filter->run_id,
        .audience_run_id = filter->audience_run_id,
        .instance_id = filter->instance_id,
        .status = filter->status,
        .from_start = !cursor_start->set,
        .id = cursor_start->id,
        .limit = limit,
    };
    return check_joins(work, filter, err) &&
           (!may_have_status(filter->status) ||
            sql_send_page_of_automation(work->conn, work->arena, &params, ret_rows, ret_page, err));
}

static bool find_send_page(const struct work *work, const struct send_filter *filter, const struct page_cursor *cursor_start,
                           int64_t limit, struct send_row **ret_rows, struct db_page *ret_page, struct error *err)
{
    *ret_rows = NULL;
    *ret_page = (struct db_page){ .count = 0 };
    if (send_filter_is_joined(filter))
        return find_message_page(work, filter, cursor_start, limit, ret_rows, ret_page, err);
    if (filter->email_id != 0) {
        struct send_page_of_email_params params = {
            .brand_id = work->brand_id,
            .email_id = filter->email_id,
            .status = filter->status,
            .from_start = !cursor_start->set,
            .id = cursor_start->id,
            .limit = limit,
        };
        return sql_send_page_of_email(work->conn, work->arena, &params, ret_rows, ret_page, err);
    }
    struct send_page_params params = {
        .brand_id = work->brand_id,
        .status = filter->status,
        .from_start = !cursor_start->set,
        .at = cursor_start->number,
        .id = cursor_start->id,
        .limit = limit,
    };
    return sql_send_page(work->conn, work->arena, &params, ret_rows, ret_page, err);
}

bool send_list(const struct work *work, const struct send_filter *filter, int64_t limit, const char *cursor,
               struct json_writer *json, struct error *err)
{
    const char *binding =
        arena_printf(work->arena, "sends.list|%lld|%s|%lld|%lld|%lld|%lld", (long long)filter->email_id,
                     filter->status != NULL ? filter->status : "", (long long)filter->automation_id, (long long)filter->run_id,
                     (long long)filter->audience_run_id, (long long)filter->instance_id);
    struct page_cursor cursor_start;
    struct send_row *rows;
    struct db_page found;
    if (!page_cursor_read(work, binding, cursor, &cursor_start, err) ||
        !find_send_page(work, filter, &cursor_start, limit + 1, &rows, &found, err))
        return false;

    struct page page = page_begin(json, limit, found);
    while (page_next_row(&page))
        send_write(work, &rows[page.shown - 1], NULL, json);
    struct page_cursor end = { .set = false };
    if (page.shown > 0)
        end = (struct page_cursor){ .number = rows[page.shown - 1].created_at, .id = rows[page.shown - 1].id };
    page_end(&page, work, binding, end);
    json_object_end(json);
    return true;
}

/* ---- Changing ---- */

bool send_set_job(const struct work *work, int64_t send_id, int64_t job_id, struct error *err)
{
    struct send_set_job_params params = { .brand_id = work->brand_id, .id = send_id, .job_id = job_id };
    return sql_send_set_job(work->conn, work->arena, &params, NULL, err);
}

bool send_cancel(const struct work *work, int64_t send_id, struct send_row **ret_send, struct error *err)
{
    struct send_cancel_params cancel = { .brand_id = work->brand_id, .id = send_id, .now = work->now_us };
    struct send_cancel_message_params message = { .brand_id = work->brand_id, .id = send_id, .now = work->now_us };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    db_batch_add(batch, &send_cancel_statement, &cancel);
    db_batch_add(batch, &send_cancel_message_statement, &message);
    struct send_places places = add_find(work, send_id, batch);
    if (!db_batch_run(batch, err))
        return false;
    struct send_row *send = found_send(batch, places);
    if (send == NULL)
        return send_not_found(err);
    if (!text_equal(send->status, "canceled"))
        return fail(err, ERR_SEND_NOT_CANCELLABLE, "sendId",
                    "This send is %s; only a send that has not begun, or is paused, can be canceled.%s", send->status,
                    gradual_is_running(send) ? " Pause it first." : "");
    *ret_send = send;
    return true;
}

bool send_cancel_held(const struct work *work, int64_t carrier_id, int64_t *ret_canceled, struct error *err)
{
    struct send_cancel_held_params params = { .brand_id = work->brand_id, .id = carrier_id, .now = work->now_us };
    struct send_cancel_held_row *row;
    if (!sql_send_cancel_held(work->conn, work->arena, &params, &row, err))
        return false;
    *ret_canceled = row->canceled;
    return row->canceled >= 0 || fail(err, ERR_SEND_NOT_CANCELLABLE, "sendId",
                                      "This is the mail of a step of an automation. It can be canceled while it is held after a "
                                      "restore. Otherwise cancel its runs, or unpublish the automation with stopInFlight.");
}

static bool refuse_pause(const struct send_row *send, struct error *err)
{
    if (send->gradual_zone == NULL)
        return fail(err, ERR_SEND_NOT_PAUSABLE, "sendId",
                    "This send is %s and not gradual; only a running gradual send can be paused.", send->status);
    return fail(err, ERR_SEND_NOT_PAUSABLE, "sendId", "This send is %s; only a running gradual send can be paused.", send->status);
}

bool send_pause(const struct work *work, int64_t send_id, struct send_row **ret_send, struct error *err)
{
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    struct send_places places = add_find(work, send_id, batch);
    if (!gradual_pause(work, send_id, err) || !db_batch_run(batch, err))
        return false;
    struct send_row *send = found_send(batch, places);
    if (send == NULL)
        return send_not_found(err);
    *ret_send = send;
    bool is_paused = text_equal(send->status, "paused") && text_equal(send->pause_reason, "manual");
    return (is_paused && send->gradual_zone != NULL) || refuse_pause(send, err);
}

bool send_pause_running(const struct work *work, int64_t send_id, struct error *err)
{
    struct send_pause_running_params params = { .brand_id = work->brand_id, .id = send_id, .now = work->now_us };
    return sql_send_pause_running(work->conn, work->arena, &params, NULL, err);
}

bool send_resume(const struct work *work, int64_t send_id, struct send_row **ret_send, struct error *err)
{
    struct send_resume_params resume = { .brand_id = work->brand_id, .id = send_id, .now = work->now_us };
    struct delivery_complete_params complete = { .brand_id = work->brand_id, .id = send_id, .now = work->now_us };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    size_t resumed = db_batch_add(batch, &send_resume_statement, &resume);
    /* The last results may have come during the pause. */
    db_batch_add(batch, &delivery_complete_statement, &complete);
    struct send_places places = add_find(work, send_id, batch);
    if (!db_batch_run(batch, err))
        return false;
    struct send_row *send = found_send(batch, places);
    if (send == NULL)
        return send_not_found(err);
    *ret_send = send;
    if (db_batch_rows(batch, resumed)->count > 0)
        return gradual_note_resume(work, send, err);
    if (text_equal(send->pause_reason, "plan_limit"))
        return fail(err, ERR_SEND_NOT_RESUMABLE, "sendId",
                    "This send is paused until the plan's allowance suffices, and then resumes by itself. To stop it, cancel it.");
    return fail(err, ERR_SEND_NOT_RESUMABLE, "sendId", "This send is %s; only a manually paused send can be resumed.",
                send->status);
}
