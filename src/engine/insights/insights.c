/* Lists of findings, and one finding. */
#include "engine/insights/insights.h"

#include "base/json_read.h"
#include "base/text.h"
#include "crypto/keys.h"
#include "engine/core/page.h"
#include "engine/core/short_tokens.h"
#include "sql/insights.h"

#include <string.h>

/* ---- Freshness ---- */

static void write_time_or_null(struct json_writer *json, const char *name, struct opt_int time_us)
{
    if (time_us.set)
        json_member_time(json, name, time_us.value);
    else
        json_member_text(json, name, NULL);
}

static void write_freshness(const struct insight_freshness_row *freshness, struct json_writer *json)
{
    static const struct insight_freshness_row none = { .attempt_status = NULL };
    const struct insight_freshness_row *row = freshness != NULL ? freshness : &none;
    json_key(json, "freshness");
    json_object_begin(json);
    write_time_or_null(json, "dataAsOf", row->data_as_of);
    write_time_or_null(json, "lastSuccessfulRunAt", row->succeeded_at);
    json_key(json, "latestAttempt");
    if (row->attempt_status == NULL) {
        json_null_value(json);
    } else {
        json_object_begin(json);
        json_member_text(json, "status", row->attempt_status);
        write_time_or_null(json, "at", row->attempt_at);
        json_object_end(json);
    }
    json_object_end(json);
}

/* ---- Rows ---- */

static void write_row_members(const struct work *work, const struct insight_row *row, struct json_writer *json)
{
    json_member_id(json, work, "insightId", ID_INSIGHT, row->id);
    json_member_text(json, "description", row->description);
    json_member_text(json, "kind", row->kind);
    json_member_text(json, "state", row->state);
    json_member_text(json, "severity", row->severity);
    json_key(json, "score");
    json_number(json, row->score);
    json_member_raw(json, "action", row->action);
}

/* ---- The list ---- */

/* Identifies the rows before a position and their order, so that a cursor is refused when they have changed. */
static const char *fingerprint_of(struct arena *arena, const struct insight_row *rows, size_t count)
{
    unsigned char hash[SECRET_HASH_BYTES] = { 0 };
    for (size_t i = 0; i < count; i++) {
        struct {
            unsigned char before[SECRET_HASH_BYTES];
            int64_t id;
            int64_t score_milli;
            unsigned char severity, state;
            unsigned char zero[6];
        } item = { .id = rows[i].id,
                   .score_milli = (int64_t)(rows[i].score * 1000),
                   .severity = (unsigned char)rows[i].severity[0],
                   .state = (unsigned char)rows[i].state[0] };
        memcpy(item.before, hash, sizeof(hash));
        sha256(&item, sizeof(item), hash);
    }
    return base64url_encode(arena, hash, sizeof(hash));
}

static bool read_cursor(const struct work *work, const char *binding, const char *cursor, const struct insight_row *rows,
                        size_t count, size_t *ret_offset, struct error *err)
{
    struct page_cursor position;
    *ret_offset = 0;
    if (!page_cursor_read(work, binding, cursor, &position, err))
        return false;
    if (!position.set)
        return true;
    *ret_offset = (size_t)position.number;
    if (*ret_offset <= count && text_equal(position.text, fingerprint_of(work->arena, rows, *ret_offset)))
        return true;
    const char *tool = short_token_tool(work);
    fail(err, ERR_INVALID_REQUEST, "cursor", "The findings before the cursor have changed. Start again without a cursor.");
    return tool != NULL ? error_suggest(err, "Call %s without cursor.", tool) : error_suggest(err, "Leave out cursor.");
}

/* The parts that do not exist yet. */
static void write_parts(const struct insight_filter *filter, struct json_writer *json)
{
    if (filter->pulse)
        json_member_text(json, "pulse", NULL);
    if (filter->report)
        json_member_text(json, "report", NULL);
    if (filter->memo)
        json_member_text(json, "memo", NULL);
    if (filter->suggestions)
        json_member_raw(json, "suggestions", "[]");
}

static const char *state_of(const struct insight_filter *filter)
{
    if (text_equal(filter->state, "all"))
        return NULL;
    return text_equal(filter->state, "open") ? "active" : filter->state;
}

static bool find_rows(const struct work *work, const struct insight_filter *filter, struct db_rows *ret_rows,
                      const struct insight_freshness_row **ret_freshness, struct error *err)
{
    struct insight_list_params list = {
        .brand_id = work->brand_id,
        .state = state_of(filter),
        .severity = filter->severity,
        .limit = INSIGHTS_MAX,
    };
    struct insight_freshness_params freshness = { .brand_id = work->brand_id };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    size_t rows = db_batch_add(batch, &insight_list_statement, &list);
    size_t fresh = db_batch_add(batch, &insight_freshness_statement, &freshness);
    if (!db_batch_run(batch, err))
        return false;
    *ret_rows = *db_batch_rows(batch, rows);
    *ret_freshness = db_batch_rows(batch, fresh)->rows;
    return true;
}

bool insights_list(const struct work *work, const struct insight_filter *filter, int64_t limit, const char *cursor,
                   struct json_writer *json, struct error *err)
{
    struct db_rows found;
    const struct insight_freshness_row *freshness;
    size_t offset;
    const char *binding =
        arena_printf(work->arena, "insights.list|%s|%s", filter->state, filter->severity != NULL ? filter->severity : "");
    if (!find_rows(work, filter, &found, &freshness, err))
        return false;
    const struct insight_row *rows = found.rows;
    if (!read_cursor(work, binding, cursor, rows, found.count, &offset, err))
        return false;

    struct page page = page_offset_begin(json, limit, offset, found.count);
    while (page_next_row(&page)) {
        json_object_begin(json);
        write_row_members(work, &rows[offset + page.shown - 1], json);
        json_object_end(json);
    }
    size_t end = offset + page.shown;
    struct page_cursor last = { .number = (int64_t)end, .text = fingerprint_of(work->arena, rows, end) };
    page_end(&page, work, binding, last);
    write_freshness(freshness, json);
    write_parts(filter, json);
    json_object_end(json);
    return true;
}

/* ---- One finding ---- */

/* The stored detail, which is an object of this program: its members, each with its value as text. */
static void write_detail(const struct work *work, const char *text, struct json_writer *json)
{
    const json_t *detail = json_in_arena(work->arena, json_loads(text, 0, NULL));
    const char *name;
    json_t *value;
    json_object_foreach (json_for_iteration(detail), name, value) {
        json_member_raw(json, name, json_compact(work->arena, value));
    }
}

bool insight_get(const struct work *work, int64_t insight_id, struct json_writer *json, struct error *err)
{
    struct insight_find_params find = { .brand_id = work->brand_id, .id = insight_id };
    struct insight_freshness_params freshness = { .brand_id = work->brand_id };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    size_t found = db_batch_add(batch, &insight_find_statement, &find);
    size_t fresh = db_batch_add(batch, &insight_freshness_statement, &freshness);
    if (!db_batch_run(batch, err))
        return false;
    const struct insight_row *row = db_batch_rows(batch, found)->rows;
    if (row == NULL)
        return fail(err, ERR_INSIGHT_NOT_FOUND, "insightId", "No insight with this id in this brand.");
    json_object_begin(json);
    write_row_members(work, row, json);
    write_detail(work, row->detail, json);
    write_freshness(db_batch_rows(batch, fresh)->rows, json);
    json_object_end(json);
    return true;
}
