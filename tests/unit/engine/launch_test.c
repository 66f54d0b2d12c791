/*
 * Launches on a migrated database: who gets a run, when it is due, and that a
 * launch begins once.
 */
#include "fixtures/engine_fixture.h"

#include "base/text.h"
#include "engine/runs/launch.h"
#include "engine/runs/launch_plan.h"
#include "engine/sends/gradual.h"

enum { AUTOMATION = 7, VERSION = 9, AUDIENCE = 4 };

static const char straight[] = "[{\"id\":\"start\",\"type\":\"trigger\",\"config\":{\"mode\":\"manualAudience\"}},"
                               "{\"id\":\"hello\",\"type\":\"sendEmail\",\"config\":{\"emailId\":\"e\",\"emailVersionId\":\"v\"}},"
                               "{\"id\":\"again\",\"type\":\"sendEmail\",\"config\":{\"emailId\":\"e\",\"emailVersionId\":\"v\"}}]";

static int reset(void **state)
{
    if (world_reset(state) != 0)
        return -1;
    run_sql("delete from automation_runs; delete from automation_steps; delete from automations; delete from automation_versions;"
            " delete from audience_runs; delete from contacts; delete from audiences; delete from events");
    run_sql("insert into audiences (brand_id, id, name, filters, kind, created_at, updated_at) overriding system value"
            " values (%lld, %d, 'Fair',"
            " '{\"logic\":\"and\",\"filters\":[{\"field\":\"source\",\"operator\":\"equals\",\"value\":\"fair\"}]}', 'filter', "
            "now(), now())",
            (long long)work.brand_id, AUDIENCE);
    run_sql("insert into automations (brand_id, id, name, latest_version_id, live_version_id, created_at, updated_at)"
            " overriding system value values (%lld, %d, 'Welcome', %d, %d, now(), now())",
            (long long)work.brand_id, AUTOMATION, VERSION, VERSION);
    run_sql(
        "insert into automation_versions (brand_id, id, automation_id, version, nodes, connections, definition_hash, audience_id,"
        " created_at) overriding system value values (%lld, %d, %d, 1, '%s',"
        " '[{\"from\":\"start\",\"to\":\"hello\"},{\"from\":\"hello\",\"to\":\"again\"}]', 'x', %d, now())",
        (long long)work.brand_id, VERSION, AUTOMATION, straight, AUDIENCE);
    return 0;
}

static void add_contacts(int count)
{
    run_sql("insert into contacts (brand_id, email, email_key, source, subscribed, created_at, updated_at)"
            " select %lld, 'r' || n || '@example.com', 'r' || n || '@example.com', 'fair', true, now(), now()"
            " from generate_series(1, %d) n",
            (long long)work.brand_id, count);
    run_sql("insert into contacts (brand_id, email, email_key, source, subscribed, created_at, updated_at) values"
            " (%lld, 'off@example.com', 'off@example.com', 'fair', false, now(), now()),"
            " (%lld, 'shop@example.com', 'shop@example.com', 'shop', true, now(), now())",
            (long long)work.brand_id, (long long)work.brand_id);
}

static int64_t create(const struct gradual_plan *plan)
{
    struct error err = { .code = ERR_NONE };
    struct launch_request request = { .automation_id = AUTOMATION, .gradual = plan };
    struct launch_accepted accepted;
    assert_ok(launch_create(&work, &request, &accepted, &err), &err);
    return accepted.id;
}

static void begin(int64_t id)
{
    struct error err = { .code = ERR_NONE };
    DB_TX tx = { .conn = NULL };
    assert_ok(db_tx_begin(conn, &tx, &err) && launch_begin(&work, id, &err) && db_tx_commit(&tx, &err), &err);
}

static void test_each_subscribed_contact_of_the_audience_gets_a_run_once(void **state) /* */
{
    (void)state;
    add_contacts(3);
    int64_t id = create(NULL);
    assert_int_equal(number_of("select count(*) from automation_runs"), 0);
    begin(id);
    begin(id);
    assert_int_equal(number_of("select count(*) from automation_runs where node_id = 'start' and visit = 0 and status = 'running'"
                               " and due_at = started_at and contact_id is not null and audience_run_id is not null"),
                     3);
    assert_int_equal(number_of("select count(*) from automation_runs where email_key in ('off@example.com', 'shop@example.com')"),
                     0);
    assert_int_equal(number_of("select count(*) from events where domain = 'automation' and event_type = 'started'"), 3);
    assert_int_equal(number_of("select open_runs from audience_runs where status = 'running' and total_recipients = 3"), 3);
}

static void test_a_gradual_launch_is_due_in_tranches(void **state)
{
    (void)state;
    struct gradual_plan plan = {
        .starting_percentage = 20, .increment_percentage = 40, .interval_value = 1, .is_daily = true, .time_zone = "UTC"
    };
    add_contacts(11);
    begin(create(&plan));
    assert_int_equal(number_of("select count(*) from automation_runs where due_at = started_at"), 3);
    assert_int_equal(number_of("select count(*) from automation_runs where due_at = started_at + interval '1 day'"), 4);
    assert_int_equal(number_of("select count(*) from automation_runs where due_at = started_at + interval '2 days'"), 4);
}

