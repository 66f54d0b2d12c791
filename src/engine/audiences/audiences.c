#include "engine/audiences/audiences.h"

#include "base/json_read.h"
#include "base/text.h"
#include "engine/core/page.h"
#include "engine/filters/filter.h"

#include <string.h>

static const struct opt_int not_counted = { .set = false };

/* ---- Counting ---- */

struct count_row {
    int64_t count;
    int64_t mailable;
};
static const struct db_field count_columns[] = {
    { .name = "count", .type = DB_BIGINT, .offset = offsetof(struct count_row, count) },
    { .name = "mailable", .type = DB_BIGINT, .offset = offsetof(struct count_row, mailable) },
};

/* Begins a statement that counts the contacts c, and those that a send reaches; the caller appends the condition. */
static struct search_sql *count_query_new(const struct work *work, bool with_mailable)
{
    struct search_sql *sql = arena_alloc(work->arena, sizeof(*sql));
    search_sql_init(sql, work->arena);
    search_sql_add(sql, with_mailable ? "select count(*), count(*) filter (where c.subscribed)" : "select count(*), 0::bigint");
    search_sql_add(sql, " from contacts c where c.brand_id = ");
    search_sql_number(sql, work->brand_id);
    search_sql_add(sql, " and ");
    return sql;
}

/* The statement runs once, so it has no name and is not prepared. */
static size_t add_count(const struct work *work, const struct search_sql *sql, struct db_batch *batch)
{
    struct db_statement *statement = arena_alloc(work->arena, sizeof(*statement));
    *statement = (struct db_statement){
        .name = "",
        .result = DB_ONE,
        .sql = buf_text(sql->text),
        .params = sql->fields,
        .param_count = sql->count,
        .columns = count_columns,
        .column_count = ARRAY_COUNT(count_columns),
        .row_size = sizeof(struct count_row),
    };
    return db_batch_add(batch, statement, sql->values);
}

static struct opt_int count_result(const struct db_batch *batch, size_t index)
{
    const struct count_row *row = db_batch_rows(batch, index)->rows;
    return (struct opt_int){ .set = true, .value = row->count };
}

/* Counts the current members of several audiences, and with `ret_mailable` those of them that a send reaches. There is no count
 * for a cohort that is not ready, or for a filter on a deleted field. */
static bool count_all(const struct work *work, const struct audience_row *audiences, size_t count, struct opt_int *ret_counts,
                      int64_t *ret_mailable, struct error *err)
{
    const struct filter **filters = arena_array(work->arena, count, sizeof(*filters));
    const struct filter_scope *scope;
    for (size_t i = 0; i < count; i++)
        filters[i] = filter_of_audience(work, audiences[i].id, false, "audienceId");
    if (!filter_resolve(work, filters, count, &scope, err))
        return false;
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    size_t *statement_indices = arena_array(work->arena, count, sizeof(*statement_indices));
    for (size_t i = 0; i < count; i++) {
        struct error not_countable = { .code = ERR_NONE };
        struct search_sql *sql = count_query_new(work, ret_mailable != NULL);
        ret_counts[i].set = filter_compile(filters[i], scope, sql, &not_countable);
        if (ret_counts[i].set)
            statement_indices[i] = add_count(work, sql, batch);
    }
    if (!db_batch_run(batch, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!ret_counts[i].set)
            continue;
        ret_counts[i] = count_result(batch, statement_indices[i]);
        if (ret_mailable != NULL)
            ret_mailable[i] = ((const struct count_row *)db_batch_rows(batch, statement_indices[i])->rows)->mailable;
    }
    return true;
}

/* ---- Reading ---- */

static bool audience_not_found(struct error *err)
{
    return fail(err, ERR_AUDIENCE_NOT_FOUND, "audienceId", "No audience with this id in this brand.");
}

bool audience_get(const struct work *work, int64_t id, bool counted, struct audience_row **ret_audience, struct opt_int *ret_count,
                  struct error *err)
{
    struct audience_find_params params = { .brand_id = work->brand_id, .id = id };
    *ret_count = not_counted;
    if (!sql_audience_find(work->conn, work->arena, &params, ret_audience, err))
        return false;
    if (*ret_audience == NULL)
        return audience_not_found(err);
    return !counted || count_all(work, *ret_audience, 1, ret_count, NULL, err);
}

/* Reads a page, newest first. */
static bool find_page(const struct work *work, const char *binding, int64_t limit, const char *cursor,
                      struct audience_row **ret_rows, struct db_page *ret_found, struct error *err)
{
    struct page_cursor cursor_start;
    if (!page_cursor_read(work, binding, cursor, &cursor_start, err))
        return false;
    struct audience_page_params params = {
        .brand_id = work->brand_id,
        .from_start = !cursor_start.set,
        .id = cursor_start.id,
        .limit = limit + 1,
    };
    return sql_audience_page(work->conn, work->arena, &params, ret_rows, ret_found, err);
}

