/*
 * Partitions of events and hits: created in advance for each month without blocking, and
 * dropped when they are old. A row without a partition is still stored and found.
 */
#include "fixtures/engine_fixture.h"

#include "engine/analytics/partitions.h"

/* The middle of May 2040. The test cluster uses the current date, so no other code creates these months. */
static const int64_t may_us = INT64_C(2220609600) * US_PER_S;
static const char partition_count[] = "select count(*) from pg_inherits where inhparent = 'events'::regclass";

static void make(int64_t now_us)
{
    struct error err;
    assert_ok(months_make(conn, arena, now_us, &err), &err);
}

static void add_event(const char *at)
{
    run_sql("insert into events (brand_id, occurred_at, domain, event_type) values (%lld, '%s', 'email', 'sent')",
            (long long)work.brand_id, at);
}

static int drop_made(void **state)
{
    int result = world_reset(state);
    run_sql("drop table if exists events_2040_05, events_2040_06, events_2040_07, events_2040_08, hits_2040_06, hits_2040_07;"
            "delete from event_rollups; delete from hits; delete from settings where name = 'events_kept_months'");
    return result;
}

static void test_the_time_before_has_one(void **state)
{
    (void)state;
    add_event("now");
    add_event("1999-01-01T00:00:00Z");
    add_event("2039-01-01T00:00:00Z");
    assert_int_equal(number_of("select count(*) from events_before"), 2);
    assert_int_equal(number_of("select count(*) from events_other"), 1);
    assert_int_equal(number_of("select count(*) from events"), 3);
}

static void test_two_months_are_made_ahead(void **state)
{
    (void)state;
    int64_t before = number_of(partition_count);
    make(may_us);
    assert_int_equal(number_of(partition_count), before + 2);
    make(may_us);
    assert_int_equal(number_of(partition_count), before + 2);
    add_event("2040-06-01T00:00:00Z");
    add_event("2040-06-30T23:59:59.999999Z");
    add_event("2040-07-01T00:00:00Z");
    add_event("2040-08-01T00:00:00Z");
    assert_int_equal(number_of("select count(*) from events_2040_06"), 2);
    assert_int_equal(number_of("select count(*) from events_2040_07"), 1);
    assert_int_equal(number_of("select count(*) from events_other"), 1);
}

/* Strays stay where they are; the months without any are made. */
static void test_a_month_with_strays_is_left_to_them(void **state)
{
    (void)state;
    int64_t before = number_of(partition_count);
    add_event("2040-06-15T00:00:00Z");
    make(may_us);
    assert_int_equal(number_of(partition_count), before + 1);
    assert_int_equal(number_of("select count(*) from events_other"), 1);
    add_event("2040-06-16T00:00:00Z");
    assert_int_equal(number_of("select count(*) from events where occurred_at >= '2040-06-01Z' and occurred_at < '2040-07-01Z'"),
                     2);
}

/* A transaction that reads the table does not block the creation of partitions. */
static void test_a_long_reader_is_not_waited_for(void **state)
{
    (void)state;
    struct error err;
    struct installation_config config = {
        .data_dir = folder,
        .database_url = cluster_url(arena, folder),
        .application_name = "posthorn reader",
    };
    struct installation *other = installation_new(&config);
    struct db_conn *reader;
    int64_t before = number_of(partition_count);
    assert_ok(installation_connect(other, &reader, &err), &err);
    assert_ok(db_script(reader, "begin; select count(*) from events", &err), &err);
    make(may_us);
    assert_int_equal(number_of(partition_count), before);
    add_event("2040-05-15T00:00:00Z");
    assert_ok(db_script(reader, "rollback", &err), &err);
    db_disconnect(reader);
    installation_free(other);
    make(may_us);
    assert_int_equal(number_of(partition_count), before + 2);
}

static void tend(int64_t now_us)
{
    struct error err;
    assert_ok(months_tend(conn, arena, now_us, &err), &err);
}

