/*
 * Worker pools: the order in which waiting jobs are leased, and the threads that one
 * organization has. The jobs are rows without a type; the run function of the test
 * records them, and a gate holds them.
 */
#include "fixtures/own_fail.h"

#include "fixtures/engine_fixture.h"

#include "jobs/worker_pool.h"
#include "sql/ledger.h"

#include <pthread.h>
#include <unistd.h>

enum { MAX_JOBS = 64, BUSY = 7001, CALM = 7002 };

/* ---- Jobs ---- */

/* Enqueues `count` jobs of a brand that are due; their kinds are the name and a number. */
static void enqueue(int64_t organization_id, int64_t brand_id, const char *name, int count)
{
    for (int i = 0; i < count; i++) {
        struct job_insert_params params = {
            .kind = arena_printf(arena, "%s%d", name, i),
            .pool = "work",
            .organization_id = { .set = true, .value = organization_id },
            .brand_id = { .set = true, .value = brand_id },
            .payload = "{}",
            .run_after = work.now_us,
            .now = work.now_us,
        };
        struct error err;
        assert_ok(sql_job_insert(conn, arena, &params, &(struct job_insert_row *){ NULL }, &err), &err);
    }
}

/* The kind of the next job; "" when there is none. */
static const char *lease_any(const char *pool)
{
    struct job_give_turns_params turns = { .now = work.now_us };
    struct job_lease_params params = { .pool = pool, .lease_s = 60 };
    struct leased_job_row *row;
    struct error err;
    assert_ok(sql_job_give_turns(conn, arena, &turns, NULL, &err), &err);
    assert_ok(sql_job_lease(conn, arena, &params, &row, &err), &err);
    return row != NULL ? row->kind : "";
}

static const char *lease_of_others(int64_t organization_id)
{
    struct job_lease_of_others_params params = { .pool = "work", .organization_id = organization_id, .lease_s = 60 };
    struct leased_job_row *row;
    struct error err;
    assert_ok(sql_job_lease_of_others(conn, arena, &params, &row, &err), &err);
    return row != NULL ? row->kind : "";
}

static void assert_leases(const char *const *kinds)
{
    for (; *kinds != NULL; kinds++)
        assert_string_equal(lease_any("work"), *kinds);
    assert_string_equal(lease_any("work"), "");
}

/* In worker.sql, only the owner of a lease begins it anew. */
static void test_a_lease_is_renewed_by_its_owner(void **state)
{
    (void)state;
    struct job_lease_params params = { .pool = "work", .lease_s = 60 };
    struct leased_job_row *row;
    struct error err;
    int64_t renewed;
    enqueue(BUSY, 1, "a", 1);
    struct job_give_turns_params turns = { .now = work.now_us };
    assert_ok(sql_job_give_turns(conn, arena, &turns, NULL, &err), &err);
    assert_ok(sql_job_lease(conn, arena, &params, &row, &err), &err);
    assert_non_null(row);
    struct job_renew_params own = { .id = row->id, .owner = row->lease_owner, .lease_s = 600 };
    struct job_renew_params other = { .id = row->id, .owner = "another", .lease_s = 600 };
    assert_ok(sql_job_renew(conn, arena, &own, &renewed, &err), &err);
    assert_int_equal(renewed, 1);
    assert_ok(sql_job_renew(conn, arena, &other, &renewed, &err), &err);
    assert_int_equal(renewed, 0);
    run_sql("update jobs set lease_until = lease_until - interval '500 s'");
    assert_ok(sql_job_reclaim(conn, arena, &renewed, &err), &err);
    assert_int_equal(renewed, 0);
    run_sql("update jobs set lease_until = lease_until - interval '500 s'");
    assert_ok(sql_job_reclaim(conn, arena, &renewed, &err), &err);
    assert_int_equal(renewed, 1);
    assert_ok(sql_job_renew(conn, arena, &own, &renewed, &err), &err);
    assert_int_equal(renewed, 0);
}

