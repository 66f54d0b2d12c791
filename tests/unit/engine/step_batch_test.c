/*
 * The stepping transaction: what a batch writes, which runs it leaves, and that no
 * visit is written twice. The clock is the time of the work.
 */
#include "fixtures/engine_fixture.h"

#include "base/text.h"
#include "db/advisory_locks.h"
#include "engine/delivery/carriers.h"
#include "engine/payloads/payloads.h"
#include "engine/runs/start.h"
#include "engine/runs/step_batch.h"

enum { AUTOMATION = 7, LAUNCH = 4, TRIGGER = 3 };
static const int64_t hour_us = INT64_C(3600) * US_PER_S;
static const struct step_taking all_due = { .mark = { .due_us = DB_TIME_MINUS_INFINITY }, .limit = STEP_BATCH_MAX };

static int64_t version_id; /* of the graph of the test */
static struct graph_cache *cache;

static int begin(void **state)
{
    int failed = world_reset(state);
    run_sql(
        "delete from automation_sends; delete from automation_steps; delete from automation_carriers; delete from automation_runs;"
        "delete from trigger_payloads; delete from trigger_instances; delete from automation_counts; delete from automations;"
        "delete from audience_runs; delete from step_crashes; delete from recipient_events; delete from automation_versions");
    cache = graph_cache_new();
    return failed;
}

static int leave(void **state)
{
    graph_cache_free(cache);
    return world_leave(state);
}

#define STEP_TEST(function) cmocka_unit_test_setup_teardown(function, begin, leave)

/* ---- Graphs and runs ---- */

static const char start_node[] = "{\"id\":\"start\",\"type\":\"trigger\",\"config\":{\"mode\":\"event\"}}";
static const char hour_node[] = "{\"id\":\"pause\",\"type\":\"wait\",\"config\":{\"duration\":1,\"unit\":\"hours\"}}";

static void add_automation(const char *nodes, const char *connections)
{
    run_sql("insert into automations (brand_id, id, name, latest_version_id, created_at, updated_at) overriding system value"
            " values (%lld, %d, 'Welcome', 1, now(), now())",
            (long long)work.brand_id, AUTOMATION);
    run_sql("insert into automation_versions (brand_id, automation_id, version, nodes, connections, definition_hash, created_at)"
            " values (%lld, %d, 1, '[%s]', '[%s]', '', now())",
            (long long)work.brand_id, AUTOMATION, nodes, connections);
    version_id = number_of("select max(id) from automation_versions");
}

/* The nodes in a row. */
static void add_line(const char *second, const char *third)
{
    add_automation(arena_printf(arena, "%s,%s%s%s", start_node, second, third != NULL ? "," : "", third != NULL ? third : ""),
                   third != NULL ? "{\"from\":\"start\",\"to\":\"pause\"},{\"from\":\"pause\",\"to\":\"last\"}"
                                 : "{\"from\":\"start\",\"to\":\"pause\"}");
}

static int64_t contact_of(const char *email, bool is_customer)
{
    run_sql("insert into contacts (brand_id, email, email_key, source, subscribed, first_name, created_at, updated_at)"
            " values (%lld, '%s', '%s', 'api', true, '%s', now(), now())",
            (long long)work.brand_id, email, email, is_customer ? "customer" : "other");
    return number_of("select max(id) from contacts");
}

static int64_t start_run(const char *email, int64_t payload_id, int64_t launch_id)
{
    struct error err;
    struct int_list ids;
    struct run_start start = {
        .automation_id = AUTOMATION,
        .version_id = version_id,
        .trigger_node = "start",
        .payload_id = payload_id,
        .audience_run_id = launch_id,
        .contact_id = contact_of(email, email[0] == 'c'),
        .email = email,
        .email_key = email,
    };
    assert_ok(runs_start(&work, &start, 1, &ids, &err), &err);
    return ids.items[0];
}

static struct step_batch_result step(void)
{
    struct error err = { .code = ERR_NONE };
    struct step_batch_result result;
    assert_ok(step_batch_run(&work, cache, &all_due, &result, &err), &err);
    return result;
}

