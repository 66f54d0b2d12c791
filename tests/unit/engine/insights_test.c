/*
 * Insights on a database: each detector finds a change in rows that SQL has
 * inserted, findings become active and end, pages, freshness, and the schedule
 * of runs.
 */
#include "fixtures/engine_fixture.h"

#include "base/clock.h"
#include "engine/insights/insight_data.h"
#include "engine/insights/insights.h"
#include "engine/insights/load.h"
#include "sql/delivery.h"

#include <math.h>

enum { SENDS = 24 };

static int64_t sends[SENDS]; /* the oldest first; one every four days, the last one a day and a half ago */

static int begin(void **state)
{
    int failed = world_reset(state);
    run_sql("delete from insights; delete from insight_runs; delete from event_rollups; delete from contact_activity");
    return failed;
}

/* ---- Rows ---- */

static int64_t make_send(double days_ago)
{
    run_sql("insert into sends (brand_id, kind, message_class, email_id, email_version_id, status, subject, subject_code,"
            "                   from_address, domain_id, target, target_hash, started_at, created_at, updated_at)"
            "select %lld, 'campaign', 'marketing', 1, 1, 'completed', 'Hi', '', 'a@b.example', 1, 'all', '',"
            "       now() - %f * interval '1 day', now(), now()",
            (long long)work.brand_id, days_ago);
    return number_of("select max(id) from sends");
}

static void roll(int64_t send_id, const char *domain, const char *source, const char *type, int count)
{
    run_sql("insert into event_rollups (brand_id, send_id, day, event_type, receiving_domain, source, count)"
            "select %lld, id, (started_at at time zone 'UTC')::date, '%s', '%s', '%s', %d from sends where id = %lld",
            (long long)work.brand_id, type, domain, source, count, (long long)send_id);
}

/* The mail of one send to one domain without anything unusual; `at` varies the counts. */
static void roll_usual(int at, const char *domain, int size)
{
    int64_t send_id = sends[at];
    roll(send_id, domain, "shop", "sent", size);
    roll(send_id, domain, "shop", "delivered", size - 10);
    roll(send_id, domain, "shop", "bounced", 8 + at % 5);
    roll(send_id, domain, "shop", "opened", size / 3 + at % 7);
    roll(send_id, domain, "shop", "clicked", size / 20 + at % 6);
    roll(send_id, domain, "shop", "unsubscribed", 3 + at % 3);
}

static void make_brand(void)
{
    for (int i = 0; i < SENDS; i++) {
        sends[i] = make_send(1.5 + 4 * (SENDS - 1 - i) + (i % 2) / 24.0);
        roll_usual(i, "one.example", 1500);
        roll_usual(i, "two.example", 1000);
    }
}

static void set_count(int at, const char *domain, const char *type, int count)
{
    run_sql("update event_rollups set count = %d where send_id = %lld and receiving_domain = '%s' and event_type = '%s'", count,
            (long long)sends[at], domain, type);
}