bool audience_list(const struct work *work, bool counted, bool with_builds, int64_t limit, const char *cursor,
                   struct json_writer *json, struct error *err)
{
    static const char binding[] = "audiences.list";
    struct audience_row *rows;
    struct db_page found;
    if (!find_page(work, binding, limit, cursor, &rows, &found, err))
        return false;
    size_t most = found.count > (size_t)limit ? (size_t)limit : found.count;
    struct opt_int *counts = arena_array(work->arena, most, sizeof(*counts));
    if (counted && !count_all(work, rows, most, counts, NULL, err))
        return false;

    struct page page = page_begin(json, limit, found);
    while (page_next_row(&page)) {
        size_t i = page.shown - 1;
        audience_write(work, &rows[i], (struct audience_parts){ .count = counts[i], .build = with_builds }, json);
    }
    struct page_cursor end = { .id = page.shown > 0 ? rows[page.shown - 1].id : 0 };
    page_end(&page, work, binding, end);
    json_object_end(json);
    return true;
}

bool audience_describe(const struct work *work, int64_t limit, const char *cursor, struct json_writer *json, struct error *err)
{
    static const char binding[] = "audiences.describe";
    struct audience_row *rows;
    struct db_page found;
    if (!find_page(work, binding, limit, cursor, &rows, &found, err))
        return false;
    size_t most = found.count > (size_t)limit ? (size_t)limit : found.count;
    struct opt_int *counts = arena_array(work->arena, most, sizeof(*counts));
    int64_t *mailable = arena_array(work->arena, most, sizeof(*mailable));
    if (!count_all(work, rows, most, counts, mailable, err))
        return false;

    struct page page = page_begin(json, limit, found);
    while (page_next_row(&page)) {
        size_t i = page.shown - 1;
        json_object_begin(json);
        json_member_id(json, work, "audienceId", ID_AUDIENCE, rows[i].id);
        json_member_text(json, "name", rows[i].name);
        if (counts[i].set) {
            json_member_int(json, "count", counts[i].value);
            json_member_int(json, "mailable", mailable[i]);
        }
        json_member_text_if(json, "materializationStatus", rows[i].readiness);
        json_object_end(json);
    }
    struct page_cursor end = { .id = page.shown > 0 ? rows[page.shown - 1].id : 0 };
    page_end(&page, work, binding, end);
    return true;
}

/* ---- Changing ---- */

static bool read_audience_name(const struct work *work, const char *given, const char **ret_name, struct error *err)
{
    *ret_name = given != NULL ? text_trim(work->arena, given) : NULL;
    return *ret_name == NULL || (*ret_name)[0] != '\0' ||
           fail(err, ERR_INVALID_REQUEST, "name", "The name of an audience must not be blank.");
}

/* Filters are stored as an object; a bare array is converted. */
static bool read_filters(const struct work *work, const json_t *given, const char **ret_filters, struct error *err)
{
    json_t *object = json_in_arena(work->arena, json_object());
    const json_t *logic = json_object_get(given, "logic");
    const json_t *list = json_is_array(given) ? given : json_object_get(given, "filters");
    json_object_set_new(object, "logic", logic != NULL ? json_copy(json_for_iteration(logic)) : json_string("and"));
    json_object_set(object, "filters", json_for_iteration(list));
    *ret_filters = json_compact(work->arena, object);
    return strlen(*ret_filters) <= AUDIENCE_FILTERS_MAX_BYTES ||
           fail(err, ERR_INVALID_REQUEST, "filters", "filters must not be larger than %d KiB.", AUDIENCE_FILTERS_MAX_BYTES / 1024);
}

/* Counts the members again without regard to case, as contact_count does. */
static bool count_ignoring_case(const struct work *work, const struct filter *filter, const struct filter_scope *scope,
                                struct audience_parts *parts, struct error *err)
{
    struct search_sql *sql = arena_alloc(work->arena, sizeof(*sql));
    search_sql_init(sql, work->arena);
    sql->ignores_case = true;
    search_sql_add(sql, "select count(*), 0::bigint from (select 1 from contacts c where c.brand_id = ");
    search_sql_number(sql, work->brand_id);
    search_sql_add(sql, " and ");
    if (!filter_compile(filter, scope, sql, err))
        return false;
    search_sql_add(sql, " limit ");
    search_sql_number(sql, FILTER_CASE_COUNT_MAX);
    search_sql_add(sql, ") m");
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    size_t at = add_count(work, sql, batch);
    if (!db_batch_run(batch, err))
        return false;
    struct opt_int count = count_result(batch, at);
    count.set = count.value > parts->count.value;
    parts->ignoring_case = count;
    return true;
}

