#include "engine/runs/runs.h"

#include "base/text.h"
#include "engine/core/page.h"
#include "engine/filters/search_sql.h"
#include "engine/runs/cancel.h"
#include "mail/address.h"
#include "sql/runs.h"

#include <string.h>

/* ---- Rows ---- */

struct run_row {
    int64_t id;
    int64_t automation_id;
    int64_t version_id;
    struct bytes definition_hash;
    struct opt_int instance_id;
    struct opt_int audience_run_id;
    const char *mode;
    const char *status;
    const char *email;
    const char *error;
    int64_t started_at;
    struct opt_int completed_at;
};

static const struct db_field run_columns[] = {
    { .name = "id", .type = DB_BIGINT, .offset = offsetof(struct run_row, id) },
    { .name = "automation_id", .type = DB_BIGINT, .offset = offsetof(struct run_row, automation_id) },
    { .name = "version_id", .type = DB_BIGINT, .offset = offsetof(struct run_row, version_id) },
    { .name = "definition_hash", .type = DB_BYTEA, .offset = offsetof(struct run_row, definition_hash) },
    { .name = "instance_id", .type = DB_BIGINT, .nullable = true, .offset = offsetof(struct run_row, instance_id) },
    { .name = "audience_run_id", .type = DB_BIGINT, .nullable = true, .offset = offsetof(struct run_row, audience_run_id) },
    { .name = "mode", .type = DB_TEXT, .offset = offsetof(struct run_row, mode) },
    { .name = "status", .type = DB_TEXT, .offset = offsetof(struct run_row, status) },
    { .name = "email", .type = DB_TEXT, .offset = offsetof(struct run_row, email) },
    { .name = "error", .type = DB_TEXT, .nullable = true, .offset = offsetof(struct run_row, error) },
    { .name = "started_at", .type = DB_TIMESTAMPTZ, .offset = offsetof(struct run_row, started_at) },
    { .name = "completed_at", .type = DB_TIMESTAMPTZ, .nullable = true, .offset = offsetof(struct run_row, completed_at) },
};

/* Begins a statement on the runs of the brand. The filters of a list differ from call to call, so the statement is put together
 * and planned for its values. */
static struct search_sql *runs_query_new(const struct work *work)
{
    struct search_sql *sql = arena_alloc(work->arena, sizeof(*sql));
    search_sql_init(sql, work->arena);
    search_sql_add(sql, "select r.id, r.automation_id, r.version_id, v.definition_hash, r.trigger_instance_id, r.audience_run_id,"
                        " r.mode, r.status, r.email, r.error, r.started_at, r.completed_at"
                        " from automation_runs r"
                        " join automation_versions v on v.brand_id = r.brand_id and v.id = r.version_id"
                        " where r.brand_id = ");
    search_sql_number(sql, work->brand_id);
    return sql;
}

static struct db_statement *statement_of(const struct work *work, const struct search_sql *sql, enum db_result result)
{
    struct db_statement *statement = arena_alloc(work->arena, sizeof(*statement));
    *statement = (struct db_statement){
        .name = "",
        .result = result,
        .sql = buf_text(sql->text),
        .params = sql->fields,
        .param_count = sql->count,
        .columns = run_columns,
        .column_count = ARRAY_COUNT(run_columns),
        .row_size = sizeof(struct run_row),
    };
    return statement;
}

/* ---- JSON ---- */

static void write_log(const struct run_log_row *log, struct json_writer *json)
{
    json_object_begin(json);
    json_member_text(json, "nodeId", log->node_id);
    json_member_text_if(json, "nodeName", log->name);
    json_member_text(json, "nodeType", log->node_type);
    json_member_text(json, "status", log->status);
    json_member_int(json, "orderIndex", log->visit - 1);
    json_member_time(json, "startedAt", log->started_at);
    json_member_time_if(json, "completedAt", log->completed_at);
    json_member_text_if(json, "error", log->error);
    json_object_end(json);
}

/* `logs` NULL: they were not asked for. */
static void write_logs(const struct db_rows *logs, struct json_writer *json)
{
    if (logs == NULL)
        return;
    const struct run_log_row *rows = logs->rows;
    json_key(json, "logs");
    json_array_begin(json);
    for (size_t i = 0; i < logs->count; i++)
        write_log(&rows[i], json);
    json_array_end(json);
}

