/*
 * Date conditions of filters. A condition becomes a range with one or two ends.
 * A date of a contact is a time, or a whole day without a time zone, so a range
 * has two forms: a half-open range of times, and a range of days that includes
 * both ends. PostgreSQL converts between days and times in the time zone of the
 * brand, once per statement.
 */
#include "engine/filters/filter_tree.h"

#include "base/clock.h"

static struct filter_range single_range(const struct filter_moment *moment)
{
    return (struct filter_range){
        .from = { true, *moment, 0, 0, 0 },
        .to = { true, *moment, 1, US_PER_MS, 0 },
        .times_only = !moment->is_day, /* a day never equals an instant */
    };
}

static struct filter_moment moment_at(int64_t time_us)
{
    return (struct filter_moment){ .time_us = time_us - time_us % US_PER_MS };
}

static bool relative_range(const struct filter_condition *condition, struct arena *arena, enum filter_verb verb, int64_t now_us,
                           struct filter_range *ret_range, struct error *err)
{
    int64_t days;
    struct filter_moment now = moment_at(now_us);
    if (!filter_value_days(condition, arena, &days, err))
        return false;
    int64_t length_us = days * INT64_C(86400) * US_PER_S;
    if (verb == VERB_LAST_DAYS)
        *ret_range =
            (struct filter_range){ .from = { true, now, 0, -length_us, (int)-days }, .to = { true, now, 0, US_PER_MS, 0 } };
    else
        *ret_range =
            (struct filter_range){ .from = { true, now, 0, 0, 0 }, .to = { true, now, 0, length_us + US_PER_MS, (int)days } };
    return true;
}

bool filter_date_range(const struct filter_condition *condition, struct arena *arena, enum filter_verb verb, int64_t now_us,
                       struct filter_range *ret_range, struct error *err)
{
    struct filter_moment moments[2] = { 0 };
    if (verb == VERB_LAST_DAYS || verb == VERB_NEXT_DAYS)
        return relative_range(condition, arena, verb, now_us, ret_range, err);
    if (!filter_value_moments(condition, arena, verb == VERB_BETWEEN ? 2 : 1, moments, err))
        return false;
    if (verb == VERB_BEFORE)
        *ret_range = (struct filter_range){ .to = { true, moments[0], 0, 0, -1 } };
    else if (verb == VERB_AFTER)
        *ret_range = (struct filter_range){ .from = { true, moments[0], 1, US_PER_MS, 1 } };
    else if (verb == VERB_BETWEEN)
        *ret_range = (struct filter_range){ .from = { true, moments[0], 0, 0, 0 }, .to = { true, moments[1], 1, US_PER_MS, 0 } };
    else
        *ret_range = single_range(&moments[0]);
    return true;
}

/* ---- The two forms of an edge ---- */

static void add_brand_zone_end(struct filter_compiler *compiler)
{
    search_sql_add(compiler->sql, " from brands b where b.id = ");
    search_sql_number(compiler->sql, compiler->scope->work->brand_id);
    search_sql_add(compiler->sql, ")");
}

static void add_instant(struct filter_compiler *compiler, const struct filter_edge *edge)
{
    struct search_sql *sql = compiler->sql;
    if (!edge->moment.is_day) {
        search_sql_time(sql, edge->moment.time_us + edge->instant_us);
        return;
    }
    search_sql_add(sql, "(select (");
    search_sql_text(sql, arena_dup(sql->arena, edge->moment.day));
    search_sql_add(sql, edge->instant_days > 0 ? "::date + 1)" : "::date)");
    search_sql_add(sql, "::timestamp at time zone b.time_zone");
    add_brand_zone_end(compiler);
}

/* Custom fields store times as ISO 8601 in UTC with milliseconds, which sorts by time when sorted as text. */
static void add_instant_text(struct filter_compiler *compiler, const struct filter_edge *edge)
{
    struct search_sql *sql = compiler->sql;
    if (!edge->moment.is_day) {
        search_sql_text(sql, clock_iso(sql->arena, edge->moment.time_us + edge->instant_us));
        return;
    }
    search_sql_add(sql, "(select to_char(");
    add_instant(compiler, edge);
    search_sql_add(sql, " at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"'))");
}

static void add_day(struct filter_compiler *compiler, const struct filter_edge *edge)
{
    struct search_sql *sql = compiler->sql;
    if (edge->moment.is_day) {
        struct filter_moment day = filter_day_shifted(&edge->moment, edge->day_days);
        search_sql_text(sql, arena_dup(sql->arena, day.day));
        return;
    }
    search_sql_add(sql, "(select to_char((");
    search_sql_time(sql, edge->moment.time_us);
    search_sql_add(sql, " at time zone b.time_zone)::date + ");
    search_sql_number(sql, edge->day_days);
    search_sql_add(sql, "::int, 'YYYY-MM-DD')");
    add_brand_zone_end(compiler);
}

/* ---- Columns and custom fields ---- */

typedef void add_edge(struct filter_compiler *compiler, const struct filter_edge *edge);

static void add_range(struct filter_compiler *compiler, const struct filter_condition *condition, const struct filter_range *range,
                      add_edge *add, const char *at_least, const char *below)
{
    if (range->from.set) {
        filter_add_subject(compiler->sql, condition);
        search_sql_add(compiler->sql, at_least);
        add(compiler, &range->from);
    }
    if (range->from.set && range->to.set)
        search_sql_add(compiler->sql, " and ");
    if (range->to.set) {
        filter_add_subject(compiler->sql, condition);
        search_sql_add(compiler->sql, below);
        add(compiler, &range->to);
    }
}

bool filter_compile_date(struct filter_compiler *compiler, const struct filter_condition *condition, enum filter_verb verb,
                         struct error *err)
{
    struct search_sql *sql = compiler->sql;
    struct filter_range range;
    if (!filter_date_range(condition, sql->arena, verb, compiler->scope->work->now_us, &range, err))
        return false;
    if (condition->subject == SUBJECT_COLUMN) {
        add_range(compiler, condition, &range, add_instant, " >= ", " < ");
        return true;
    }
    search_sql_add(sql, "case when length(");
    filter_add_subject(sql, condition);
    search_sql_add(sql, ") = 10 then ");
    if (range.times_only)
        search_sql_add(sql, "false");
    else
        add_range(compiler, condition, &range, add_day, " collate \"C\" >= ", " collate \"C\" <= ");
    search_sql_add(sql, " else ");
    add_range(compiler, condition, &range, add_instant_text, " collate \"C\" >= ", " collate \"C\" < ");
    search_sql_add(sql, " end");
    return true;
}
