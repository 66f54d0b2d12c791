#include "engine/sends/target.h"

#include "base/text.h"
#include "engine/filters/filter.h"

struct any_row {
    bool any;
};
struct count_row {
    int64_t count;
};

static const struct db_field any_columns[] = { { .name = "any", .type = DB_BOOLEAN, .offset = offsetof(struct any_row, any) } };
static const struct db_field count_columns[] = {
    { .name = "count", .type = DB_BIGINT, .offset = offsetof(struct count_row, count) }
};

/* " from contacts c where …" */
static bool add_target_members(const struct work *work, struct send_target target, struct search_sql *sql, struct error *err)
{
    search_sql_add(sql, " from contacts c where c.brand_id = ");
    search_sql_number(sql, work->brand_id);
    search_sql_add(sql, " and c.subscribed");
    if (target.is_all)
        return true;
    const struct filter *members = filter_of_audience(work, target.audience_id, target.is_accepted, "audienceId");
    const struct filter_scope *scope;
    search_sql_add(sql, " and ");
    return filter_resolve(work, &members, 1, &scope, err) && filter_compile(members, scope, sql, err);
}

static const struct db_field stats_columns[] = {
    { .name = "count", .type = DB_BIGINT, .offset = offsetof(struct target_stats, count) },
    { .name = "sample_key", .type = DB_TEXT, .nullable = true, .offset = offsetof(struct target_stats, sample_key) },
    { .name = "without_first_name", .type = DB_BIGINT, .offset = offsetof(struct target_stats, without_first_name) },
    { .name = "without_last_name", .type = DB_BIGINT, .offset = offsetof(struct target_stats, without_last_name) },
    { .name = "without_field", .type = DB_BIGINT_ARRAY, .offset = offsetof(struct target_stats, without_field) },
};

/* The statement runs once, so it has no name and is not prepared. */
static struct db_statement *statement_of(const struct work *work, const struct search_sql *sql, const struct db_field *column,
                                         size_t row_size)
{
    struct db_statement *statement = arena_alloc(work->arena, sizeof(*statement));
    *statement = (struct db_statement){
        .name = "",
        .result = DB_ONE,
        .sql = buf_text(sql->text),
        .params = sql->fields,
        .param_count = sql->count,
        .columns = column,
        .column_count = 1,
        .row_size = row_size,
    };
    return statement;
}

static struct search_sql *new_sql(const struct work *work)
{
    struct search_sql *sql = arena_alloc(work->arena, sizeof(*sql));
    search_sql_init(sql, work->arena);
    return sql;
}

bool send_target_add_any(const struct work *work, struct send_target target, struct db_batch *batch, size_t *ret_at,
                         struct error *err)
{
    struct search_sql *sql = new_sql(work);
    search_sql_add(sql, "select exists (select 1");
    if (!add_target_members(work, target, sql, err))
        return false;
    search_sql_add(sql, ")");
    *ret_at = db_batch_add(batch, statement_of(work, sql, any_columns, sizeof(struct any_row)), sql->values);
    return true;
}

bool send_target_is_any(const struct db_rows *rows)
{
    const struct any_row *row = rows->rows;
    return row != NULL && row->any;
}

bool send_target_add_count(const struct work *work, struct send_target target, struct db_batch *batch, size_t *ret_at,
                           struct error *err)
{
    struct search_sql *sql = new_sql(work);
    search_sql_add(sql, "select count(*)");
    if (!add_target_members(work, target, sql, err))
        return false;
    *ret_at = db_batch_add(batch, statement_of(work, sql, count_columns, sizeof(struct count_row)), sql->values);
    return true;
}

int64_t send_target_counted(const struct db_rows *rows)
{
    const struct count_row *row = rows->rows;
    return row != NULL ? row->count : 0;
}

static bool run_count(const struct work *work, const struct search_sql *sql, int64_t *ret_count, struct error *err)
{
    struct db_rows rows;
    const struct db_statement *statement = statement_of(work, sql, count_columns, sizeof(struct count_row));
    if (!db_run(work->conn, work->arena, statement, sql->values, &rows, err))
        return false;
    *ret_count = ((const struct count_row *)rows.rows)->count;
    return true;
}