static void assert_run(const char *status, const char *node, int64_t visit)
{
    assert_int_equal(number_of("select count(*) from automation_runs"), 1);
    run_sql(
        "do $$ declare r record; begin select status, node_id, visit, error into r from automation_runs;"
        " if (r.status, r.node_id, r.visit) <> ('%s', '%s', %lld) then raise '%% %% %% %%', r.status, r.node_id, r.visit, r.error;"
        " end if; end $$",
        status, node, (long long)visit);
}

/* ---- Waits and branches ---- */

static void test_a_run_waits_and_ends_and_no_visit_is_repeated(void **state)
{
    (void)state;
    add_line(hour_node, NULL);
    start_run("ada@example.com", 0, 0);
    assert_int_equal(step().taken, 1);
    assert_run("running", "pause", 2);
    assert_int_equal(
        number_of("select count(*) from automation_steps where visit = 1 and status = 'completed' and node_type = 'trigger'"), 1);
    assert_int_equal(number_of("select count(*) from automation_steps where visit = 2 and status = 'running'"), 1);
    work.now_us += hour_us - US_PER_S;
    assert_int_equal(step().taken, 0);
    work.now_us += US_PER_S;
    struct step_batch_result result = step();
    assert_int_equal(result.taken, 1);
    assert_false(result.next_us.set);
    assert_run("completed", "pause", 2);
    assert_int_equal(number_of("select count(*) from automation_steps"), 2);
    assert_int_equal(number_of("select sum(count)::bigint from automation_counts where kind in ('started', 'completed')"), 2);
    assert_int_equal(number_of("select count(*) from events where domain = 'automation'"), 2);
    assert_int_equal(step().taken, 0);
}

static const char customer_filter[] =
    "{\"id\":\"pause\",\"type\":\"filter\",\"config\":{\"logicalOperator\":\"AND\",\"conditions\":"
    "[{\"field\":\"contact.firstName\",\"operator\":\"equals\",\"value\":\"customer\"}]}}";

static void test_a_filter_takes_the_branch_of_the_contact(void **state)
{
    (void)state;
    add_automation(arena_printf(arena, "%s,%s,{\"id\":\"later\",\"type\":\"wait\",\"config\":{\"duration\":1,\"unit\":\"hours\"}}",
                                start_node, customer_filter),
                   "{\"from\":\"start\",\"to\":\"pause\"},{\"from\":\"pause\",\"to\":\"later\",\"branch\":\"true\"}");
    int64_t customer = start_run("cyd@example.com", 0, 0);
    int64_t other = start_run("ada@example.com", 0, 0);
    assert_int_equal(step().taken, 2);
    assert_int_equal(number_of("select id from automation_runs where status = 'running' and node_id = 'later' and visit = 3"),
                     customer);
    assert_int_equal(number_of("select id from automation_runs where status = 'completed'"), other);
    assert_int_equal(number_of("select count(*) from automation_steps where branch in ('true', 'false')"), 2);
}

/* jsonb prints 1.5e300 as an integer. */
static void test_a_contact_with_a_huge_number_is_compared(void **state)
{
    (void)state;
    add_line("{\"id\":\"pause\",\"type\":\"filter\",\"config\":{\"logicalOperator\":\"AND\",\"conditions\":"
             "[{\"field\":\"contact.customFields.score\",\"operator\":\"gt\",\"value\":1e200}]}}",
             NULL);
    start_run("ada@example.com", 0, 0);
    start_run("bob@example.com", 0, 0);
    run_sql("update contacts set custom_fields = '{\"score\": 1.5e300, \"plan\": 5}' where email_key = 'ada@example.com'");
    assert_int_equal(step().taken, 2);
    assert_int_equal(number_of("select count(*) from automation_runs r join automation_steps s on s.run_id = r.id"
                               " where r.email_key = 'ada@example.com' and s.branch = 'true'"),
                     1);
    assert_int_equal(number_of("select count(*) from automation_steps where branch = 'false'"), 1);
}