/* A run that this call has canceled, as it was before. */
struct run_before {
    const char *status;
    int64_t unsent_messages; /* which are not sent any more */
};

/* `previous` NULL: the run was not canceled by this call. */
static void write_run(const struct work *work, const struct run_row *run, const struct run_before *previous,
                      const struct db_rows *logs, struct json_writer *json)
{
    char *hash = arena_alloc(work->arena, 2 * run->definition_hash.size + 1);
    hex_encode(run->definition_hash.data, run->definition_hash.size, hash);
    json_object_begin(json);
    json_member_id(json, work, "automationRunId", ID_RUN, run->id);
    json_member_id(json, work, "automationId", ID_AUTOMATION, run->automation_id);
    json_member_id(json, work, "automationVersionId", ID_VERSION, run->version_id);
    json_member_text(json, "definitionHash", hash);
    json_member_id_if(json, work, "triggerInstanceId", ID_INSTANCE, run->instance_id);
    json_member_id_if(json, work, "audienceRunId", ID_AUDIENCE_RUN, run->audience_run_id);
    json_member_text(json, "mode", run->mode);
    json_member_text(json, "status", run->status);
    if (previous != NULL) {
        json_member_text(json, "previousStatus", previous->status);
        json_member_int(json, "unsentMessages", previous->unsent_messages);
    }
    json_member_text_if(json, "recipientEmail", run->email[0] != '\0' ? run->email : NULL); /* a test may have none */
    json_member_time(json, "startedAt", run->started_at);
    json_member_time_if(json, "completedAt", run->completed_at);
    json_member_text_if(json, "error", run->error);
    write_logs(logs, json);
    json_object_end(json);
}

/* ---- Lists ---- */

static void add_id_filter(struct search_sql *sql, const char *condition, int64_t id)
{
    if (id == 0)
        return;
    search_sql_add(sql, condition);
    search_sql_number(sql, id);
}

static void add_text_filter(struct search_sql *sql, const char *condition, const char *text)
{
    if (text == NULL)
        return;
    search_sql_add(sql, condition);
    search_sql_text(sql, text);
}

static void add_time_filter(struct search_sql *sql, const char *condition, struct opt_int at_us)
{
    if (!at_us.set)
        return;
    search_sql_add(sql, condition);
    search_sql_time(sql, at_us.value);
}

static void add_position(struct search_sql *sql, const struct page_cursor *start)
{
    if (!start->set)
        return;
    search_sql_add(sql, " and (r.started_at, r.id) < (");
    search_sql_time(sql, start->number);
    search_sql_add(sql, ", ");
    search_sql_number(sql, start->id);
    search_sql_add(sql, ")");
}

static bool find_page(const struct work *work, const struct run_filter *filter, const char *email_key,
                      const struct page_cursor *start, int64_t limit, struct db_rows *ret_rows, struct error *err)
{
    struct search_sql *sql = runs_query_new(work);
    add_id_filter(sql, " and r.automation_id = ", filter->automation_id);
    add_id_filter(sql, " and r.trigger_instance_id = ", filter->instance_id);
    add_id_filter(sql, " and r.trigger_id = ", filter->trigger_id);
    add_text_filter(sql, " and r.status = ", filter->status);
    add_text_filter(sql, " and r.mode = ", filter->mode);
    add_text_filter(sql, " and r.email_key = ", email_key);
    add_time_filter(sql, " and r.started_at >= ", filter->from_us);
    add_time_filter(sql, " and r.started_at < ", filter->to_us);
    add_position(sql, start);
    search_sql_add(sql, " order by r.started_at desc, r.id desc limit ");
    search_sql_number(sql, limit);
    return db_run(work->conn, work->arena, statement_of(work, sql, DB_PAGE), sql->values, ret_rows, err);
}

static const char *text_or_empty(const char *text)
{
    return text != NULL ? text : "";
}

static const char *binding_of(const struct work *work, const struct run_filter *filter, const char *email_key)
{
    return arena_printf(work->arena, "runs.list|%lld|%lld|%lld|%s|%s|%s|%lld|%lld", (long long)filter->automation_id,
                        (long long)filter->instance_id, (long long)filter->trigger_id, text_or_empty(filter->status),
                        text_or_empty(filter->mode), text_or_empty(email_key),
                        (long long)(filter->from_us.set ? filter->from_us.value : 0),
                        (long long)(filter->to_us.set ? filter->to_us.value : 0));
}