static void keep(int64_t months)
{
    struct error err;
    assert_ok(months_keep(conn, arena, months, &err), &err);
}

static int64_t count_events(void)
{
    return number_of("select count(*) from events");
}

/* D-123: events and hits of a month are dropped when the month is older than the installation keeps. The rollups stay. */
static void test_old_months_are_dropped(void **state)
{
    (void)state;
    make(may_us);
    add_event("2040-06-30T23:59:59Z");
    add_event("2040-07-01T00:00:00Z");
    run_sql("insert into hits (brand_id, occurred_at, send_id, ordinal, kind, method, agent, network)"
            " values (%1$lld, '2040-06-01T00:00:00Z', 1, 1, 'open', 'GET', 'other', 'other'),"
            "        (%1$lld, '2040-07-01T00:00:00Z', 1, 1, 'open', 'GET', 'other', 'other');"
            "insert into event_rollups (brand_id, send_id, day, event_type, receiving_domain, count)"
            " values (%1$lld, 1, '2040-06-01', 'sent', 'example.com', 1)",
            (long long)work.brand_id);
    assert_int_equal(number_of("select count(*) from hits_2040_06"), 1);
    tend(may_us + INT64_C(86400) * US_PER_S * 730); /* May 2042 */
    assert_int_equal(count_events(), 2);
    tend(may_us + INT64_C(86400) * US_PER_S * 790); /* July 2042 */
    assert_int_equal(count_events(), 1);
    assert_int_equal(number_of("select count(*) from hits where occurred_at < '2040-07-01'"), 0);
    assert_int_equal(number_of("select count(*) from pg_class where relname in ('events_2040_06', 'hits_2040_06')"), 0);
    assert_int_equal(number_of("select count(*) from hits"), 1);
    assert_int_equal(number_of("select count(*) from event_rollups"), 1);
    keep(1);
    tend(may_us + INT64_C(86400) * US_PER_S * 100); /* August 2040 */
    assert_int_equal(count_events(), 1);
    tend(may_us + INT64_C(86400) * US_PER_S * 130); /* September 2040 */
    assert_int_equal(count_events(), 0);
}

/* Old rows of partitions that hold several months are removed, in calls of limited size. */
static void test_old_rows_are_removed(void **state)
{
    (void)state;
    run_sql("insert into events (brand_id, occurred_at, domain, event_type)"
            " select %lld, '1999-01-01Z', 'email', 'sent' from generate_series(1, 5001)",
            (long long)work.brand_id);
    add_event("now");
    keep(12);
    tend(work.now_us);
    assert_int_equal(count_events(), 2);
    tend(work.now_us);
    assert_int_equal(count_events(), 1);
}

/* Rows without a partition move to one when their month has passed; they are found all the time. */
static void test_strays_move_after_their_month(void **state)
{
    (void)state;
    add_event("2040-05-01T00:00:00Z");
    add_event("2040-05-31T23:59:59Z");
    add_event("2040-06-02T00:00:00Z");
    tend(may_us);
    assert_int_equal(number_of("select count(*) from events_other"), 3);
    tend(may_us + INT64_C(86400) * US_PER_S * 20); /* June */
    assert_int_equal(number_of("select count(*) from events_other"), 1);
    assert_int_equal(number_of("select count(*) from events_2040_05"), 2);
    assert_int_equal(count_events(), 3);
    add_event("2040-05-15T00:00:00Z");
    assert_int_equal(number_of("select count(*) from events_2040_05"), 3);
}