/* The failure of one run leaves the others alone. */
static void test_a_contact_that_cannot_be_read_fails_its_run_alone(void **state)
{
    (void)state;
    add_line(customer_filter, NULL);
    start_run("ada@example.com", 0, 0);
    start_run("cyd@example.com", 0, 0);
    run_sql(
        "update contacts set custom_fields = jsonb_build_object('long', repeat('x', 5000000)) where email_key = 'ada@example.com'");
    assert_int_equal(step().taken, 2);
    assert_int_equal(number_of("select count(*) from automation_runs where status = 'failed' and email_key = 'ada@example.com'"),
                     1);
    assert_int_equal(number_of("select count(*) from automation_steps where branch = 'true'"), 1);
}

static void test_a_contact_that_is_gone_is_no_customer(void **state)
{
    (void)state;
    add_line(customer_filter, NULL);
    start_run("cyd@example.com", 0, 0);
    run_sql("delete from contacts");
    assert_int_equal(step().taken, 1);
    assert_run("completed", "pause", 2);
    assert_int_equal(number_of("select count(*) from automation_steps where branch = 'false'"), 1);
}

/* ---- Pauses and failures ---- */

/* D-109 */
static void test_runs_of_paused_automations_and_launches_are_held(void **state)
{
    (void)state;
    add_line(hour_node, NULL);
    start_run("ada@example.com", 0, 0);
    run_sql("update automations set is_paused = true");
    struct step_batch_result result = step();
    assert_int_equal(result.taken, 1);
    assert_int_equal(result.left, 0);
    assert_run("running", "start", 0);
    assert_int_equal(number_of("select count(*) from automation_runs where is_held"), 1);
    assert_int_equal(step().taken, 0);
    run_sql("update automations set is_paused = false; update automation_runs set is_held = false");
    step();
    assert_run("running", "pause", 2);
}

/* */
static void test_a_run_of_another_stepper_is_left_out(void **state)
{
    (void)state;
    struct error err;
    DB_CONN_SCOPE other = NULL;
    add_line(hour_node, NULL);
    start_run("ada@example.com", 0, 0);
    start_run("bob@example.com", 0, 0);
    assert_ok(installation_connect(installation, &other, &err), &err);
    assert_ok(db_script(other, "begin; select 1 from automation_runs where email_key = 'ada@example.com' for update", &err), &err);
    assert_int_equal(step().taken, 1);
    assert_ok(db_script(other, "rollback", &err), &err);
    assert_int_equal(step().taken, 1);
    assert_int_equal(number_of("select count(*) from automation_runs where visit = 2"), 2);
}

/* The decisions of a transaction have a bound of processor time, so that a brand with slow conditions gives its turn to others. */
static void test_runs_behind_the_processor_time_go_on_later(void **state)
{
    (void)state;
    struct error err;
    struct step_taking hurried = all_due;
    hurried.processor_us = 1;
    add_line(hour_node, NULL);
    start_run("ada@example.com", 0, 0);
    start_run("bob@example.com", 0, 0);
    start_run("cyd@example.com", 0, 0);
    struct step_batch_result result;
    assert_ok(step_batch_run(&work, cache, &hurried, &result, &err), &err);
    assert_int_equal(result.left, 3); /* the first one is at its second node */
    assert_int_equal(number_of("select count(*) from automation_steps where status = 'completed'"), 1);
    for (int i = 0; result.left > 0 && i < 6; i++)
        assert_ok(step_batch_run(&work, cache, &hurried, &result, &err), &err);
    assert_int_equal(result.left, 0);
    assert_int_equal(number_of("select count(*) from automation_runs where node_id = 'pause'"), 3);
}

/* */
static void test_a_visit_that_has_ended_is_never_written_again(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct step_batch_result result;
    add_line(hour_node, NULL);
    start_run("ada@example.com", 0, 0);
    step();
    run_sql("update automation_runs set visit = 1, node_id = 'start', due_at = started_at");
    assert_false(step_batch_run(&work, cache, &all_due, &result, &err));
    assert_run("running", "start", 1);
    assert_int_equal(number_of("select count(*) from automation_steps"), 2);
}

