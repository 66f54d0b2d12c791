#include "engine/sends/sends.h"

#include "base/text.h"
#include "engine/core/page.h"
#include "engine/sends/gradual.h"
#include "sql/delivery.h"

static bool send_not_found(struct error *err)
{
    return fail(err, ERR_SEND_NOT_FOUND, "sendId", "No send with this id in this brand.");
}

/* ---- Reading ---- */

bool send_get(const struct work *work, int64_t send_id, bool with_events, struct send_progress *ret_progress,
              struct json_writer *json, struct error *err)
{
    struct send_find_params find = { .brand_id = work->brand_id, .id = send_id };
    struct send_events_params events = { .brand_id = work->brand_id, .send_id = send_id, .limit = SEND_EVENTS_MAX + 1 };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    size_t found = db_batch_add(batch, &send_find_statement, &find);
    size_t listed = with_events ? db_batch_add(batch, &send_events_statement, &events) : 0;
    struct send_left_out_params left_out = { .brand_id = work->brand_id, .send_id = send_id };
    size_t counted = work_is_for_assistant(work) ? db_batch_add(batch, &send_left_out_statement, &left_out) : 0;
    struct send_links_params links = { .brand_id = work->brand_id, .send_id = send_id, .limit = SEND_LINKS_MAX };
    size_t followed = work_is_for_assistant(work) ? db_batch_add(batch, &send_links_statement, &links) : 0;
    if (!db_batch_run(batch, err))
        return false;
    const struct send_row *send = db_batch_rows(batch, found)->rows;
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

static bool find_send_page(const struct work *work, const struct send_filter *filter, const struct page_cursor *cursor_start,
                           int64_t limit, struct send_row **ret_rows, struct db_page *ret_page, struct error *err)
{
    *ret_rows = NULL;
    *ret_page = (struct db_page){ .count = 0 };
    if (filter->of_automation)
        return true;
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
    const char *binding = arena_printf(work->arena, "sends.list|%lld|%s|%d", (long long)filter->email_id,
                                       filter->status != NULL ? filter->status : "", filter->of_automation);
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
    struct send_find_params find = { .brand_id = work->brand_id, .id = send_id };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    db_batch_add(batch, &send_cancel_statement, &cancel);
    size_t found = db_batch_add(batch, &send_find_statement, &find);
    if (!db_batch_run(batch, err))
        return false;
    struct send_row *send = db_batch_rows(batch, found)->rows;
    if (send == NULL)
        return send_not_found(err);
    if (!text_equal(send->status, "canceled"))
        return fail(err, ERR_SEND_NOT_CANCELLABLE, "sendId",
                    "This send is %s; only a send that has not begun, or is paused, can be canceled.%s", send->status,
                    gradual_is_running(send) ? " Pause it first." : "");
    *ret_send = send;
    return true;
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
    struct send_find_params find = { .brand_id = work->brand_id, .id = send_id };
    struct send_row *send;
    if (!gradual_pause(work, send_id, err) || !sql_send_find(work->conn, work->arena, &find, &send, err))
        return false;
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
    struct send_find_params find = { .brand_id = work->brand_id, .id = send_id };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    size_t resumed = db_batch_add(batch, &send_resume_statement, &resume);
    /* The last results may have come during the pause. */
    db_batch_add(batch, &delivery_complete_statement, &complete);
    size_t found = db_batch_add(batch, &send_find_statement, &find);
    if (!db_batch_run(batch, err))
        return false;
    struct send_row *send = db_batch_rows(batch, found)->rows;
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
