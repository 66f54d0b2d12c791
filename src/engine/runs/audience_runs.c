#include "engine/runs/audience_runs.h"

#include "base/text.h"
#include "db/advisory_locks.h"
#include "engine/core/page.h"
#include "engine/runs/cancel.h"
#include "engine/runs/launch.h"
#include "engine/runs/release.h"
#include "sql/audience_runs.h"

/* ---- JSON ---- */

static int64_t sum_of(const struct int_list *counts)
{
    int64_t sum = 0;
    for (size_t i = 0; i < counts->count; i++)
        sum += counts->items[i];
    return sum;
}

static void write_nodes(const struct audience_run_row *run, struct json_writer *json)
{
    json_key(json, "nodeStats");
    json_array_begin(json);
    for (size_t i = 0; i < run->nodes.count; i++) {
        json_object_begin(json);
        json_member_text(json, "nodeId", run->nodes.items[i]);
        json_member_int(json, "sent", run->sent.items[i]);
        json_member_int(json, "failed", run->failed.items[i]);
        json_member_int(json, "skipped", run->skipped.items[i]);
        json_object_end(json);
    }
    json_array_end(json);
}

static void write_audience_run(const struct work *work, const struct audience_run_row *run, struct json_writer *json)
{
    json_object_begin(json);
    json_member_id(json, work, "audienceRunId", ID_AUDIENCE_RUN, run->id);
    json_member_id(json, work, "automationId", ID_AUTOMATION, run->automation_id);
    json_member_id(json, work, "audienceId", ID_AUDIENCE, run->audience_id);
    json_member_text(json, "status", run->status);
    json_member_text_if(json, "pauseReason", run->pause_reason);
    json_member_text_if(json, "error", run->error);
    json_member_text_if(json, "resumedFrom", run->resumed_from);
    json_member_time_if(json, "scheduledAt", run->scheduled_at);
    json_member_int(json, "totalRecipients", run->total_recipients);
    json_member_int(json, "sentCount", sum_of(&run->sent));
    json_member_int(json, "failedCount", sum_of(&run->failed));
    json_member_int(json, "skippedCount", sum_of(&run->skipped));
    write_nodes(run, json);
    json_member_time(json, "createdAt", run->created_at);
    json_member_time(json, "updatedAt", run->updated_at);
    json_object_end(json);
}

/* ---- Reading ---- */

static bool audience_run_not_found(struct error *err)
{
    return fail(err, ERR_AUDIENCE_RUN_NOT_FOUND, "audienceRunId", "No audience run with this id in this brand.");
}

static bool find(const struct work *work, int64_t id, const struct audience_run_row **ret_run, struct error *err)
{
    struct audience_run_find_params params = { .brand_id = work->brand_id, .id = id };
    struct audience_run_row *run;
    if (!sql_audience_run_find(work->conn, work->arena, &params, &run, err))
        return false;
    *ret_run = run;
    return run != NULL || audience_run_not_found(err);
}

bool audience_run_get(const struct work *work, int64_t id, struct json_writer *json, struct error *err)
{
    const struct audience_run_row *run;
    if (!find(work, id, &run, err))
        return false;
    write_audience_run(work, run, json);
    return true;
}

bool audience_run_list(const struct work *work, const struct audience_run_filter *filter, int64_t limit, const char *cursor,
                       struct json_writer *json, struct error *err)
{
    const char *binding = arena_printf(work->arena, "audienceRuns.list|%lld|%s", (long long)filter->automation_id,
                                       filter->status != NULL ? filter->status : "");
    struct page_cursor start;
    if (!page_cursor_read(work, binding, cursor, &start, err))
        return false;
    struct audience_run_page_params params = {
        .brand_id = work->brand_id,
        .status = filter->status,
        .automation_id = { .set = filter->automation_id != 0, .value = filter->automation_id },
        .from_start = !start.set,
        .at = start.number,
        .id = start.id,
        .limit = limit + 1,
    };
    struct audience_run_row *rows;
    struct db_page found;
    if (!sql_audience_run_page(work->conn, work->arena, &params, &rows, &found, err))
        return false;

    struct page page = page_begin(json, limit, found);
    while (page_next_row(&page))
        write_audience_run(work, &rows[page.shown - 1], json);
    struct page_cursor end = { .set = false };
    if (page.shown > 0)
        end = (struct page_cursor){ .number = rows[page.shown - 1].created_at, .id = rows[page.shown - 1].id };
    page_end(&page, work, binding, end);
    json_object_end(json);
    return true;
}

/* ---- Pausing ---- */

bool audience_run_pause(const struct work *work, int64_t id, struct json_writer *json, struct error *err)
{
    struct audience_run_pause_params pause = { .brand_id = work->brand_id, .id = id, .now = work->now_us };
    const struct audience_run_row *run;
    if (!sql_audience_run_pause(work->conn, work->arena, &pause, NULL, err) || !find(work, id, &run, err))
        return false;
    if (!text_equal(run->status, "paused") || !text_equal(run->pause_reason, "manual"))
        return fail(err, ERR_RUN_NOT_PAUSABLE, "audienceRunId", "This audience run is %s; only a running one can be paused.",
                    run->status);
    write_audience_run(work, run, json);
    return true;
}