static void test_runs_without_their_node_fail_and_a_run_can_be_failed_alone(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    int64_t failed;
    add_line(hour_node, NULL);
    int64_t first = start_run("ada@example.com", 0, 0);
    start_run("bob@example.com", 0, 0);
    step();
    work.now_us += 2 * hour_us;
    assert_ok(step_batch_fail_first(&work, &all_due, "It cannot be stepped.", &failed, &err), &err);
    assert_int_equal(failed, first);
    assert_int_equal(number_of("select count(*) from automation_steps where status = 'failed' and error = 'It cannot be stepped.'"),
                     1);
    run_sql("update automation_runs set node_id = 'gone' where status = 'running'");
    step();
    assert_int_equal(number_of("select count(*) from automation_runs where status = 'failed' and error is not null"), 2);
    assert_int_equal(number_of("select count from automation_counts where kind = 'failed'"), 2);
    assert_int_equal(number_of("select count(*) from events where event_type = 'failed'"), 2);
}

/* */
static void test_a_taking_names_its_runs_and_forgets_their_crashes(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct step_batch_result result;
    struct step_slot slot = { .brand_id = 0 };
    add_line(hour_node, NULL);
    int64_t ids[3] = { start_run("ada@example.com", 0, 0), start_run("bob@example.com", 0, 0), start_run("cyd@example.com", 0, 0) };
    run_sql("insert into step_crashes values (%lld, %lld, 2, 0, now()), (%lld, %lld, 2, 0, now())", (long long)work.brand_id,
            (long long)ids[0], (long long)work.brand_id, (long long)ids[1]);
    struct step_taking others = all_due;
    others.except = (struct int_list){ ids, 2 };
    others.slot = &slot;
    assert_ok(step_batch_run(&work, cache, &others, &result, &err), &err);
    assert_int_equal(result.taken, 1);
    assert_int_equal(slot.count, 1);
    assert_int_equal(slot.brand_id, work.brand_id);
    assert_int_equal(slot.run_ids[0], ids[2]);
    assert_int_equal(number_of("select count(*) from step_crashes"), 2);
    struct step_taking suspect = all_due;
    suspect.only = (struct int_list){ ids + 1, 1 };
    assert_ok(step_batch_run(&work, cache, &suspect, &result, &err), &err);
    assert_int_equal(result.taken, 1);
    assert_int_equal(number_of("select run_id from step_crashes"), ids[0]);
    assert_int_equal(number_of("select count(*) from automation_runs where visit = 2"), 2);
}

/* D-106 */
static void test_a_loop_fails_after_a_thousand_visits(void **state)
{
    (void)state;
    add_automation(arena_printf(arena, "%s,%s", start_node, hour_node),
                   "{\"from\":\"start\",\"to\":\"pause\"},{\"from\":\"pause\",\"to\":\"pause\"}");
    start_run("ada@example.com", 0, 0);
    step();
    run_sql("update automation_runs set visit = 1000; update automation_steps set visit = 1000 where visit = 2");
    work.now_us += hour_us;
    step();
    assert_run("failed", "pause", 1001);
}

/* ---- Mail ---- */

static const char *mail_node(const char *id)
{
    const struct id_codec *ids = &work.engine->ids;
    int64_t email_id = design_of("<p>Hello</p>", "Hello");
    int64_t design_version = number_of("select max(id) from email_versions");
    int64_t domain_id = number_of("select min(id) from domains where kind = 'sandbox'");
    return arena_printf(
        arena,
        "{\"id\":\"%s\",\"type\":\"sendEmail\",\"config\":{\"emailId\":\"%s\",\"emailVersionId\":\"%s\",\"domainId\":"
        "\"%s\",\"subject\":\"Hi\"}}",
        id, id_text(ids, arena, ID_EMAIL, email_id), id_text(ids, arena, ID_VERSION, design_version),
        id_text(ids, arena, ID_DOMAIN, domain_id));
}