bool send_target_count(const struct work *work, struct send_target target, int64_t *ret_count, struct error *err)
{
    struct search_sql *sql = new_sql(work);
    search_sql_add(sql, "select count(*)");
    return add_target_members(work, target, sql, err) && run_count(work, sql, ret_count, err);
}

static void add_sample_order(const struct work *work, struct bytes sample_key, struct search_sql *sql)
{
    char *hex = arena_alloc(work->arena, 2 * sample_key.size + 1);
    hex_encode(sample_key.data, sample_key.size, hex);
    search_sql_add(sql, "sha256(decode(");
    search_sql_text(sql, hex);
    search_sql_add(sql, "::text, 'hex') || convert_to(c.email_key, 'UTF8')), ");
}

/* Ordinals follow the order of addresses. The recipients of a range are then adjacent in every index by address, which makes
 * fetching and settling a range faster. A gradual send has the order of keyed hashes instead, so that a tranche is a fair sample.
 */
bool send_target_expand(const struct work *work, int64_t send_id, struct send_target target, struct bytes sample_key,
                        int64_t *ret_count, struct error *err)
{
    struct search_sql *sql = new_sql(work);
    search_sql_add(sql, "with target as materialized (select ");
    search_sql_number(sql, send_id);
    search_sql_add(sql, "::bigint as send_id, ");
    search_sql_number(sql, work->brand_id);
    search_sql_add(sql, "::bigint as brand_id), eligible as materialized ("
                        "select c.id, c.email, c.email_key, row_number() over (order by ");
    if (sample_key.data != NULL)
        add_sample_order(work, sample_key, sql);
    search_sql_add(sql, "c.email_key) as ordinal");
    if (!add_target_members(work, target, sql, err))
        return false;
    search_sql_add(sql, "), recipients as ("
                        "insert into send_recipients (brand_id, send_id, ordinal, contact_id, email, email_key)"
                        " select t.brand_id, t.send_id, e.ordinal, e.id, e.email, e.email_key from target t, eligible e"
                        "), total as (select count(*) as count from eligible), counted as ("
                        "update sends s set recipient_count = n.count from target t, total n"
                        " where s.brand_id = t.brand_id and s.id = t.send_id"
                        ") select count from total");
    return run_count(work, sql, ret_count, err);
}

/* ---- Statistics for a preview ---- */

/* " from … c": contacts, or keys with their contact if there is one. */
static bool add_stats_source(const struct work *work, const struct target_stats_query *query, struct search_sql *sql,
                             struct error *err)
{
    if (query->keys.items == NULL)
        return add_target_members(work, query->target, sql, err);
    search_sql_add(sql, " from (select k.key as email_key, c.first_name, c.last_name, c.custom_fields from unnest(");
    search_sql_texts(sql, query->keys);
    search_sql_add(sql, "::text[]) as k (key) left join contacts c on c.email_key = k.key and c.brand_id = ");
    search_sql_number(sql, work->brand_id);
    search_sql_add(sql, ") c");
    return true;
}

bool send_target_stats(const struct work *work, const struct target_stats_query *query, struct target_stats *ret_stats,
                       struct error *err)
{
    struct search_sql *sql = new_sql(work);
    search_sql_add(sql, "select count(*), min(c.email_key collate \"C\"), count(*) filter (where c.first_name is null),"
                        " count(*) filter (where c.last_name is null), array[");
    for (size_t i = 0; i < query->fields.count && i < TARGET_STATS_MAX_FIELDS; i++) {
        search_sql_add(sql, i > 0 ? ", count(*) filter (where nullif(c.custom_fields -> "
                                  : "count(*) filter (where nullif(c.custom_fields -> ");
        search_sql_text(sql, query->fields.items[i]);
        search_sql_add(sql, ", 'null') is null)");
    }
    search_sql_add(sql, "]::bigint[]");
    if (!add_stats_source(work, query, sql, err))
        return false;
    struct db_rows rows;
    struct db_statement *statement = statement_of(work, sql, stats_columns, sizeof(struct target_stats));
    statement->column_count = ARRAY_COUNT(stats_columns);
    if (!db_run(work->conn, work->arena, statement, sql->values, &rows, err))
        return false;
    *ret_stats = *(const struct target_stats *)rows.rows;
    return true;
}
