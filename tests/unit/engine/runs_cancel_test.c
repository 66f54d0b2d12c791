/*
 * Canceling runs: one run, a launch, an automation. What had ended stays, and the
 * counts, steps, events and payloads are those of the runs that were canceled.
 */
#include "fixtures/engine_fixture.h"

#include "engine/runs/cancel.h"

enum { OTHER_AUTOMATION = 2 };

/* Runs 1 to 6: 1 and 2 of a launch, 3 not begun, 4 completed, 5 of another automation, 6 a test. Payload 1 belongs to 1 and 5. */
static void begin_runs(void)
{
    run_sql(
        "delete from automation_runs; delete from automation_steps; delete from audience_runs; delete from automation_counts;"
        "delete from trigger_payloads;"
        "insert into trigger_payloads (brand_id, id, sealed, created_at) overriding system value"
        " select b.id, p, 'x', now() from brands b, generate_series(1, 3) p where b.id = %lld;"
        "insert into audience_runs (brand_id, id, automation_id, version_id, audience_id, status, total_recipients, open_runs,"
        " created_at, updated_at) overriding system value values (%lld, 1, 1, 1, 1, 'running', 2, 2, now(), now());"
        "insert into automation_runs (brand_id, id, automation_id, version_id, audience_run_id, payload_id, email, email_key, mode,"
        " status, node_id, visit, due_at, started_at) overriding system value"
        " select %lld, r.id, r.automation_id, 1, r.launch, r.payload, 'a@example.com', 'a@example.com', r.mode, r.status, 'pause',"
        " r.visit, now(), now() from (values"
        " (1, 1, 1, 1, 'live', 'running', 2), (2, 1, 1, null, 'live', 'running', 1), (3, 1, null, 2, 'live', 'running', 0),"
        " (4, 1, null, null, 'live', 'completed', 3), (5, 2, null, 1, 'live', 'running', 1), (6, 1, null, 3, 'test', 'running', 1))"
        " as r (id, automation_id, launch, payload, mode, status, visit);"
        "insert into automation_steps (brand_id, run_id, visit, node_id, node_type, status, started_at)"
        " select brand_id, id, v, 'pause', 'wait', case when v = visit and status = 'running' then 'running' else 'completed' end,"
        " now() from automation_runs, generate_series(1, visit) v where visit > 0",
        (long long)work.brand_id, (long long)work.brand_id, (long long)work.brand_id);
}

static int64_t cancel(struct runs_to_cancel which)
{
    struct error err;
    int64_t canceled;
    assert_ok(runs_cancel(&work, which, &canceled, &err), &err);
    return canceled;
}

static void test_an_automation_loses_its_open_runs(void **state) /* R-299 D-113 */
{
    (void)state;
    begin_runs();
    assert_int_equal(cancel((struct runs_to_cancel){ .automation_id = 1 }), 4);
    assert_int_equal(
        number_of("select count(*) from automation_runs where status = 'canceled' and due_at is null and payload_id is null "
                  "and completed_at is not null"),
        4);
    assert_int_equal(number_of("select count(*) from automation_runs where status = 'completed' or automation_id = 2"), 2);
    assert_int_equal(number_of("select count(*) from automation_runs where automation_id = 2 and status = 'running'"), 1);
    assert_int_equal(number_of("select count(*) from automation_steps where status = 'skipped'"), 3);
    assert_int_equal(number_of("select count(*) from automation_steps where status = 'running'"), 1);
    assert_int_equal(number_of("select count(*) from audience_runs where status = 'canceled' and open_runs = 0"), 1);
    /* The test run is not counted; run 3, which had not begun, is counted as started. */
    assert_int_equal(number_of("select count from automation_counts where kind = 'canceled'"), 3);
    assert_int_equal(number_of("select count from automation_counts where kind = 'started'"), 1);
    assert_int_equal(number_of("select count(*) from events where domain = 'automation' and event_type = 'canceled'"), 4);
    /* Run 5 still reads payload 1. */
    assert_int_equal(number_of("select count(*) from trigger_payloads where id = 1"), 1);
    assert_int_equal(number_of("select count(*) from trigger_payloads"), 1);
    assert_int_equal(cancel((struct runs_to_cancel){ .automation_id = 1 }), 0);
    assert_int_equal(cancel((struct runs_to_cancel){ .automation_id = OTHER_AUTOMATION }), 1);
    assert_int_equal(number_of("select count(*) from trigger_payloads"), 0);
}

static void test_the_last_run_ends_its_launch(void **state) /* */
{
    (void)state;
    begin_runs();
    assert_int_equal(cancel((struct runs_to_cancel){ .run_id = 1 }), 1);
    assert_int_equal(number_of("select open_runs from audience_runs where status = 'running'"), 1);
    assert_int_equal(cancel((struct runs_to_cancel){ .run_id = 4 }), 0);
    assert_int_equal(cancel((struct runs_to_cancel){ .run_id = 2 }), 1);
    assert_int_equal(number_of("select open_runs from audience_runs where status = 'completed' and completed_at is not null"), 0);
}

static void test_a_launch_loses_its_runs_only(void **state) /* */
{
    (void)state;
    begin_runs();
    assert_int_equal(cancel((struct runs_to_cancel){ .audience_run_id = 1 }), 2);
    assert_int_equal(number_of("select count(*) from automation_runs where status = 'running'"), 3);
    assert_int_equal(number_of("select open_runs from audience_runs where status = 'canceled'"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_an_automation_loses_its_open_runs),
        TEST(test_the_last_run_ends_its_launch),
        TEST(test_a_launch_loses_its_runs_only),
    };
    return cmocka_run_group_tests(tests, world_begin, world_end);
}