/* A month that is read is dropped later, and nobody waits for it. */
static void test_a_month_that_is_read_stays(void **state)
{
    (void)state;
    struct error err;
    struct installation_config config = {
        .data_dir = folder,
        .database_url = cluster_url(arena, folder),
        .application_name = "posthorn reader",
    };
    struct installation *other = installation_new(&config);
    struct db_conn *reader;
    make(may_us);
    add_event("2040-06-01T00:00:00Z");
    keep(1);
    assert_ok(installation_connect(other, &reader, &err), &err);
    assert_ok(db_script(reader, "begin; select count(*) from events", &err), &err);
    tend(may_us + INT64_C(86400) * US_PER_S * 100);
    assert_int_equal(count_events(), 1);
    assert_ok(db_script(reader, "select count(*) from events; rollback", &err), &err);
    db_disconnect(reader);
    installation_free(other);
    tend(may_us + INT64_C(86400) * US_PER_S * 100);
    assert_int_equal(count_events(), 0);
}

static void test_kept_months_have_bounds(void **state)
{
    (void)state;
    struct error err;
    int64_t months;
    assert_false(months_keep(conn, arena, 0, &err));
    assert_false(months_keep(conn, arena, EVENTS_KEPT_MONTHS_MAX + 1, &err));
    assert_string_equal(err.param, "months");
    assert_ok(months_kept(conn, arena, &months, &err), &err);
    assert_int_equal(months, EVENTS_KEPT_MONTHS);
    keep(36);
    assert_ok(months_kept(conn, arena, &months, &err), &err);
    assert_int_equal(months, 36);
}

/* How many tables a plan reads. */
static int64_t tables_read(const char *condition)
{
    run_sql(
        "create or replace function pg_temp.tables_read() returns bigint language plpgsql as $$ declare line text; n bigint := 0;"
        "begin for line in execute 'explain (costs off) select * from events where %s' loop"
        " n := n + (line like '%%Scan%% on events%%')::int; end loop; return n; end $$",
        condition);
    return number_of("select pg_temp.tables_read()");
}

static void test_a_window_reads_its_months(void **state)
{
    (void)state;
    make(may_us);
    assert_true(tables_read("brand_id = 1") >= 4);
    assert_int_equal(tables_read("brand_id = 1 and occurred_at >= ''2040-06-02Z'' and occurred_at < ''2040-06-03Z''"), 1);
    assert_int_equal(tables_read("brand_id = 1 and occurred_at >= ''2040-06-02Z'' and occurred_at < ''2040-07-03Z''"), 2);
}

/* A worker makes those of the real clock without being asked. */
static void test_workers_make_them(void **state)
{
    (void)state;
    run_sql("do $$ declare name text; begin for name in select to_char(now() at time zone 'UTC' + make_interval(months => n),"
            " '\"events_\"YYYY\"_\"MM') from generate_series(1, 2) n loop execute format('drop table if exists %%I', name); end "
            "loop; end $$");
    int64_t before = number_of(partition_count);
    struct job_services services = { .outbox = outbox };
    struct workers *workers = workers_start(installation, &services, 1);
    int64_t until_us = clock_monotonic_us() + 90 * US_PER_S;
    while (number_of(partition_count) != before + 2 && clock_monotonic_us() < until_us)
        usleep(20000);
    workers_stop(workers);
    assert_int_equal(number_of(partition_count), before + 2);
}

#define MONTHS_TEST(function) cmocka_unit_test_setup_teardown(function, drop_made, world_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        MONTHS_TEST(test_the_time_before_has_one),
        MONTHS_TEST(test_two_months_are_made_ahead),
        MONTHS_TEST(test_a_month_with_strays_is_left_to_them),
        MONTHS_TEST(test_a_long_reader_is_not_waited_for),
        MONTHS_TEST(test_a_window_reads_its_months),
        MONTHS_TEST(test_workers_make_them),
        MONTHS_TEST(test_kept_months_have_bounds),
        MONTHS_TEST(test_old_rows_are_removed),
        /* These drop the partition of the time before. */
        MONTHS_TEST(test_strays_move_after_their_month),
        MONTHS_TEST(test_a_month_that_is_read_stays),
        MONTHS_TEST(test_old_months_are_dropped),
    };
    return cmocka_run_group_tests_name("engine_partitions", tests, world_begin, world_end);
}