/* Messages of a send with a result of their own. */
static void make_results(int at, const char *domain, const char *outcome, const char *reason, int attempts, int count)
{
    run_sql("insert into send_recipients (brand_id, send_id, ordinal, email, email_key)"
            "select %1$lld, %2$lld, n, n || '@%3$s', n || '@%3$s' from generate_series(1, %7$d) n;"
            "insert into send_results (brand_id, send_id, ordinal, outcome, reason, attempts, occurred_at)"
            "select %1$lld, %2$lld, n, '%4$s', '%5$s', %6$d, now() from generate_series(1, %7$d) n",
            (long long)work.brand_id, (long long)sends[at], domain, outcome, reason, attempts, count);
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

static const json_t *read_reply(struct buf *out)
{
    struct error err;
    const json_t *json;
    struct json_bounds bounds = { .max_bytes = out->size };
    assert_ok(json_read(arena, buf_text(out), out->size, bounds, &json, &err), &err);
    return json;
}

static const json_t *list(const struct insight_filter *filter, int64_t limit, const char *cursor)
{
    struct error err;
    struct buf *out = buf_in_arena(arena, 1 << 20);
    struct json_writer json;
    json_writer_init(&json, out);
    assert_ok(insights_list(&work, filter, limit, cursor, &json, &err), &err);
    return read_reply(out);
}

static const json_t *detail_of(const char *detector)
{
    struct error err;
    struct buf *out = buf_in_arena(arena, 1 << 20);
    struct json_writer json;
    json_writer_init(&json, out);
    run_sql("create temp table if not exists wanted (id bigint); delete from wanted;"
            "insert into wanted select id from insights where detector = '%s' and state = 'active'",
            detector);
    if (number_of("select count(*) from wanted") != 1)
        fail_msg("%s was not found once", detector);
    assert_ok(insight_get(&work, number_of("select id from wanted"), &json, &err), &err);
    return read_reply(out);
}

/* Two runs, which show exactly this finding. Gives its detail. */
static const json_t *find_only(const char *detector)
{
    assert_int_equal(run_once(), 0);
    assert_int_equal(run_once(), 1);
    return detail_of(detector);
}

static double metric(const json_t *detail, const char *name)
{
    return json_number_value(json_object_get(json_object_get(detail, "metrics"), name));
}

/* ---- Detectors ---- */

static void test_quiet(void **state)
{
    (void)state;
    make_brand();
    assert_int_equal(run_once(), 0);
    assert_int_equal(run_once(), 0);
    assert_int_equal(number_of("select count(*) from insights"), 0);
}

static void test_complaints(void **state)
{
    (void)state;
    make_brand();
    roll(sends[SENDS - 1], "one.example", "shop", "complained", 20);
    const json_t *detail = find_only("complaints");
    assert_string_equal(json_get_text(detail, "severity"), "critical");
    assert_true(metric(detail, "value") > 0.006 && metric(detail, "value") < 0.0068);
    assert_true(metric(detail, "sample") == 2980);
    const json_t *evidence = json_object_get(json_object_get(detail, "evidence"), "sendIds");
    assert_int_equal(json_array_size(evidence), 1);
    assert_string_equal(json_string_value(json_array_get(evidence, 0)), work_id(&work, ID_SEND, sends[SENDS - 1]));
}

static void test_bounce_spike(void **state)
{
    (void)state;
    make_brand();
    set_count(SENDS - 1, "one.example", "bounced", 150);
    const json_t *detail = find_only("bounceSpike");
    assert_true(fabs(metric(detail, "value") - 0.064) < 0.002);
    assert_true(metric(detail, "q") <= 0.05 && metric(detail, "p") <= metric(detail, "q"));
}

static void test_unsubscribe_spike(void **state)
{
    (void)state;
    make_brand();
    set_count(SENDS - 1, "two.example", "unsubscribed", 60);
    find_only("unsubscribeSpike");
}

static void test_blocked(void **state)
{
    (void)state;
    make_brand();
    make_results(SENDS - 1, "two.example", "bounced", "block", 1, 60);
    make_results(SENDS - 2, "two.example", "bounced", "block", 1, 50);
    const json_t *detail = find_only("blocked");
    assert_string_equal(json_get_text(json_object_get(detail, "subject"), "name"), "two.example");
}

static void test_put_off(void **state)
{
    (void)state;
    make_brand();
    make_results(SENDS - 1, "two.example", "delivered", "", 6, 80);
    make_results(SENDS - 8, "two.example", "delivered", "", 6, 5);
    find_only("putOff");
}

static void test_opens_fall(void **state)
{
    (void)state;
    make_brand();
    for (int i = SENDS - 4; i < SENDS; i++)
        set_count(i, "two.example", "opened", 150 + i % 3);
    const json_t *detail = find_only("opensFall");
    assert_true(metric(detail, "value") < metric(detail, "baseline") * 0.6);
}

static void test_clicks_trend(void **state)
{
    (void)state;
    make_brand();
    for (int i = SENDS - 7; i < SENDS; i++) {
        set_count(i, "one.example", "clicked", 40 + i % 4);
        set_count(i, "two.example", "clicked", 25 + i % 3);
    }
    find_only("clicksTrend");
}

static void test_fatigue(void **state)
{
    (void)state;
    run_sql("insert into contact_activity (brand_id, event_type, email_key, day, count)"
            "select %1$lld, 'sent', g || '-' || n || '@one.example', current_date - 3, 3 + 4 * g"
            "  from generate_series(0, 2) g, generate_series(1, 600) n;"
            "insert into contact_activity (brand_id, event_type, email_key, day, count)"
            "select %1$lld, 'clicked', g || '-' || n || '@one.example', current_date - 2, 1"
            "  from generate_series(0, 2) g, generate_series(1, 600) n where n <= 120",
            (long long)work.brand_id);
    const json_t *detail = find_only("fatigue");
    assert_true(fabs(metric(detail, "baseline") - 0.2 / 3) < 1e-9);
}

static void test_best_hour(void **state)
{
    (void)state;
    for (int i = 0; i < SENDS; i++) {
        sends[i] = make_send(7 * (i / 2) + 3 + (i % 2 == 1 ? 0.5 : 0));
        roll(sends[i], "one.example", "shop", "sent", 1500);
        roll(sends[i], "one.example", "shop", "delivered", 1490);
        roll(sends[i], "one.example", "shop", "clicked", 60 + i % 5 + (i % 2 == 1 ? 60 : 0));
    }
    const json_t *detail = find_only("bestHour");
    assert_non_null(strstr(json_get_text(detail, "description"), ":00"));
}

static void test_poor_source(void **state)
{
    (void)state;
    make_brand();
    for (int i = 0; i < SENDS; i++) {
        roll(sends[i], "one.example", "bought", "sent", 20);
        roll(sends[i], "one.example", "bought", "bounced", 4);
    }
    const json_t *detail = find_only("poorSource");
    assert_string_equal(json_get_text(json_object_get(detail, "subject"), "name"), "bought");
}

static void test_dormant(void **state)
{
    (void)state;
    run_sql("insert into contacts (brand_id, email, email_key, source, subscribed, created_at, updated_at)"
            "select %1$lld, n || '@one.example', n || '@one.example', 'shop', true, now() - interval '300 days', now()"
            "  from generate_series(1, 1000) n;"
            "insert into contact_activity (brand_id, event_type, email_key, day, count)"
            "select %1$lld, 'opened', n || '@one.example', current_date - 10, 1 from generate_series(1, 600) n",
            (long long)work.brand_id);
    assert_int_equal(run_once() + run_once(), 0);
    run_sql("insert into event_counts (brand_id, hour, event_type, count) values (%lld, now() - interval '200 days', 'opened', 1)",
            (long long)work.brand_id);
    assert_true(metric(find_only("dormant"), "value") == 0.4);
}

static void test_lost_record(void **state)
{
    (void)state;
    make_send(5);
    run_sql("insert into domains (brand_id, organization_id, name, kind, status, sending_purpose, created_at, updated_at)"
            "values (%lld, %lld, 'news.example', 'sending', 'pending', 'marketing', now(), now());"
            "update sends set domain_id = (select max(id) from domains)",
            (long long)work.brand_id, (long long)work.organization_id);
    assert_string_equal(json_get_text(find_only("lostRecord"), "description"), "The domain news.example has lost a DNS record");
}

static void test_allowance(void **state)
{
    (void)state;
    work.now_us = INT64_C(1767225600) * US_PER_S + 10 * INT64_C(86400) * US_PER_S; /* 2026-01-11 */
    run_sql("update organizations set plan = 'trial';"
            "insert into event_counts (brand_id, hour, event_type, count)"
            "select %lld, day, 'sent', 100000 from generate_series('2026-01-01'::timestamptz, '2026-01-10', interval '1 day') day",
            (long long)work.brand_id);
    const json_t *detail = find_only("allowance");
    assert_true(metric(detail, "value") < metric(detail, "baseline"));
}

/* ---- States, pages, runs ---- */

/* D-122: a finding is shown after two runs, resolved after two without it, and stale when there is too little mail to test it. */
static void test_states(void **state)
{
    (void)state;
    make_brand();
    roll(sends[SENDS - 1], "one.example", "shop", "complained", 20);
    assert_int_equal(run_once(), 0);
    assert_int_equal(number_of("select count(*) from insights where state is null"), 1);
    assert_int_equal(run_once(), 1);
    set_count(SENDS - 1, "one.example", "complained", 6);
    run_sql("update event_rollups set count = count * 50 where event_type in ('sent', 'delivered')");
    assert_int_equal(run_once(), 1);
    assert_int_equal(run_once(), 0);
    assert_int_equal(number_of("select count(*) from insights where state = 'resolved' and closed_at is not null"), 1);
    run_sql("update event_rollups set count = count / 50 where event_type in ('sent', 'delivered')");
    set_count(SENDS - 1, "one.example", "complained", 20);
    assert_int_equal(run_once(), 0);
    assert_int_equal(run_once(), 1);
    run_sql("delete from event_rollups");
    assert_int_equal(run_once(), 1);
    assert_int_equal(run_once(), 0);
    assert_int_equal(number_of("select count(*) from insights where state = 'stale'"), 1);
    assert_int_equal(json_array_size(json_object_get(list(&(struct insight_filter){ .state = "open" }, 10, NULL), "data")), 0);
    assert_int_equal(json_array_size(json_object_get(list(&(struct insight_filter){ .state = "all" }, 10, NULL), "data")), 1);
    assert_int_equal(json_array_size(json_object_get(list(&(struct insight_filter){ .state = "stale" }, 10, NULL), "data")), 1);
}

static void make_findings(void)
{
    run_sql("insert into insights (brand_id, detector, subject, state, kind, severity, score, description, action, detail, held, "
            "missed,"
            "                      found_at, checked_at)"
            "select %lld, 'x', n::text, 'active', 'insight', (array['info', 'critical', 'warning'])[1 + n %% 3], n, 'F' || n, "
            "'{}', '{}',"
            "       2, 0, now(), now() from generate_series(1, 9) n",
            (long long)work.brand_id);
}

/* the order, and a cursor that is refused when the findings before it changed or the filter differs. */
static void test_pages(void **state)
{
    (void)state;
    static const char *const order[] = { "F7", "F4", "F1", "F8", "F5", "F2", "F9", "F6", "F3" };
    struct insight_filter filter = { .state = "open" };
    struct error err = { .code = ERR_NONE };
    make_findings();
    const char *cursor = NULL;
    for (size_t i = 0; i < ARRAY_COUNT(order); i++) {
        const json_t *page = list(&filter, 1, cursor);
        assert_string_equal(json_get_text(json_array_get(json_object_get(page, "data"), 0), "description"), order[i]);
        const char *next = json_get_text(json_object_get(page, "pagination"), "cursor");
        assert_int_equal(next == NULL, i + 1 == ARRAY_COUNT(order));
        cursor = i < 3 ? next : cursor;
        if (i >= 3)
            break;
    }
    struct buf *out = buf_in_arena(arena, 1 << 20);
    struct json_writer json;
    json_writer_init(&json, out);
    run_sql("update insights set score = 0.5 where description = 'F3'"); /* behind the cursor */
    assert_true(insights_list(&work, &filter, 1, cursor, &json, &err));
    filter.severity = "critical";
    assert_false(insights_list(&work, &filter, 1, cursor, &json, &err));
    assert_string_equal(err.param, "cursor");
    filter.severity = NULL;
    run_sql("update insights set score = 70 where description = 'F4'");
    error_clear(&err);
    assert_false(insights_list(&work, &filter, 1, cursor, &json, &err));
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    assert_string_equal(err.param, "cursor");
}

static const char *attempt_status(void)
{
    const json_t *freshness = json_object_get(list(&(struct insight_filter){ .state = "open" }, 1, NULL), "freshness");
    return json_get_text(json_object_get(freshness, "latestAttempt"), "status");
}

/* one run at a time, and what became of it. */
static void test_runs(void **state)
{
    (void)state;
    struct error err;
    bool begun;
    assert_null(attempt_status());
    run_sql("insert into jobs (kind, state, organization_id, brand_id, payload, run_after, created_at)"
            "values ('find_insights', 'running', 1, 1, '{}', now(), now())");
    int64_t first = number_of("select max(id) from jobs");
    assert_ok(insight_run_begin(&work, first, &begun, &err), &err);
    assert_true(begun);
    assert_string_equal(attempt_status(), "running");
    assert_ok(insight_run_begin(&work, first + 1, &begun, &err), &err);
    assert_false(begun);
    run_sql("update jobs set state = 'queued'");
    assert_string_equal(attempt_status(), "unknown");
    assert_ok(insight_run_begin(&work, first + 1, &begun, &err), &err);
    assert_true(begun);
    assert_ok(insight_run_fail(&work, first + 1, &err), &err);
    assert_string_equal(attempt_status(), "failed");
    run_once();
    assert_string_equal(attempt_status(), "succeeded");
}

/* A brand has a run a day. What was not enqueued while no worker ran is enqueued later, once. */
static void test_schedule(void **state)
{
    (void)state;
    struct error err;
    static const char jobs[] = "select count(*) from jobs where kind = 'find_insights'";
    assert_ok(insight_runs_enqueue(conn, arena, work.now_us, &err), &err);
    assert_int_equal(number_of(jobs), 0);
    int64_t later_us = work.now_us + INT64_C(3) * 86400 * US_PER_S;
    for (int i = 0; i < 2; i++)
        assert_ok(insight_runs_enqueue(conn, arena, later_us, &err), &err);
    assert_int_equal(number_of(jobs), 1);
    assert_ok(insight_runs_enqueue(conn, arena, later_us + INT64_C(2) * 86400 * US_PER_S, &err), &err);
    assert_int_equal(number_of(jobs), 1);
    run_sql("update jobs set state = 'done'");
    assert_ok(insight_runs_enqueue(conn, arena, later_us + INT64_C(2) * 86400 * US_PER_S, &err), &err);
    assert_int_equal(number_of(jobs), 2);
}

/* The end of a send with `recipients` recipients, at the clock of the work. */
static void complete_send(int recipients)
{
    struct error err;
    struct delivery_complete_row *row;
    int64_t send_id = make_send(1);
    run_sql("update sends set status = 'running', recipient_count = %d where id = %lld;"
            "insert into send_stats (brand_id, send_id, delivered) values (%lld, %lld, %d)",
            recipients, (long long)send_id, (long long)work.brand_id, (long long)send_id, recipients);
    struct delivery_complete_params params = { .brand_id = work.brand_id, .id = send_id, .now = work.now_us };
    assert_ok(sql_delivery_complete(conn, arena, &params, &row, &err), &err);
    assert_string_equal(row->status, "completed");
}

/* The end of a send with 500 recipients or more makes the next run due six hours later, but no later than it was. */
static void test_due_after_send(void **state)
{
    (void)state;
    struct error err;
    static const char jobs[] = "select count(*) from jobs where kind = 'find_insights'";
    static const char due[] = "select (extract(epoch from due_at) * 1000000)::bigint from insight_runs";
    const int64_t hour_us = INT64_C(3600) * US_PER_S;
    complete_send(499);
    assert_int_equal(number_of("select count(*) from insight_runs"), 0);
    complete_send(500);
    assert_int_equal(number_of("select count(*) from insight_runs"), 1);
    int64_t due_us = work.now_us + 6 * hour_us;
    assert_int_equal(number_of(due), due_us);
    work.now_us += hour_us;
    complete_send(500);
    assert_int_equal(number_of(due), due_us);
    run_sql("update insight_runs set due_at = due_at + interval '2 days'");
    complete_send(499);
    assert_int_equal(number_of(due), due_us + 48 * hour_us);
    complete_send(500);
    assert_int_equal(number_of(due), due_us + hour_us);
    assert_ok(insight_runs_enqueue(conn, arena, due_us + hour_us - 1, &err), &err);
    assert_int_equal(number_of(jobs), 0);
    assert_ok(insight_runs_enqueue(conn, arena, due_us + hour_us, &err), &err);
    assert_int_equal(number_of(jobs), 1);
}

/* Rollups of one send that exceed a page, of many domains beside the named ones, several days, steps and sources. */
static void test_many_rollups(void **state)
{
    (void)state;
    enum { DOMAINS = 7000, DAYS = 4 };
    make_brand();
    run_sql("insert into event_rollups (brand_id, send_id, node_id, day, event_type, receiving_domain, source, count)"
            "select %lld, %lld, 'step', current_date - d, t, repeat('long.', 200) || n || '.example', 'list', 1"
            "  from generate_series(1, %d) d, generate_series(1, %d) n, unnest(array['sent', 'delivered']) t",
            (long long)work.brand_id, (long long)sends[SENDS - 1], DAYS, DOMAINS / 20);
    run_sql("insert into event_rollups (brand_id, send_id, node_id, day, event_type, receiving_domain, source, count)"
            "select %lld, %lld, 'step', current_date, 'bounced', repeat('long.', 200) || n || '.example', 'list', 1"
            "  from generate_series(1, %d) n",
            (long long)work.brand_id, (long long)sends[SENDS - 1], DOMAINS);
    struct error err;
    struct insight_data data;
    assert_ok(insight_data_load(&work, &data, &err), &err);
    assert_int_equal(data.send_count, SENDS);
    assert_int_equal(data.domain_count, INSIGHT_DOMAINS_MAX + 1);
    const struct insight_send *last = &data.sends[SENDS - 1];
    assert_true(last->sent == 2500 + DAYS * DOMAINS / 20);
    assert_true(last->delivered == 2480 + DAYS * DOMAINS / 20);
    assert_true(last->bounced == 2 * (8 + (SENDS - 1) % 5) + DOMAINS);
    double sent = 0;
    for (size_t i = 0; i < data.cell_count; i++)
        sent += data.cells[i].sent;
    assert_true(sent == SENDS * 2500 + DAYS * DOMAINS / 20);
    assert_int_equal(data.source_count, 2);
    assert_string_equal(data.sources[0].name, "shop");
    assert_true(data.sources[0].sent == SENDS * 2500);
    assert_true(data.sources[1].sent == DAYS * DOMAINS / 20 && data.sources[1].bounced == DOMAINS);
}

/* One step, day and type of a send, with more domains than memory holds at once, and more sources of one domain than a page holds.
 */
static void test_large_send(void **state)
{
    (void)state;
    enum { DOMAINS = 70000, SOURCES = 45000 };
    make_brand();
    run_sql("insert into event_rollups (brand_id, send_id, day, event_type, receiving_domain, source, count)"
            "select %lld, %lld, current_date, 'bounced', repeat('long.', 200) || n || '.example', 'list', 1 from "
            "generate_series(1, %d) n",
            (long long)work.brand_id, (long long)sends[0], DOMAINS);
    run_sql("insert into event_rollups (brand_id, send_id, day, event_type, receiving_domain, source, count)"
            "select %lld, %lld, current_date, 'delivered', 'one.example', 'source ' || n, 1 from generate_series(1, %d) n",
            (long long)work.brand_id, (long long)sends[0], SOURCES);
    struct error err;
    struct insight_data data;
    assert_ok(insight_data_load(&work, &data, &err), &err);
    assert_int_equal(data.send_count, SENDS);
    assert_true(data.sends[0].sent == 2500 && data.sends[0].bounced == 2 * 8 + DOMAINS);
    assert_true(data.sends[0].delivered == 2480 + SOURCES);
    assert_true(data.sends[1].sent == 2500 && data.sends[1].delivered == 2480);
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, begin, world_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_quiet),       CASE(test_complaints), CASE(test_bounce_spike),   CASE(test_unsubscribe_spike),
        CASE(test_blocked),     CASE(test_put_off),    CASE(test_opens_fall),     CASE(test_clicks_trend),
        CASE(test_fatigue),     CASE(test_best_hour),  CASE(test_poor_source),    CASE(test_dormant),
        CASE(test_lost_record), CASE(test_allowance),  CASE(test_states),         CASE(test_pages),
        CASE(test_runs),        CASE(test_schedule),   CASE(test_due_after_send), CASE(test_many_rollups),
        CASE(test_large_send),
    };
    return cmocka_run_group_tests(tests, world_begin, world_end);
}
