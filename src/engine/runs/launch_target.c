#include "engine/runs/launch_target.h"

#include "engine/filters/filter.h"

struct count_row {
    int64_t count;
};
static const struct db_field count_columns[] = {
    { .name = "count", .type = DB_BIGINT, .offset = offsetof(struct count_row, count) },
};
static const struct db_statement count_shape = {
    .result = DB_ONE,
    .columns = count_columns,
    .column_count = ARRAY_COUNT(count_columns),
    .row_size = sizeof(struct count_row),
};

static struct search_sql *new_sql(const struct work *work)
{
    struct search_sql *sql = arena_alloc(work->arena, sizeof(*sql));
    search_sql_init(sql, work->arena);
    return sql;
}

/* " from contacts c where …" */
static bool add_eligible(const struct work *work, struct launch_target target, struct search_sql *sql, struct error *err)
{
    const struct filter *members = filter_of_audience(work, target.audience_id, target.is_accepted, "audienceId");
    const struct filter_scope *scope;
    search_sql_add(sql, " from contacts c where c.brand_id = ");
    search_sql_number(sql, work->brand_id);
    search_sql_add(sql, target.is_transactional ? " and " : " and c.subscribed and ");
    return filter_resolve(work, &members, 1, &scope, err) && filter_compile(members, scope, sql, err);
}

bool launch_target_count(const struct work *work, struct launch_target target, int64_t *ret_count, struct error *err)
{
    struct search_sql *sql = new_sql(work);
    struct db_rows rows;
    search_sql_add(sql, "select count(*)");
    if (!add_eligible(work, target, sql, err) || !search_sql_run(sql, work->conn, &count_shape, &rows, err))
        return false;
    *ret_count = ((const struct count_row *)rows.rows)->count;
    return true;
}

/* ---- Runs ---- */

/* Appends numbers as one parameter. */
static void add_numbers(struct search_sql *sql, struct int_list numbers)
{
    const char **texts = arena_array(sql->arena, numbers.count, sizeof(*texts));
    for (size_t i = 0; i < numbers.count; i++)
        texts[i] = arena_printf(sql->arena, "%lld", (long long)numbers.items[i]);
    search_sql_texts(sql, (struct text_list){ texts, numbers.count });
    search_sql_add(sql, "::text[]::bigint[]");
}

static void add_order(struct search_sql *sql, const char *order_key)
{
    search_sql_add(sql, "row_number() over (order by ");
    if (order_key != NULL) {
        search_sql_add(sql, "sha256(decode(");
        search_sql_text(sql, order_key);
        search_sql_add(sql, "::text, 'hex') || convert_to(c.email_key, 'UTF8')), ");
    }
    search_sql_add(sql, "c.email_key) as place");
}

/* ", tranches as (…)": the last place of each tranche, and the times. */
static void add_tranches(struct search_sql *sql, const struct launch_tranches *tranches)
{
    search_sql_add(sql, "), total as (select count(*) as count from eligible"
                        "), tranches as (select array(select (n.count * s.share + w.whole - 1) / w.whole from unnest(");
    add_numbers(sql, tranches->shares);
    search_sql_add(sql,
                   ") as s (share) order by s.share) as ends, array(select timestamptz 'epoch' + t.us * interval '1 microsecond'"
                   " from unnest(");
    add_numbers(sql, tranches->times_us);
    search_sql_add(sql, ") with ordinality as t (us, place) order by t.place) as times from total n, (select ");
    search_sql_number(sql, tranches->whole);
    search_sql_add(sql, "::bigint as whole) w)");
}

/* ", runs as (…), …": the runs are in the order of their places, so those of a tranche are adjacent. */
static void add_runs(const struct work *work, struct search_sql *sql, int64_t audience_run_id, const char *trigger_node)
{
    search_sql_add(sql, ", launch as (select l.*, ");
    search_sql_text(sql, trigger_node);
    search_sql_add(sql, "::text as node, ");
    search_sql_time(sql, work->now_us);
    search_sql_add(sql, "::timestamptz as now from audience_runs l where l.brand_id = ");
    search_sql_number(sql, work->brand_id);
    search_sql_add(sql, " and l.id = ");
    search_sql_number(sql, audience_run_id);
    search_sql_add(
        sql,
        "), runs as ("
        "insert into automation_runs (brand_id, automation_id, version_id, audience_run_id, contact_id, email, email_key, node_id,"
        " due_at, started_at)"
        " select l.brand_id, l.automation_id, l.version_id, l.id, e.id, e.email, e.email_key, l.node,"
        " t.times[width_bucket(e.place - 1, t.ends) + 1], l.now"
        " from eligible e, tranches t, launch l order by e.place"
        " returning id, email, email_key"
        "), told as ("
        "insert into events (brand_id, occurred_at, domain, event_type, recipient_email, recipient_key, automation_id, node_id,"
        " automation_run_id, audience_run_id)"
        " select l.brand_id, l.now, 'automation', 'started', r.email, r.email_key, l.automation_id, l.node, r.id, l.id"
        " from runs r, launch l order by r.id"
        "), begun as ("
        "update audience_runs a set status = case when n.count > 0 then 'running' else 'completed' end, error = null,"
        " total_recipients = n.count, open_runs = n.count, updated_at = l.now,"
        " completed_at = case when n.count = 0 then l.now end"
        " from total n, launch l where a.brand_id = l.brand_id and a.id = l.id"
        ") select count from total");
}

bool launch_target_start(const struct work *work, int64_t audience_run_id, struct launch_target target, const char *trigger_node,
                         const struct launch_tranches *tranches, struct error *err)
{
    struct search_sql *sql = new_sql(work);
    struct db_rows rows;
    search_sql_add(sql, "with eligible as materialized (select c.id, c.email, c.email_key, ");
    add_order(sql, tranches->order_key);
    if (!add_eligible(work, target, sql, err))
        return false;
    add_tranches(sql, tranches);
    add_runs(work, sql, audience_run_id, trigger_node);
    return search_sql_run(sql, work->conn, &count_shape, &rows, err);
}
