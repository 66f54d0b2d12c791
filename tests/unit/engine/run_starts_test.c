/* Starting runs, and waking those that wait, on a migrated database. */
#include "fixtures/engine_fixture.h"

#include "engine/runs/start.h"

enum { AUTOMATION = 7, VERSION = 9, TRIGGER = 3 };

static int reset(void **state)
{
    if (world_reset(state) != 0)
        return -1;
    run_sql("delete from automation_runs; delete from automation_counts; delete from automations; delete from audience_runs");
    return 0;
}

static void add_automation(bool is_paused)
{
    run_sql("insert into automations (brand_id, id, name, latest_version_id, is_paused, created_at, updated_at)"
            " overriding system value values (%lld, %d, 'Welcome', %d, %s, now(), now())",
            (long long)work.brand_id, AUTOMATION, VERSION, is_paused ? "true" : "false");
}

static struct run_start start_of(const char *email)
{
    return (struct run_start){
        .automation_id = AUTOMATION,
        .version_id = VERSION,
        .trigger_node = "start",
        .trigger_id = TRIGGER,
        .contact_id = 5,
        .email = email,
        .email_key = email,
    };
}

static void start_two(struct int_list *ret_ids)
{
    struct error err = { .code = ERR_NONE };
    struct run_start starts[] = { start_of("ada@example.com"), start_of("bob@example.com") };
    DB_TX tx = { .conn = NULL };
    assert_ok(db_tx_begin(conn, &tx, &err) && runs_start(&work, starts, ARRAY_COUNT(starts), ret_ids, &err) &&
                  db_tx_commit(&tx, &err),
              &err);
}

static void test_runs_begin_due_at_the_trigger_in_the_given_order(void **state)
{
    (void)state;
    struct int_list ids;
    add_automation(false);
    start_two(&ids);
    assert_int_equal(ids.count, 2);
    assert_true(ids.items[0] < ids.items[1]);
    assert_int_equal(number_of("select id from automation_runs where email_key = 'ada@example.com'"), ids.items[0]);
    assert_int_equal(number_of("select count(*) from automation_runs where node_id = 'start' and visit = 0 and status = 'running'"
                               " and due_at = started_at and not is_held and trigger_id = 3 and payload_id is null"),
                     2);
    assert_int_equal(number_of("select count(*) from events e join automation_runs r on r.id = e.automation_run_id"
                               " where e.domain = 'automation' and e.event_type = 'started' and e.recipient_key = r.email_key"),
                     2);
}

static void test_runs_of_a_paused_automation_are_held_and_keep_no_runner(void **state)
{
    (void)state;
    struct error err;
    struct int_list ids;
    bool open;
    add_automation(true);
    start_two(&ids);
    assert_int_equal(number_of("select count(*) from automation_runs where is_held"), 2);
    assert_ok(workers_any_open(conn, &open, &err), &err);
    assert_false(open);
    run_sql("update automation_runs set is_held = false, due_at = now() + interval '1 year'");
    assert_ok(workers_any_open(conn, &open, &err), &err);
    assert_true(open);
}

/* An event of each of these triggers at the address of the first run. */
static bool wake_by_events(int64_t first, int64_t second)
{
    struct error err = { .code = ERR_NONE };
    bool woken;
    const struct run_events events = {
        .trigger_ids = { (int64_t[]){ first, second }, 2 },
        .email_keys = { (const char *const[]){ "ada@example.com", "ada@example.com" }, 2 },
    };
    assert_ok(runs_wake_by_events(&work, &events, &woken, &err), &err);
    return woken;
}

static void test_only_waiting_runs_of_the_address_and_the_trigger_are_woken(void **state) /* D-107 */
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct int_list ids;
    add_automation(false);
    start_two(&ids);
    run_sql("update automation_runs set due_at = now() + interval '1 day', waits_trigger = 3, waits_message = id");
    assert_false(wake_by_events(TRIGGER + 1, TRIGGER + 2));
    assert_int_equal(number_of("select count(*) from automation_runs where due_at > now()"), 2);
    assert_true(wake_by_events(TRIGGER + 1, TRIGGER));
    assert_int_equal(number_of("select count(*) from automation_runs where due_at > now()"), 1);
    assert_ok(runs_wake_by_messages(&work, (struct int_list){ &ids.items[1], 1 }, &err), &err);
    assert_int_equal(number_of("select count(*) from automation_runs where due_at > now()"), 0);
}

#define RUN_TEST(function) cmocka_unit_test_setup_teardown(function, reset, world_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUN_TEST(test_runs_begin_due_at_the_trigger_in_the_given_order),
        RUN_TEST(test_runs_of_a_paused_automation_are_held_and_keep_no_runner),
        RUN_TEST(test_only_waiting_runs_of_the_address_and_the_trigger_are_woken),
    };
    return cmocka_run_group_tests(tests, world_begin, world_end);
}