static void test_mail_goes_through_a_carrier_and_engagement_decides_the_branch(void **state)
{
    (void)state;
    add_line(mail_node("pause"),
             "{\"id\":\"last\",\"type\":\"filter\",\"config\":{\"sourceNodeId\":\"pause\",\"window\":{\"duration\":1,"
             "\"unit\":\"days\"},\"branches\":[\"clicked\",\"otherwise\"]}}");
    start_run("ada@example.com", 0, 0);
    start_run("bob@example.com", 0, 0);
    step();
    assert_int_equal(number_of("select count(*) from automation_sends s join send_recipients r on r.automation_send_id = s.id"), 2);
    assert_int_equal(
        number_of("select count(*) from automation_steps s join automation_sends m on m.run_id = s.run_id"
                  " where s.node_type = 'sendEmail' and s.status = 'completed' and (s.facts ->> 'messageId')::bigint = m.id"),
        2);
    assert_int_equal(number_of("select count(*) from automation_runs r join automation_sends m on m.run_id = r.id"
                               " where r.node_id = 'last' and r.waits_message = m.id"),
                     2);
    run_sql("insert into send_results (brand_id, send_id, ordinal, outcome, attempts, occurred_at)"
            " select brand_id, carrier_id, ordinal, 'delivered', 1, created_at from automation_sends;"
            "insert into recipient_events (brand_id, send_id, ordinal, event_type, occurred_at)"
            " select s.brand_id, s.carrier_id, s.ordinal, 'clicked', s.created_at + interval '1 minute'"
            "   from automation_sends s join automation_runs r on r.id = s.run_id where r.email_key = 'ada@example.com';"
            "update automation_runs set due_at = started_at where email_key = 'ada@example.com'");
    work.now_us += hour_us / 30;
    step();
    assert_int_equal(number_of("select count(*) from automation_runs r join automation_steps s on s.run_id = r.id"
                               " where r.status = 'completed' and r.email_key = 'ada@example.com' and s.branch = 'clicked'"),
                     1);
    work.now_us += 25 * hour_us;
    step();
    assert_int_equal(number_of("select count(*) from automation_steps where branch = 'otherwise'"), 1);
    assert_int_equal(number_of("select count(*) from automation_sends"), 2);
}

static void test_a_second_message_waits_for_the_next_transaction(void **state)
{
    (void)state;
    add_line(mail_node("pause"), mail_node("last"));
    start_run("ada@example.com", 0, 0);
    struct step_batch_result result = step();
    assert_int_equal(result.left, 1);
    assert_run("running", "last", 3);
    assert_int_equal(number_of("select count(*) from automation_sends"), 1);
    step();
    assert_run("completed", "last", 3);
    assert_int_equal(number_of("select count(distinct carrier_id) from automation_sends"), 2);
}

static void test_a_deleted_design_fails_its_runs_with_the_reason(void **state)
{
    (void)state;
    add_line(mail_node("pause"), NULL);
    run_sql("delete from audience_run_nodes");
    start_run("ada@example.com", 0, LAUNCH);
    run_sql("update emails set deleted_at = now()");
    step();
    assert_run("failed", "pause", 2);
    assert_int_equal(number_of("select count(*) from automation_steps where visit = 2 and status = 'failed' and error <> ''"), 1);
    start_run("bob@example.com", 0, LAUNCH);
    start_run("dan@example.com", 0, LAUNCH);
    start_run("eve@example.com", 0, 0);
    step();
    assert_int_equal(number_of("select failed from audience_run_nodes where node_id = 'pause' and sent = 0"), 3);
    assert_int_equal(number_of("select count(*) from audience_run_nodes"), 1);
}

/* */
static void test_without_room_in_the_allowance_runs_wait_and_their_launch_is_paused(void **state)
{
    (void)state;
    add_line(mail_node("pause"), NULL);
    run_sql("insert into audience_runs (brand_id, id, automation_id, version_id, audience_id, status, total_recipients, open_runs,"
            " created_at, updated_at) overriding system value values (%lld, %d, %d, %lld, 1, 'running', 3, 3, now(), now())",
            (long long)work.brand_id, LAUNCH, AUTOMATION, (long long)version_id);
    start_run("ada@example.com", 0, LAUNCH);
    start_run("bob@example.com", 0, LAUNCH);
    start_run("dan@example.com", 0, LAUNCH);
    run_sql("update organizations set plan = 'trial'; insert into email_usage (organization_id, period_start, sent)"
            " values (%lld, date_trunc('month', now() at time zone 'UTC')::date, 498)",
            (long long)work.organization_id);
    step();
    assert_int_equal(number_of("select count(*) from automation_sends"), 2);
    assert_int_equal(
        number_of("select count(*) from automation_runs where status = 'running' and due_at > started_at and node_id = 'pause'"),
        1);
    assert_int_equal(
        number_of("select count(*) from audience_runs where status = 'paused' and pause_reason = 'plan_limit' and open_runs = 1"),
        1);
    work.now_us += hour_us;
    run_sql("update email_usage set sent = 0");
    step();
    assert_int_equal(number_of("select count(*) from automation_sends"), 3);
    assert_int_equal(
        number_of("select count(*) from audience_runs where status = 'completed' and open_runs = 0 and completed_at is not null"),
        1);
    assert_int_equal(number_of("select count(*) from automation_steps where status = 'running'"), 0);
}

