/*
 * The detectors of automations on a database: each finds a change in rows that SQL
 * has inserted, and nothing in rows without one.
 */
#include "fixtures/engine_fixture.h"

#include "base/clock.h"
#include "engine/insights/insight_data.h"
#include "engine/insights/insights.h"
#include "engine/insights/load.h"

#include <math.h>

#define WEDNESDAY "timestamptz '2026-03-04 15:30:00Z'"

static const int64_t wednesday_us = INT64_C(1772638200) * US_PER_S;
static const int64_t day_us = INT64_C(86400) * US_PER_S;

/* Two published automations of the same name; an event starts both. */
static int begin(void **state)
{
    int failed = world_reset(state);
    work.now_us = wednesday_us;
    run_sql(
        "delete from insights; delete from insight_runs; delete from automation_counts; delete from automation_steps;"
        "delete from automation_runs; delete from automations; delete from automation_versions; delete from automation_sends;"
        "delete from recipient_events; delete from trigger_instances; delete from triggers;"
        "insert into automation_versions (brand_id, id, automation_id, version, nodes, connections, definition_hash, trigger_id, "
        "                                 created_at) overriding system value "
        "select %1$lld, 10 * n, n, 1, '[{\"id\": \"start\", \"type\": \"trigger\", \"config\": {}},"
        "    {\"id\": \"half\", \"type\": \"split\", \"config\": {\"leftPercentage\": 50, \"rightLabel\": \"Short mail\"}},"
        "    {\"id\": \"who\", \"type\": \"split\", \"config\": {\"logicalOperator\": \"AND\", \"conditions\": []}}]', '[]', '', 5,"
        "       " WEDNESDAY " - interval '80 days'"
        "  from generate_series(1, 2) n;"
        "insert into automations (brand_id, id, name, latest_version_id, live_version_id, created_at, updated_at)"
        "  overriding system value "
        "select %1$lld, n, 'Welcome', 10 * n, 10 * n, " WEDNESDAY " - interval '90 days', " WEDNESDAY " - interval '80 days'"
        "  from generate_series(1, 2) n;"
        "insert into triggers (brand_id, id, title, created_at, updated_at) overriding system value "
        "select %1$lld, 4 + n, 'Signed up', now(), now() from generate_series(1, 2) n",
        (long long)work.brand_id);
    return failed;
}

/* ---- Runs and findings ---- */

static int64_t run_once(void)
{
    struct error err;
    const struct insight_findings *findings;
    bool begun;
    int64_t active;
    assert_ok(insight_run_begin(&work, 1, &begun, &err), &err);
    assert_true(begun);
    assert_ok(insight_run_find(&work, &findings, &err), &err);
    assert_ok(insight_run_save(&work, 1, findings, work.now_us, &active, &err), &err);
    return active;
}

/* Two runs, which show exactly this finding, as the last one of its detector. Gives its detail. */
static const json_t *find_only(const char *detector)
{
    struct error err;
    const json_t *detail;
    struct buf *out = buf_in_arena(arena, 1 << 20);
    struct json_writer json;
    json_writer_init(&json, out);
    run_once();
    assert_int_equal(run_once(), 1);
    run_sql("create temp table if not exists wanted (id bigint); delete from wanted;"
            "insert into wanted select id from insights where detector = '%s' and state = 'active'",
            detector);
    if (number_of("select count(*) from wanted") != 1)
        fail_msg("%s was not found once", detector);
    assert_ok(insight_get(&work, number_of("select id from wanted"), &json, &err), &err);
    struct json_bounds bounds = { .max_bytes = out->size };
    assert_ok(json_read(arena, buf_text(out), out->size, bounds, &detail, &err), &err);
    return detail;
}

static void find_nothing(void)
{
    run_once();
    assert_int_equal(run_once(), 0);
    assert_int_equal(number_of("select count(*) from insights where state = 'active'"), 0);
}

static double metric(const json_t *detail, const char *name)
{
    return json_number_value(json_object_get(json_object_get(detail, "metrics"), name));
}

static const char *subject(const json_t *detail, const char *name)
{
    return json_get_text(json_object_get(detail, "subject"), name);
}

/* ---- Steps ---- */