static bool check_filter(const struct work *work, const struct run_filter *filter, const char **ret_key, struct error *err)
{
    struct address address;
    *ret_key = NULL;
    if (filter->from_us.set && filter->to_us.set && filter->from_us.value >= filter->to_us.value)
        return fail(err, ERR_INVALID_REQUEST, "from", "from must be before to.");
    if (filter->recipient == NULL)
        return true;
    if (!address_parse(work->arena, text_trim(work->arena, filter->recipient), "recipientEmail", &address, err))
        return false;
    *ret_key = address.key;
    return true;
}

bool run_list(const struct work *work, const struct run_filter *filter, int64_t limit, const char *cursor, struct json_writer *json,
              struct error *err)
{
    const char *key;
    struct page_cursor start;
    struct db_rows found;
    if (!check_filter(work, filter, &key, err))
        return false;
    const char *binding = binding_of(work, filter, key);
    if (!page_cursor_read(work, binding, cursor, &start, err) || !find_page(work, filter, key, &start, limit + 1, &found, err))
        return false;

    const struct run_row *rows = found.rows;
    struct page page = page_begin(json, limit, (struct db_page){ .count = found.count, .is_cut = found.is_cut });
    while (page_next_row(&page))
        write_run(work, &rows[page.shown - 1], NULL, NULL, json);
    struct page_cursor end = { .set = false };
    if (page.shown > 0)
        end = (struct page_cursor){ .number = rows[page.shown - 1].started_at, .id = rows[page.shown - 1].id };
    page_end(&page, work, binding, end);
    json_object_end(json);
    return true;
}

/* ---- One run ---- */

static bool run_not_found(struct error *err)
{
    return fail(err, ERR_AUTOMATION_RUN_NOT_FOUND, "automationRunId", "No automation run with this id in this brand.");
}

static bool write_one(const struct work *work, int64_t run_id, const struct run_before *previous, bool with_logs,
                      struct json_writer *json, struct error *err)
{
    struct search_sql *sql = runs_query_new(work);
    struct run_logs_params params = { .brand_id = work->brand_id, .run_id = run_id, .limit = RUN_LOGS_MAX };
    size_t logs = 0;
    add_id_filter(sql, " and r.id = ", run_id);
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    size_t found = db_batch_add(batch, statement_of(work, sql, DB_ONE), sql->values);
    if (with_logs)
        logs = db_batch_add(batch, &run_logs_statement, &params);
    if (!db_batch_run(batch, err))
        return false;
    const struct run_row *run = db_batch_rows(batch, found)->rows;
    if (run == NULL)
        return run_not_found(err);
    write_run(work, run, previous, with_logs ? db_batch_rows(batch, logs) : NULL, json);
    return true;
}

bool run_get(const struct work *work, int64_t run_id, bool with_logs, struct json_writer *json, struct error *err)
{
    return run_id > 0 ? write_one(work, run_id, NULL, with_logs, json, err) : run_not_found(err);
}

bool run_cancel(const struct work *work, int64_t run_id, struct json_writer *json, struct error *err)
{
    struct run_lock_params lock = { .brand_id = work->brand_id, .id = run_id };
    struct run_lock_row *run;
    int64_t canceled;
    if (!sql_run_lock(work->conn, work->arena, &lock, &run, err))
        return false;
    if (run == NULL)
        return run_not_found(err);
    if (text_equal(run->status, "completed") || text_equal(run->status, "failed"))
        return fail(err, ERR_RUN_NOT_CANCELLABLE, "automationRunId",
                    "This run is %s; only a run that has not ended can be canceled.", run->status);
    struct run_unsent_messages_params unsent = { .brand_id = work->brand_id, .id = run_id };
    struct run_unsent_messages_row *waiting;
    if (!sql_run_unsent_messages(work->conn, work->arena, &unsent, &waiting, err) ||
        !runs_cancel(work, (struct runs_to_cancel){ .run_id = run_id }, &canceled, err))
        return false;
    struct run_before before = { .status = run->status, .unsent_messages = waiting->count };
    return write_one(work, run_id, canceled > 0 ? &before : NULL, false, json, err);
}