/* ---- Events and payloads ---- */

static const char *event_wait(void)
{
    return arena_printf(arena,
                        "{\"id\":\"pause\",\"type\":\"wait\",\"config\":{\"event\":{\"triggerEventId\":\"%s\",\"timeout\":"
                        "{\"duration\":1,\"unit\":\"days\"}}}}",
                        id_text(&work.engine->ids, arena, ID_TRIGGER, TRIGGER));
}

static bool wake_by_event(const struct work *by, const char *email_key, struct error *err)
{
    bool woken;
    const struct run_events events = { { (int64_t[]){ TRIGGER }, 1 }, { &email_key, 1 } };
    return runs_wake_by_events(by, &events, &woken, err);
}

static void add_event(const char *email)
{
    run_sql("insert into trigger_instances (brand_id, occurred_at, trigger_id, source, state, email_key)"
            " select %lld, max(started_at) + interval '1 second', %d, 'api', 'fired', '%s' from automation_runs",
            (long long)work.brand_id, TRIGGER, email);
}

static void test_an_event_before_the_wait_counts_and_one_during_it_wakes_the_run(void **state)
{
    (void)state;
    struct error err;
    add_line(event_wait(), NULL);
    start_run("ada@example.com", 0, 0);
    start_run("bob@example.com", 0, 0);
    add_event("ada@example.com");
    work.now_us += 2 * US_PER_S;
    step();
    assert_int_equal(number_of("select count(*) from automation_runs where status = 'completed' and email_key = 'ada@example.com'"),
                     1);
    assert_int_equal(number_of("select waits_trigger from automation_runs where status = 'running'"), TRIGGER);
    add_event("bob@example.com");
    assert_ok(wake_by_event(&work, "bob@example.com", &err), &err);
    step();
    assert_int_equal(number_of("select count(*) from automation_steps where branch = 'event'"), 2);
}

static void test_an_event_ends_one_visit_of_a_loop_only(void **state)
{
    (void)state;
    struct error err;
    add_automation(arena_printf(arena, "%s,%s", start_node, event_wait()),
                   "{\"from\":\"start\",\"to\":\"pause\"},{\"from\":\"pause\",\"to\":\"pause\",\"branch\":\"event\"}");
    start_run("ada@example.com", 0, 0);
    add_event("ada@example.com");
    work.now_us += 2 * US_PER_S;
    assert_int_equal(step().left, 1);
    step();
    assert_run("running", "pause", 3);
    assert_int_equal(number_of("select waits_trigger from automation_runs"), TRIGGER);
    work.now_us += US_PER_S;
    assert_ok(wake_by_event(&work, "ada@example.com", &err), &err);
    step();
    assert_run("running", "pause", 3);
    run_sql("insert into trigger_instances (brand_id, occurred_at, trigger_id, source, state, email_key)"
            " select brand_id, occurred_at + interval '1 second', trigger_id, source, state, email_key from trigger_instances");
    assert_ok(wake_by_event(&work, "ada@example.com", &err), &err);
    step();
    step();
    assert_run("running", "pause", 4);
    assert_int_equal(number_of("select count(distinct facts ->> 'eventAt') from automation_steps where branch = 'event'"), 2);
    assert_int_equal(number_of("select count(*) from automation_steps where branch = 'event'"), 2);
}