/* 30 runs a day of both automations for 40 days. Of each day `usual` fail at the step of the mail. */
static void make_runs(int usual)
{
    run_sql("insert into automation_runs (brand_id, id, automation_id, version_id, email, email_key, status, node_id, started_at)"
            "  overriding system value "
            "select %1$lld, a * 100000 + d * 100 + n, a, 10 * a, '', 'n' || n || '-' || d, 'completed', 'mail',"
            "       " WEDNESDAY " - d * interval '1 day' - n * interval '1 minute'"
            "  from generate_series(1, 2) a, generate_series(0, 39) d, generate_series(1, 30) n;"
            "insert into automation_steps (brand_id, run_id, visit, node_id, node_type, status, error, started_at)"
            "select brand_id, id, 1, 'start', 'trigger', 'completed', null, started_at from automation_runs;"
            "insert into automation_steps (brand_id, run_id, visit, node_id, node_type, status, error, started_at)"
            "select brand_id, id, 2, 'mail', 'sendEmail', case when id %% 100 <= %2$d then 'failed' else 'completed' end,"
            "       case when id %% 100 <= %2$d then 'The contact was deleted.' end, started_at"
            "  from automation_runs",
            (long long)work.brand_id, usual);
}

/* Runs of the first automation whose step of the mail fails, on each of the last `days` days. */
static void lose(int days, int runs, const char *status)
{
    run_sql("update automation_steps set status = '%s', error = 'The design was deleted.'"
            " where node_id = 'mail' and run_id >= 100000 and run_id < 100000 + %d * 100 and run_id %% 100 between 3 and 2 + %d",
            status, days, runs);
}

static void test_leaking_step(void **state)
{
    (void)state;
    make_runs(2);
    find_nothing();
    lose(5, 8, "failed");
    const json_t *detail = find_only("leakingStep");
    assert_true(fabs(metric(detail, "value") - (14.0 + 40) / 210) < 1e-9);
    assert_true(fabs(metric(detail, "baseline") - 2.0 / 30) < 1e-9);
    assert_string_equal(subject(detail, "kind"), "step");
    assert_string_equal(subject(detail, "nodeId"), "mail");
    assert_string_equal(subject(detail, "name"), "mail of Welcome");
    assert_string_equal(subject(detail, "automationId"), work_id(&work, ID_AUTOMATION, 1));
    assert_non_null(strstr(json_get_text(detail, "rationale"), "The most frequent reason: The design was deleted."));
    assert_non_null(strstr(json_get_text(detail, "description"), "26 % of the runs are lost at the step mail of Welcome"));
}

/* D-122. Steps that were skipped count as well. Test runs, and the visits that have not ended, do not. */
static void test_skipped_steps(void **state)
{
    (void)state;
    make_runs(0);
    lose(7, 10, "skipped");
    assert_true(fabs(metric(find_only("leakingStep"), "value") - 1.0 / 3) < 1e-9);
    run_sql("update automation_runs set mode = 'test' where id %% 100 between 3 and 12");
    find_nothing();
    run_sql("update automation_runs set mode = 'live'; update automation_steps set status = 'running' where status = 'skipped'");
    find_nothing();
}

/* No test is made of less than a hundred runs in a week, and none of an automation that is not published. */
static void test_few_runs(void **state)
{
    (void)state;
    make_runs(1);
    lose(7, 13, "failed");
    run_sql("delete from automation_runs where id %% 100 > 14");
    find_nothing();
}

static void test_unpublished(void **state)
{
    (void)state;
    make_runs(1);
    lose(7, 13, "failed");
    run_sql("update automations set live_version_id = null");
    find_nothing();
    run_sql("update automations set live_version_id = latest_version_id");
    find_only("leakingStep");
}

/* Of one day only a hundred runs are read, so one large launch does not outweigh all others. */
static void test_runs_of_a_day(void **state)
{
    (void)state;
    struct error err;
    struct insight_data data;
    make_runs(2);
    run_sql("insert into automation_runs (brand_id, id, automation_id, version_id, email, email_key, status, node_id, started_at)"
            "  overriding system value "
            "select %1$lld, 900000 + n, 1, 10, '', '', 'completed', 'mail', " WEDNESDAY " - interval '36 hours'"
            "  from generate_series(1, 400) n;"
            "insert into automation_steps (brand_id, run_id, visit, node_id, node_type, status, started_at)"
            "select brand_id, id, 1, 'mail', 'sendEmail', 'failed', now() from automation_runs where id > 900000",
            (long long)work.brand_id);
    assert_ok(insight_data_load(&work, &data, &err), &err);
    assert_int_equal(data.step_count, 2);
    assert_int_equal(data.steps[0].automation->id, 1);
    assert_true(data.steps[0].days[1].total == 100);
    assert_true(data.steps[0].days[0].total == 30 && data.steps[0].days[0].hits == 2);
    assert_true(data.steps[0].days[39].total == 30 && data.steps[0].days[40].total == 0);
}