/* A worker settles its job behind a lock, which can take longer than the lease. Others lease jobs meanwhile. */
static void test_a_job_that_is_being_settled_stops_nobody(void **state)
{
    (void)state;
    struct error err;
    int64_t reclaimed;
    enqueue(BUSY, 1, "a", 2);
    assert_string_equal(lease_any("work"), "a0");
    run_sql("update jobs set lease_until = now() - interval '1 s' where state = 'running'");
    struct db_conn *other;
    assert_ok(installation_connect(installation, &other, &err), &err);
    assert_ok(db_script(other, "begin; select 1 from jobs where state = 'running' for update", &err), &err);
    run_sql("set lock_timeout = '10s'");
    assert_ok(sql_job_reclaim(conn, arena, &reclaimed, &err), &err);
    assert_int_equal(reclaimed, 0);
    assert_string_equal(lease_any("work"), "a1");
    assert_ok(db_script(other, "rollback", &err), &err);
    db_disconnect(other);
    run_sql("update jobs set lease_until = now() - interval '1 s' where kind = 'a0'; reset lock_timeout");
    assert_ok(sql_job_reclaim(conn, arena, &reclaimed, &err), &err);
    assert_int_equal(reclaimed, 1);
}

/* ---- Turns ---- */

static void test_brands_take_turns(void **state)
{
    (void)state;
    enqueue(BUSY, 1, "a", 4);
    enqueue(BUSY, 2, "b", 2);
    enqueue(CALM, 3, "c", 1);
    assert_leases((const char *const[]){ "a0", "b0", "c0", "a1", "b1", "a2", "a3", NULL });
}

/* A brand that enqueues later begins with the turn that is served, not behind all jobs that came before. */
static void test_a_later_brand_has_the_next_turn(void **state)
{
    (void)state;
    enqueue(BUSY, 1, "a", 4);
    assert_string_equal(lease_any("work"), "a0");
    assert_string_equal(lease_any("work"), "a1");
    enqueue(CALM, 2, "c", 2);
    assert_leases((const char *const[]){ "a2", "c0", "a3", "c1", NULL });
}

/* Jobs that wait for a time get their turns when they are due. */
static void test_scheduled_jobs_take_turns(void **state)
{
    (void)state;
    run_sql(
        "insert into jobs (kind, organization_id, brand_id, payload, run_after, created_at)"
        " select 'a' || i, 7001, 1, '{}', now() - interval '1 hour' + i * interval '1 minute', now() from generate_series(0, 2) i");
    run_sql("insert into jobs (kind, organization_id, brand_id, payload, run_after, created_at)"
            " values ('c0', 7002, 2, '{}', now() - interval '1 minute', now()), ('c1', 7002, 2, '{}', now() + interval '1 day', "
            "now())");
    assert_leases((const char *const[]){ "a0", "c0", "a1", "a2", NULL });
    assert_int_equal(number_of("select count(*) from jobs where state = 'queued' and turn is null"), 1);
}

static void test_pools_do_not_wait_for_each_other(void **state)
{
    (void)state;
    enqueue(BUSY, 1, "a", 2);
    run_sql("insert into jobs (kind, pool, organization_id, brand_id, payload, run_after, created_at)"
            " values ('fetch', 'network', 7001, 1, '{}', now(), now())");
    work.now_us = clock_now_us();
    assert_string_equal(lease_any("network"), "fetch");
    assert_string_equal(lease_any("network"), "");
    assert_leases((const char *const[]){ "a0", "a1", NULL });
}

static void test_an_organization_is_left_out(void **state)
{
    (void)state;
    enqueue(BUSY, 1, "a", 3);
    enqueue(BUSY, 2, "b", 1);
    enqueue(CALM, 3, "c", 2);
    enqueue(CALM + 1, 4, "d", 1);
    assert_string_equal(lease_of_others(BUSY), "c0");
    assert_string_equal(lease_of_others(BUSY), "d0");
    assert_string_equal(lease_of_others(BUSY), "c1");
    assert_string_equal(lease_of_others(BUSY), "");
    assert_leases((const char *const[]){ "a0", "b0", "a1", "a2", NULL });
}

/* However many jobs of the organization wait, a lease of the others reads few of them. */
static void test_a_lease_reads_few_rows(void **state)
{
    (void)state;
    run_sql("insert into jobs (kind, organization_id, brand_id, payload, run_after, created_at, turn)"
            " select 'a' || i, 7001, 1, '{}', now(), now(), i from generate_series(0, 4999) i");
    run_sql("vacuum analyze jobs");
    run_sql("begin");
    const char *others = lease_of_others(BUSY);
    const char *any = lease_any("work");
    int64_t rows = number_of("select (seq_tup_read + idx_tup_fetch)::bigint from pg_stat_xact_user_tables where relname = 'jobs'");
    run_sql("rollback");
    assert_string_equal(others, "");
    assert_string_equal(any, "a0");
    assert_true(rows < 1000);
}