/* ---- Resuming ---- */

/* Serialises this call with the job of the launch, and reads the state behind the lock. */
static bool hold_state(const struct work *work, int64_t id, const struct audience_run_state_row **ret_state, struct error *err)
{
    struct audience_run_serialize_params lock = { .lock = ADVISORY_LOCK_LAUNCH, .id = id };
    struct audience_run_state_params params = { .brand_id = work->brand_id, .id = id };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    db_batch_add(batch, &audience_run_serialize_statement, &lock);
    size_t at = db_batch_add(batch, &audience_run_state_statement, &params);
    if (!db_batch_run(batch, err))
        return false;
    *ret_state = db_batch_rows(batch, at)->rows;
    return *ret_state != NULL || audience_run_not_found(err);
}

static bool check_resumable(const struct audience_run_state_row *state, struct error *err)
{
    if (!text_equal(state->status, "paused") && !text_equal(state->status, "failed"))
        return fail(err, ERR_RUN_NOT_PAUSED, "audienceRunId",
                    "This audience run is %s; only a paused or failed one can be resumed.", state->status);
    return !text_equal(state->pause_reason, "plan_limit") ||
           fail(err, ERR_RUN_NOT_RESUMABLE, "audienceRunId",
                "This audience run is paused until the plan's allowance "
                "suffices, and then goes on by itself. To stop it, cancel it.") ||
           error_suggest(err, "Wait until it goes on by itself, or cancel it.");
}

/* Looks where the launch goes on. A step of which only a part is delivered refuses the resume (R-352, D-114). */
static bool find_resumption(const struct work *work, int64_t id, const char *status, const char **ret_node, struct error *err)
{
    struct audience_run_is_part_delivered_params part = { .brand_id = work->brand_id, .id = id };
    struct audience_run_first_node_params first = { .brand_id = work->brand_id, .id = id, .status = status };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    size_t part_at = db_batch_add(batch, &audience_run_is_part_delivered_statement, &part);
    size_t first_at = db_batch_add(batch, &audience_run_first_node_statement, &first);
    if (!db_batch_run(batch, err))
        return false;
    const struct audience_run_is_part_delivered_row *row = db_batch_rows(batch, part_at)->rows;
    if (row->is_part_delivered)
        return fail(
            err, ERR_RUN_NOT_RESUMABLE, "audienceRunId",
            "A step of this audience run is delivered to a part of its recipients, and messages of it are still on their way. "
            "Resume it when they have their results.");
    const struct audience_run_first_node_row *node = db_batch_rows(batch, first_at)->rows;
    *ret_node = node != NULL ? node->node_id : NULL;
    return true;
}

/* Lets the launch run, with all failed runs counted as open. */
static bool reopen(const struct work *work, int64_t id, bool has_failed, const char *node, struct error *err)
{
    struct audience_run_resume_params resume = { .brand_id = work->brand_id, .id = id, .resumed_from = node, .now = work->now_us };
    struct audience_run_reopen_params counts = { .brand_id = work->brand_id, .id = id };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    db_batch_add(batch, &audience_run_resume_statement, &resume);
    if (has_failed)
        db_batch_add(batch, &audience_run_reopen_statement, &counts);
    return db_batch_run(batch, err);
}

bool audience_run_resume(const struct work *work, int64_t id, struct json_writer *json, struct error *err)
{
    const struct audience_run_state_row *state;
    const char *node;
    if (!hold_state(work, id, &state, err) || !check_resumable(state, err))
        return false;
    bool has_failed = text_equal(state->status, "failed");
    if (has_failed && state->total_recipients == 0)
        return launch_begin(work, id, err) && audience_run_get(work, id, json, err);
    struct runs_to_release which = { .automation_id = state->automation_id, .audience_run_id = id, .takes_up = has_failed };
    return find_resumption(work, id, has_failed ? "failed" : "running", &node, err) && reopen(work, id, has_failed, node, err) &&
           runs_release(work, which, err) && audience_run_get(work, id, json, err);
}

/* ---- Canceling ---- */

bool audience_run_cancel(const struct work *work, int64_t id, struct json_writer *json, struct error *err)
{
    const struct audience_run_state_row *state;
    int64_t canceled;
    if (!hold_state(work, id, &state, err))
        return false;
    bool has_ended = text_equal(state->status, "completed") || text_equal(state->status, "partially_completed") ||
                     text_equal(state->status, "failed");
    if (has_ended)
        return fail(err, ERR_RUN_NOT_CANCELLABLE, "audienceRunId",
                    "This audience run is %s; only one that has not ended can be canceled.", state->status);
    return runs_cancel(work, (struct runs_to_cancel){ .audience_run_id = id }, &canceled, err) &&
           audience_run_get(work, id, json, err);
}
