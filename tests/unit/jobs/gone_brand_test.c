/*
 * A brand that is being deleted: its jobs end as failed without running, and the links to its pictures and files lead nowhere.
 */
#include "fixtures/own_fail.h"

#include "fixtures/engine_fixture.h"

#include "catalogue/jobs.h"
#include "engine/hits/judge_hits.h"
#include "engine/imports/imports.h"
#include "engine/ledger/ledger.h"
#include "engine/quality/previews.h"

static int leave(void **state)
{
    run_sql("delete from hits; delete from previews; delete from imports; delete from credit_holds; update brands set status = "
            "'completed'");
    return world_leave(state);
}

#undef TEST
#define TEST(function) cmocka_unit_test_setup_teardown(function, world_reset, leave)

static void delete_the_brand(void)
{
    run_sql("update brands set status = 'deleting' where id = %lld", (long long)work.brand_id);
}

/* A job that needs no service and that a caller pays for. */
static void enqueue_paid_job(void)
{
    struct error err;
    struct ledger_entry entry = { .operation = "content.transform",
                                  .transport = "rest",
                                  .request_id = "r",
                                  .writes_audit = true,
                                  .credits = 60,
                                  .hold = 60,
                                  .credit_cost = 60 };
    int64_t job_id;
    run_sql("update organizations set plan = 'trial'");
    assert_ok(
        ledger_enqueue(&work, number_links_job(arena, &(struct number_links_payload){ 0 }), work.now_us, &entry, &job_id, &err),
        &err);
    assert_int_equal(number_of("select count(*) from credit_holds"), 1);
}

static int64_t credits_left(void)
{
    struct error err;
    struct opt_int left;
    assert_ok(ledger_credits_left(&work, &left, &err), &err);
    assert_true(left.set);
    return left.value;
}

/* nothing is done for a deleted brand, and nothing is charged. */
static void test_jobs_of_a_deleted_brand_fail_uncharged(void **state)
{
    (void)state;
    enqueue_paid_job();
    delete_the_brand();
    run_until((struct job_services){ .sender = NULL }, nothing_to_do, 0);
    assert_int_equal(number_of("select count(*) from jobs where state = 'failed' and result_status = 404 and attempts = 1"
                               " and result_error->>'code' = 'BRAND_NOT_FOUND'"),
                     1);
    assert_int_equal(number_of("select count(*) from credit_holds"), 0);
    assert_int_equal(credits_left(), 100);
}

static void test_jobs_of_other_brands_run(void **state)
{
    (void)state;
    enqueue_paid_job();
    run_until((struct job_services){ .sender = NULL }, nothing_to_do, 0);
    assert_int_equal(number_of("select count(*) from jobs where state = 'done'"), 1);
    assert_int_equal(number_of("select count(*) from credit_holds"), 0);
    assert_int_equal(credits_left(), 40);
}

/* Hits that nothing judges begin no job a minute, and hold no process. */
static void test_hits_of_a_deleted_brand_rest(void **state)
{
    (void)state;
    struct error err;
    bool open;
    run_sql("insert into hits (brand_id, occurred_at, send_id, ordinal, kind, method, agent, network)"
            " values (%lld, now(), 1, 1, 'open', 'GET', 'browser', 'access')",
            (long long)work.brand_id);
    assert_ok(workers_any_open(conn, &open, &err), &err);
    assert_true(open);
    delete_the_brand();
    assert_ok(hits_tend(conn, arena, work.now_us, &err), &err);
    assert_int_equal(number_of("select count(*) from jobs"), 0);
    assert_ok(workers_any_open(conn, &open, &err), &err);
    assert_false(open);
}

static void test_links_to_pictures_are_closed(void **state)
{
    (void)state;
    struct error err;
    struct preview_picture picture;
    run_sql("insert into previews (brand_id, email_id, version_id, created_at, expires_at)"
            " values (%lld, 1, 1, now(), now() + interval '1 hour');"
            "insert into preview_clients (brand_id, preview_id, client, place, round, status, width, height, picture)"
            " select brand_id, id, 'gmail', 1, 1, 'completed', 1, 1, '\\x00' from previews",
            (long long)work.brand_id);
    int64_t id = number_of("select max(id) from previews");
    assert_ok(preview_picture_read(&work, id, "gmail", &picture, &err), &err);
    delete_the_brand();
    assert_false(preview_picture_read(&work, id, "gmail", &picture, &err));
    assert_int_equal(err.code, ERR_PREVIEW_NOT_FOUND);
}

static void test_links_to_files_are_closed(void **state)
{
    (void)state;
    struct error err;
    const char *csv;
    run_sql("insert into imports (brand_id, validate, over_http, size_bytes, created_at) values (%lld, false, true, 1, now())",
            (long long)work.brand_id);
    int64_t id = number_of("select max(id) from imports");
    assert_ok(import_error_file(&work, id, &csv, &err), &err);
    delete_the_brand();
    assert_false(import_error_file(&work, id, &csv, &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_jobs_of_a_deleted_brand_fail_uncharged),
        TEST(test_jobs_of_other_brands_run),
        TEST(test_hits_of_a_deleted_brand_rest),
        TEST(test_links_to_pictures_are_closed),
        TEST(test_links_to_files_are_closed),
    };
    return cmocka_run_group_tests_name("jobs: gone brands", tests, world_begin, world_end);
}
