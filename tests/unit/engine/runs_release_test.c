/*
 * Releasing runs in parts: no call releases more than a part, a job does the rest, a run is taken up once, and a pause or a
 * cancellation in between stops what is left.
 */
#include "fixtures/engine_fixture.h"

#include "engine/runs/audience_runs.h"
#include "engine/runs/cancel.h"
#include "engine/runs/release.h"

enum { AUTOMATION = 7, LAUNCH = 3, OTHER_LAUNCH = 4, MORE = RUNS_RELEASE_PART + 10 };

static const char held[] = "select count(*) from automation_runs where is_held";
static const char waiting_jobs[] = "select count(*) from jobs where kind = 'release_runs' and state = 'queued'";
static const char no_jobs[] = "select count(*) from jobs where state in ('queued', 'running')";

static int reset(void **state)
{
    if (world_reset(state) != 0)
        return -1;
    run_sql("delete from automation_runs; delete from automations; delete from audience_runs; delete from jobs");
    run_sql("insert into automations (brand_id, id, name, latest_version_id, live_version_id, created_at, updated_at)"
            " overriding system value values (%lld, %d, 'Welcome', 1, 1, now(), now())",
            (long long)work.brand_id, AUTOMATION);
    run_sql(
        "insert into audience_runs (brand_id, id, automation_id, version_id, audience_id, status, pause_reason, total_recipients,"
        " open_runs, created_at, updated_at) overriding system value"
        " select %lld, id, %d, 1, 1, 'paused', 'manual', 0, 0, now(), now() from unnest(array[%d, %d]) as id",
        (long long)work.brand_id, AUTOMATION, LAUNCH, OTHER_LAUNCH);
    return 0;
}

#undef TEST
#define TEST(function) cmocka_unit_test_setup_teardown(function, reset, world_leave)

static void add_runs(int launch, const char *status, int count)
{
    run_sql("insert into automation_runs (brand_id, automation_id, version_id, audience_run_id, email, email_key, status, node_id, "
            "visit,"
            " due_at, is_held, error, started_at)"
            " select %lld, %d, 1, nullif(%d, 0), 'a@example.com', 'a@example.com', '%s', 'pause', 1,"
            " '2100-01-01Z', '%s' = 'running', 'x', now() from generate_series(1, %d)",
            (long long)work.brand_id, AUTOMATION, launch, status, status, count);
}

static void release(struct runs_to_release which)
{
    struct error err = { .code = ERR_NONE };
    DB_TX tx = { .conn = NULL };
    assert_ok(db_tx_begin(conn, &tx, &err) && runs_release(&work, which, &err) && db_tx_commit(&tx, &err), &err);
}

static void resume(void)
{
    struct error err = { .code = ERR_NONE };
    struct json_writer json;
    DB_TX tx = { .conn = NULL };
    json_writer_init(&json, buf_in_arena(arena, 1 << 20));
    assert_ok(db_tx_begin(conn, &tx, &err) && audience_run_resume(&work, LAUNCH, &json, &err) && db_tx_commit(&tx, &err), &err);
}

static void run_jobs(void)
{
    run_until((struct job_services){ .outbox = outbox }, no_jobs, 0);
}

static void test_a_job_releases_what_a_part_leaves(void **state) /* */
{
    (void)state;
    add_runs(0, "running", MORE);
    release((struct runs_to_release){ .automation_id = AUTOMATION });
    assert_int_equal(number_of(held), MORE - RUNS_RELEASE_PART);
    assert_int_equal(number_of(waiting_jobs), 1);
    run_jobs();
    assert_int_equal(number_of(held), 0);
}

static void test_a_small_release_needs_no_job(void **state)
{
    (void)state;
    add_runs(0, "running", 10);
    add_runs(LAUNCH, "running", 10);
    release((struct runs_to_release){ .automation_id = AUTOMATION });
    assert_int_equal(number_of(held), 10);
    assert_int_equal(number_of(waiting_jobs), 0);
}

static void test_a_pause_in_between_keeps_the_rest_held(void **state)
{
    (void)state;
    add_runs(0, "running", MORE);
    release((struct runs_to_release){ .automation_id = AUTOMATION });
    run_sql("update automations set is_paused = true");
    run_jobs();
    assert_int_equal(number_of(held), MORE - RUNS_RELEASE_PART);
}

static void test_a_launch_releases_its_own_runs(void **state) /* */
{
    (void)state;
    add_runs(OTHER_LAUNCH, "running", 10);
    add_runs(LAUNCH, "running", MORE);
    resume();
    assert_int_equal(number_of(held), 10 + MORE - RUNS_RELEASE_PART);
    run_jobs();
    assert_int_equal(number_of(held), 10);
    assert_int_equal(number_of("select count(*) from automation_runs where is_held and audience_run_id = 4"), 10);
}

static void fail_launch(void)
{
    add_runs(LAUNCH, "failed", MORE);
    run_sql(
        "update audience_runs set status = 'failed', pause_reason = null, total_recipients = %d, failed_runs = %d where id = %d",
        MORE, MORE, LAUNCH);
}

/* The launch has all of its runs open before the job has taken up the last ones. One that fails meanwhile is not taken up twice. */
static void test_failed_runs_are_taken_up_once(void **state) /* */
{
    (void)state;
    fail_launch();
    resume();
    assert_int_equal(number_of("select open_runs from audience_runs where id = 3 and status = 'running' and failed_runs = 0"),
                     MORE);
    assert_int_equal(number_of("select count(*) from automation_runs where status = 'running'"), RUNS_RELEASE_PART);
    run_sql("update automation_runs set status = 'failed' where id = (select min(id) from automation_runs)");
    run_jobs();
    assert_int_equal(number_of("select count(*) from automation_runs where status = 'running' and visit = 2"), MORE - 1);
    assert_int_equal(number_of("select count(*) from automation_runs where visit > 2"), 0);
}

static void test_a_canceled_launch_keeps_its_failed_runs(void **state) /* */
{
    struct error err;
    int64_t canceled;
    (void)state;
    fail_launch();
    resume();
    assert_ok(runs_cancel(&work, (struct runs_to_cancel){ .audience_run_id = LAUNCH }, &canceled, &err), &err);
    assert_int_equal(canceled, RUNS_RELEASE_PART);
    run_jobs();
    assert_int_equal(number_of("select count(*) from automation_runs where status = 'running'"), 0);
    assert_int_equal(number_of("select count(*) from audience_runs where id = 3 and status = 'canceled'"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_job_releases_what_a_part_leaves),      TEST(test_a_small_release_needs_no_job),
        TEST(test_a_pause_in_between_keeps_the_rest_held), TEST(test_a_launch_releases_its_own_runs),
        TEST(test_failed_runs_are_taken_up_once),          TEST(test_a_canceled_launch_keeps_its_failed_runs),
    };
    return cmocka_run_group_tests(tests, world_begin, world_end);
}