/* D-60 */
static void test_a_run_is_left_while_an_event_of_its_address_is_recorded(void **state)
{
    (void)state;
    struct error err;
    DB_CONN_SCOPE other = NULL;
    add_line(event_wait(), NULL);
    start_run("ada@example.com", 0, 0);
    assert_ok(installation_connect(installation, &other, &err), &err);
    struct work fire = work;
    fire.conn = other;
    DB_TX tx = { .conn = NULL };
    assert_ok(db_tx_begin(other, &tx, &err), &err);
    assert_ok(wake_by_event(&fire, "ada@example.com", &err), &err);
    assert_int_equal(step().left, 1);
    assert_int_equal(number_of("select count(*) from automation_runs where due_at <= started_at + interval '1 second'"), 1);
    add_event("ada@example.com");
    assert_ok(db_tx_commit(&tx, &err), &err);
    work.now_us += 2 * US_PER_S;
    step();
    assert_int_equal(number_of("select count(*) from automation_steps where branch = 'event'"), 1);
}

/* */
static void test_the_payload_is_erased_when_no_node_ahead_reads_it(void **state)
{
    (void)state;
    struct error err;
    int64_t payload_id;
    DB_TX tx = { .conn = NULL };
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    assert_ok(payload_store(&work, json_in_arena(arena, json_pack("{s:s}", "plan", "gold")), json_in_arena(arena, json_object()),
                            &payload_id, &err),
              &err);
    assert_ok(db_tx_commit(&tx, &err), &err);
    add_automation(arena_printf(arena,
                                "%s,%s,{\"id\":\"gold\",\"type\":\"filter\",\"config\":{\"logicalOperator\":\"AND\",\"conditions\":"
                                "[{\"field\":\"payload.plan\",\"operator\":\"equals\",\"value\":\"gold\"}]}},"
                                "{\"id\":\"end\",\"type\":\"wait\",\"config\":{\"duration\":1,\"unit\":\"hours\"}}",
                                start_node, hour_node),
                   "{\"from\":\"start\",\"to\":\"pause\"},{\"from\":\"pause\",\"to\":\"gold\"},"
                   "{\"from\":\"gold\",\"to\":\"end\",\"branch\":\"true\"}");
    start_run("ada@example.com", payload_id, 0);
    step();
    assert_int_equal(number_of("select count(*) from trigger_payloads"), 1);
    work.now_us += hour_us;
    step();
    assert_run("running", "end", 4);
    assert_int_equal(number_of("select count(*) from trigger_payloads"), 0);
    assert_int_equal(number_of("select count(*) from automation_steps where facts::text like '%gold%' and node_id <> 'gold'"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STEP_TEST(test_a_run_waits_and_ends_and_no_visit_is_repeated),
        STEP_TEST(test_a_filter_takes_the_branch_of_the_contact),
        STEP_TEST(test_a_contact_with_a_huge_number_is_compared),
        STEP_TEST(test_a_contact_that_cannot_be_read_fails_its_run_alone),
        STEP_TEST(test_a_contact_that_is_gone_is_no_customer),
        STEP_TEST(test_runs_of_paused_automations_and_launches_are_held),
        STEP_TEST(test_a_run_of_another_stepper_is_left_out),
        STEP_TEST(test_runs_behind_the_processor_time_go_on_later),
        STEP_TEST(test_a_visit_that_has_ended_is_never_written_again),
        STEP_TEST(test_runs_without_their_node_fail_and_a_run_can_be_failed_alone),
        STEP_TEST(test_a_taking_names_its_runs_and_forgets_their_crashes),
        STEP_TEST(test_a_loop_fails_after_a_thousand_visits),
        STEP_TEST(test_mail_goes_through_a_carrier_and_engagement_decides_the_branch),
        STEP_TEST(test_a_second_message_waits_for_the_next_transaction),
        STEP_TEST(test_a_deleted_design_fails_its_runs_with_the_reason),
        STEP_TEST(test_without_room_in_the_allowance_runs_wait_and_their_launch_is_paused),
        STEP_TEST(test_an_event_before_the_wait_counts_and_one_during_it_wakes_the_run),
        STEP_TEST(test_an_event_ends_one_visit_of_a_loop_only),
        STEP_TEST(test_a_run_is_left_while_an_event_of_its_address_is_recorded),
        STEP_TEST(test_the_payload_is_erased_when_no_node_ahead_reads_it),
    };
    return cmocka_run_group_tests(tests, world_begin, world_end);
}