static void test_the_order_of_a_gradual_launch_is_its_own(void **state)
{
    (void)state;
    struct gradual_plan plan = {
        .starting_percentage = 50, .increment_percentage = 50, .interval_value = 1, .is_daily = false, .time_zone = "UTC"
    };
    add_contacts(64);
    begin(create(&plan));
    begin(create(&plan));
    /* Two launches of 64 contacts with the same first halves: a chance of one in 10^18. */
    assert_true(number_of("select count(*) from (select email_key from automation_runs where due_at = started_at"
                          " group by email_key having count(*) = 2) q") < 32);
}

static void test_where_all_mail_is_transactional_all_are_eligible(void **state)
{
    (void)state;
    add_contacts(2);
    run_sql("update domains set sending_purpose = 'transactional' where kind = 'sandbox'");
    begin(create(NULL));
    run_sql("update domains set sending_purpose = 'marketing' where kind = 'sandbox'");
    assert_int_equal(number_of("select count(*) from automation_runs"), 3);
}

static void test_a_canceled_launch_does_not_begin(void **state)
{
    (void)state;
    add_contacts(2);
    int64_t id = create(NULL);
    run_sql("update audience_runs set status = 'canceled'");
    begin(id);
    assert_int_equal(number_of("select count(*) from automation_runs"), 0);
}

static void test_a_launch_whose_automation_was_unpublished_fails_with_the_reason(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    add_contacts(2);
    int64_t id = create(NULL);
    run_sql("update automations set live_version_id = null");
    assert_false(launch_begin(&work, id, &err));
    assert_int_equal(err.code, ERR_AUTOMATION_NOT_PUBLISHED);
    assert_ok(launch_give_up(&work, id, err.message, &err), &err);
    assert_int_equal(number_of("select count(*) from audience_runs where status = 'failed' and error like '%not published%'"), 1);
}

static void test_an_audience_without_anybody_left_completes_the_launch(void **state)
{
    (void)state;
    add_contacts(2);
    int64_t id = create(NULL);
    run_sql("update contacts set subscribed = false");
    begin(id);
    assert_int_equal(number_of("select count(*) from audience_runs where status = 'completed' and total_recipients = 0"), 1);
}

/* ---- The plan ---- */

static struct launch_plan plan_of(const char *nodes, const char *connections)
{
    struct error err = { .code = ERR_NONE };
    struct launch_plan plan;
    assert_ok(launch_plan_read(&work, nodes, connections, &plan, &err), &err);
    return plan;
}

static void test_messages_before_the_first_branch_are_certain(void **state)
{
    (void)state;
    struct launch_plan plan = plan_of(straight, "[{\"from\":\"start\",\"to\":\"hello\"},{\"from\":\"hello\",\"to\":\"again\"}]");
    assert_string_equal(plan.trigger_node, "start");
    assert_int_equal(plan.message_nodes, 2);
    assert_int_equal(plan.certain_messages, 2);
    plan = plan_of("[{\"id\":\"start\",\"type\":\"trigger\",\"config\":{\"mode\":\"manualAudience\"}},"
                   "{\"id\":\"half\",\"type\":\"split\",\"config\":{\"leftPercentage\":50}},"
                   "{\"id\":\"hello\",\"type\":\"sendEmail\",\"config\":{\"emailId\":\"e\",\"emailVersionId\":\"v\"}}]",
                   "[{\"from\":\"start\",\"to\":\"half\"},{\"from\":\"half\",\"to\":\"hello\",\"branch\":\"left\"}]");
    assert_int_equal(plan.message_nodes, 1);
    assert_int_equal(plan.certain_messages, 0);
}

static void test_a_loop_is_walked_once(void **state)
{
    (void)state;
    struct launch_plan plan = plan_of(straight, "[{\"from\":\"start\",\"to\":\"hello\"},{\"from\":\"hello\",\"to\":\"hello\"}]");
    assert_int_equal(plan.certain_messages, 2); /* at most as many steps as nodes */
}

#define RUN_TEST(function) cmocka_unit_test_setup_teardown(function, reset, world_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUN_TEST(test_each_subscribed_contact_of_the_audience_gets_a_run_once),
        RUN_TEST(test_a_gradual_launch_is_due_in_tranches),
        RUN_TEST(test_the_order_of_a_gradual_launch_is_its_own),
        RUN_TEST(test_where_all_mail_is_transactional_all_are_eligible),
        RUN_TEST(test_a_canceled_launch_does_not_begin),
        RUN_TEST(test_a_launch_whose_automation_was_unpublished_fails_with_the_reason),
        RUN_TEST(test_an_audience_without_anybody_left_completes_the_launch),
        RUN_TEST(test_messages_before_the_first_branch_are_certain),
        RUN_TEST(test_a_loop_is_walked_once),
    };
    return cmocka_run_group_tests(tests, world_begin, world_end);
}