/* Counts the members, which also proves that the SQL of the filter is valid. `audience_id` 0: a new audience. */
static bool check_and_count(const struct work *work, const json_t *filters, int64_t audience_id, struct audience_parts *ret_parts,
                            struct error *err)
{
    const struct filter *filter;
    const struct filter_scope *scope;
    struct error not_countable = { .code = ERR_NONE };
    struct search_sql *sql = count_query_new(work, false);
    *ret_parts = (struct audience_parts){ .count = not_counted };
    if (!filter_check(work, filters, "filters", audience_id, &filter, &scope, err))
        return false;
    if (!filter_compile(filter, scope, sql, &not_countable)) /* it refers to a cohort that is being built */
        return true;
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    size_t at = add_count(work, sql, batch);
    if (!db_batch_run(batch, err))
        return false;
    ret_parts->count = count_result(batch, at);
    bool may_hide = sql->has_exact_text && ret_parts->count.value <= FILTER_FEW_MATCHES;
    return !may_hide || count_ignoring_case(work, filter, scope, ret_parts, err);
}

bool audience_create(const struct work *work, const char *name, const json_t *filters, struct audience_row **ret_audience,
                     struct audience_parts *ret_parts, struct error *err)
{
    struct audience_insert_params params = { .brand_id = work->brand_id, .now = work->now_us };
    return read_audience_name(work, name, &params.name, err) && check_and_count(work, filters, 0, ret_parts, err) &&
           read_filters(work, filters, &params.filters, err) &&
           sql_audience_insert(work->conn, work->arena, &params, ret_audience, err);
}

static bool check_audience_change(const struct work *work, int64_t id, const char *name, const json_t *filters, struct error *err)
{
    struct audience_row *audience;
    struct opt_int ignored;
    if (name == NULL && filters == NULL)
        return fail(err, ERR_INVALID_REQUEST, "name", "Pass name or filters.");
    if (!audience_get(work, id, false, &audience, &ignored, err))
        return false;
    return filters == NULL || audience->readiness == NULL ||
           fail(err, ERR_INVALID_REQUEST, "filters",
                "The members of this cohort are fixed; create another cohort from other events.");
}

bool audience_update(const struct work *work, int64_t id, const char *name, const json_t *filters,
                     struct audience_row **ret_audience, struct opt_int *ret_count, struct error *err)
{
    struct audience_change_params params = { .brand_id = work->brand_id, .id = id, .now = work->now_us };
    if (!check_audience_change(work, id, name, filters, err) || !read_audience_name(work, name, &params.name, err))
        return false;
    struct audience_parts parts;
    if (filters != NULL && (!check_and_count(work, filters, id, &parts, err) || !read_filters(work, filters, &params.filters, err)))
        return false;
    if (filters != NULL)
        *ret_count = parts.count;
    if (!sql_audience_change(work->conn, work->arena, &params, ret_audience, err))
        return false;
    if (*ret_audience == NULL)
        return audience_not_found(err);
    return filters != NULL || count_all(work, *ret_audience, 1, ret_count, NULL, err);
}

bool audience_delete(const struct work *work, int64_t id, bool *ret_deleted, struct error *err)
{
    struct audience_delete_params params = { .brand_id = work->brand_id, .id = id, .now = work->now_us };
    int64_t affected;
    if (!sql_audience_delete(work->conn, work->arena, &params, &affected, err))
        return false;
    *ret_deleted = affected > 0;
    return true;
}

static const char *copy_name(const struct work *work, const char *name, const struct audience_row *original)
{
    const char *copy = arena_printf(work->arena, "Copy of %s", original->name);
    return name != NULL ? name : text_visible(work->arena, copy, AUDIENCE_NAME_MAX_CHARS);
}

bool audience_duplicate(const struct work *work, int64_t id, const char *name, struct audience_row **ret_audience,
                        struct opt_int *ret_count, struct error *err)
{
    struct audience_row *original;
    const char *given;
    if (!audience_get(work, id, false, &original, ret_count, err) || !read_audience_name(work, name, &given, err))
        return false;
    const char *copy = copy_name(work, given, original);
    if (original->selection != NULL) {
        struct audience_insert_cohort_params cohort = {
            .brand_id = work->brand_id,
            .name = copy,
            .selection = original->selection,
            .now = work->now_us,
        };
        return sql_audience_insert_cohort(work->conn, work->arena, &cohort, ret_audience, err);
    }
    struct audience_insert_params filter = {
        .brand_id = work->brand_id,
        .name = copy,
        .filters = original->filters,
        .now = work->now_us,
    };
    return sql_audience_insert(work->conn, work->arena, &filter, ret_audience, err) &&
           count_all(work, *ret_audience, 1, ret_count, NULL, err);
}