/* ---- Silence ---- */

/* `count` runs a day of both automations, from one day before today to another; only on working days when it is asked for. */
static void count_runs(int from, int to, int count, bool is_weekly)
{
    run_sql("insert into automation_counts (brand_id, automation_id, day, kind, count)"
            "select %1$lld, a, date '2026-03-04' - d, k, %4$d"
            "  from generate_series(1, 2) a, generate_series(%3$d, %2$d) d, unnest(array['started', 'completed']) k"
            " where not %5$s or extract(isodow from date '2026-03-04' - d) < 6",
            (long long)work.brand_id, from, to, count, is_weekly ? "true" : "false");
}

static void test_silent(void **state)
{
    (void)state;
    count_runs(40, 0, 3, false);
    find_nothing();
    run_sql("delete from automation_counts where automation_id = 2 and day > '2026-02-26'");
    const json_t *detail = find_only("silentAutomation");
    assert_true(metric(detail, "value") == 5);
    assert_true(metric(detail, "sample") == 3 * 35);
    assert_string_equal(subject(detail, "automationId"), work_id(&work, ID_AUTOMATION, 2));
    assert_string_equal(json_get_text(detail, "description"), "The automation Welcome began no run for 5 days");
    run_sql("update automations set is_paused = true");
    find_nothing();
    run_sql("update automations set is_paused = false");
    find_only("silentAutomation");
    /* Nobody counts on events while the automation was another one. */
    run_sql("update automations set updated_at = '2026-03-03 10:00:00Z'");
    find_nothing();
    run_sql("update automations set updated_at = '2026-01-03'; update automation_versions set trigger_id = null, audience_id = 1");
    find_nothing();
}

/* D-122: a weekend is no silence of an automation that rests on weekends. */
static void test_weekends(void **state)
{
    (void)state;
    count_runs(80, 5, 6, true); /* to Friday */
    work.now_us = wednesday_us - 2 * day_us;
    find_nothing();
    work.now_us = wednesday_us + day_us;
    run_once();
    assert_int_equal(run_once(), 2);
}

static void test_few_days(void **state)
{
    (void)state;
    count_runs(23, 11, 50, false); /* 13 days */
    find_nothing();
    count_runs(24, 24, 50, false);
    run_once();
    assert_int_equal(run_once(), 2);
    run_sql("update automation_counts set count = 1"); /* 14 runs */
    find_nothing();
}

/* ---- Splits ---- */

/* Contacts of the first automation that took a way of the split, and the mail behind it; `clicks` of them clicked after some days.
 */
static void take_way(const char *branch, int contacts, int clicks, int days)
{
    run_sql(
        "with r as ("
        "    insert into automation_runs (brand_id, automation_id, version_id, email, email_key, status, node_id, started_at)"
        "    select %1$lld, 1, 10, '', '%2$s' || n, 'completed', 'end', " WEDNESDAY
        " - interval '30 days' + n * interval '1 minute'"
        "      from generate_series(1, %3$d) n returning *"
        "), s as ("
        "    insert into automation_steps (brand_id, run_id, visit, node_id, node_type, status, branch, started_at, completed_at)"
        "    select brand_id, id, 2, 'half', 'split', 'completed', '%2$s', started_at, started_at from r"
        "), m as ("
        "    insert into automation_sends (brand_id, id, carrier_id, ordinal, automation_id, run_id, visit, node_id, created_at)"
        "    select brand_id, id, 77, id, 1, id, 3, 'mail', started_at from r"
        ") insert into recipient_events (brand_id, send_id, ordinal, event_type, occurred_at)"
        " select brand_id, 77, id, 'clicked', started_at + %5$d * interval '1 day' from r order by id limit %4$d",
        (long long)work.brand_id, branch, contacts, clicks, days);
}