/* ---- Threads ---- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    bool closed;
    int inside[2]; /* jobs of BUSY, of CALM */
    int ran;
} seen = { .lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER };

static void run_job(void *context, const struct leased_job_row *row, struct db_conn *own_conn, struct arena *own_arena)
{
    (void)context;
    pthread_mutex_lock(&seen.lock);
    int *inside = &seen.inside[row->organization_id.value == CALM];
    ++*inside;
    pthread_cond_broadcast(&seen.moved);
    while (seen.closed && row->organization_id.value == BUSY)
        pthread_cond_wait(&seen.moved, &seen.lock);
    --*inside;
    seen.ran++;
    pthread_cond_broadcast(&seen.moved);
    pthread_mutex_unlock(&seen.lock);
    struct job_finish_params params = { .id = row->id, .state = "done", .now = clock_now_us() };
    struct error err;
    assert_ok(sql_job_finish(own_conn, own_arena, &params, NULL, &err), &err);
}

static struct worker_pool *pool_of(int threads, int share)
{
    seen.closed = true;
    seen.ran = seen.inside[0] = seen.inside[1] = 0;
    struct worker_pool_config config = {
        .name = "work", .threads = threads, .share = share, .installation = installation, .run = run_job
    };
    return worker_pool_start(&config);
}

static void await_inside(int who, int count)
{
    pthread_mutex_lock(&seen.lock);
    while (seen.inside[who] < count)
        pthread_cond_wait(&seen.moved, &seen.lock);
    pthread_mutex_unlock(&seen.lock);
}

static void await_ran(int count)
{
    pthread_mutex_lock(&seen.lock);
    while (seen.ran < count)
        pthread_cond_wait(&seen.moved, &seen.lock);
    pthread_mutex_unlock(&seen.lock);
}

static void open_gate(void)
{
    pthread_mutex_lock(&seen.lock);
    seen.closed = false;
    pthread_cond_broadcast(&seen.moved);
    pthread_mutex_unlock(&seen.lock);
}

/* jobs of one organization that do not end hold no job of another. */
static void test_a_thread_is_left_to_others(void **state)
{
    (void)state;
    enqueue(BUSY, 1, "a", 3);
    enqueue(BUSY, 2, "b", 3);
    struct worker_pool *pool = pool_of(3, 2);
    await_inside(0, 2);
    enqueue(CALM, 3, "c", 5);
    await_ran(5);
    assert_int_equal(seen.inside[0], 2);
    assert_int_equal(number_of("select count(*) from jobs where state = 'queued'"), 4);
    open_gate();
    await_ran(11);
    worker_pool_stop(pool);
    assert_int_equal(number_of("select count(*) from jobs where state = 'done'"), 11);
}

static void test_one_thread_serves_all(void **state)
{
    (void)state;
    enqueue(BUSY, 1, "a", 2);
    enqueue(CALM, 3, "c", 2);
    struct worker_pool *pool = pool_of(1, 1);
    open_gate();
    await_ran(4);
    worker_pool_stop(pool);
}

/* Threads that were not needed are there again when jobs come. */
static void test_threads_that_waited_are_woken(void **state)
{
    (void)state;
    struct worker_pool *pool = pool_of(3, 3);
    for (int round = 1; round <= 3; round++) {
        pthread_mutex_lock(&seen.lock);
        seen.closed = true;
        pthread_mutex_unlock(&seen.lock);
        enqueue(BUSY, 1, arena_printf(arena, "r%d-", round), 3);
        await_inside(0, 3);
        open_gate();
        await_ran(3 * round);
    }
    worker_pool_stop(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_brands_take_turns),
        TEST(test_a_later_brand_has_the_next_turn),
        TEST(test_scheduled_jobs_take_turns),
        TEST(test_pools_do_not_wait_for_each_other),
        TEST(test_an_organization_is_left_out),
        TEST(test_a_lease_reads_few_rows),
        TEST(test_a_lease_is_renewed_by_its_owner),
        TEST(test_a_job_that_is_being_settled_stops_nobody),
        TEST(test_a_thread_is_left_to_others),
        TEST(test_one_thread_serves_all),
        TEST(test_threads_that_waited_are_woken),
    };
    return cmocka_run_group_tests_name("jobs: worker pool", tests, world_begin, world_end);
}