static void test_split_winner(void **state)
{
    (void)state;
    take_way("left", 700, 35, 3);
    take_way("right", 499, 90, 3);
    find_nothing(); /* too few went right */
    run_sql("delete from automation_runs");
    take_way("left", 700, 40, 3);
    take_way("right", 600, 80, 6);
    const json_t *detail = find_only("splitWinner");
    assert_true(metric(detail, "sample") == 500 && metric(detail, "baselineSample") == 500);
    assert_true(fabs(metric(detail, "value") - 80.0 / 500) < 1e-9);
    assert_true(fabs(metric(detail, "baseline") - 40.0 / 500) < 1e-9);
    assert_string_equal(subject(detail, "nodeId"), "half");
    assert_string_equal(subject(detail, "name"), "Short mail at half of Welcome");
}

/* D-122: a click counts for seven days, a contact once, and a contact whose seven days are not over not at all. */
static void test_split_horizon(void **state)
{
    (void)state;
    take_way("left", 500, 30, 3);
    take_way("right", 500, 90, 8);
    run_sql("insert into automation_runs (brand_id, automation_id, version_id, email, email_key, status, node_id, started_at)"
            "select brand_id, 1, 10, '', email_key, 'completed', 'end', started_at + interval '9 days' from automation_runs"
            " where email_key like 'right%%';"
            "insert into automation_steps (brand_id, run_id, visit, node_id, node_type, status, branch, started_at, completed_at)"
            "select brand_id, id, 2, 'half', 'split', 'completed', 'right', started_at, started_at from automation_runs"
            " where id > (select max(run_id) from automation_steps)");
    struct error err;
    struct insight_data data;
    assert_ok(insight_data_load(&work, &data, &err), &err);
    assert_int_equal(data.split_count, 2);
    const struct insight_split *split = data.splits[0].automation->id == 1 ? &data.splits[0] : &data.splits[1];
    assert_true(split->ways[0][0].hits == 30 && split->ways[0][0].total == 500);
    assert_true(split->ways[1][0].hits == 0 && split->ways[1][0].total == 500 && split->ways[1][1].total == 0);
    work.now_us = wednesday_us - 23 * day_us;
    assert_ok(insight_data_load(&work, &data, &err), &err);
    assert_true(data.splits[0].ways[0][0].total == 0 && data.splits[1].ways[0][0].total == 0);
}

/* ---- Events ---- */

static void test_contract_drift(void **state)
{
    (void)state;
    run_sql("insert into trigger_instances (brand_id, occurred_at, trigger_id, source, state, has_findings)"
            "select %1$lld, " WEDNESDAY " - d * interval '1 day' - n * interval '1 minute', t, 'integration', 'fired', n = 1"
            "  from generate_series(5, 6) t, generate_series(0, 29) d, generate_series(1, 12) n",
            (long long)work.brand_id);
    find_nothing();
    run_sql("update trigger_instances set has_findings = true"
            " where trigger_id = 6 and occurred_at > " WEDNESDAY " - interval '4 days' and extract(minute from occurred_at) > 26");
    const json_t *detail = find_only("contractDrift");
    assert_true(metric(detail, "sample") == 84);
    assert_true(fabs(metric(detail, "value") - (7 + 4 * 2) / 84.0) < 1e-9);
    assert_string_equal(subject(detail, "triggerEventId"), work_id(&work, ID_TRIGGER, 6));
    run_sql("update trigger_instances set has_findings = false, state = 'rejected' where has_findings and trigger_id = 6");
    assert_true(fabs(metric(find_only("contractDrift"), "value") - (7 + 4 * 2) / 84.0) < 1e-9);
    run_sql("delete from trigger_instances where extract(minute from occurred_at) < 24");
    find_nothing(); /* too few events */
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, begin, world_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_leaking_step),  CASE(test_skipped_steps), CASE(test_few_runs),       CASE(test_unpublished),
        CASE(test_runs_of_a_day), CASE(test_silent),        CASE(test_weekends),       CASE(test_few_days),
        CASE(test_split_winner),  CASE(test_split_horizon), CASE(test_contract_drift),
    };
    return cmocka_run_group_tests(tests, world_begin, world_end);
}
