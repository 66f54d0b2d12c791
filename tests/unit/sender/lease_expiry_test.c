/*
 * Lease expiry: when the leases of a process are freed that has no connection any
 * more, and when they are left to the recovery of its journal.
 */
#include "fixtures/engine_fixture.h"

#include "sender/journal.h"
#include "sender/lease_expiry.h"

static struct journal_location location;
static struct lease_expiry expiry;

/* A process has a lease of a range and one of a retry. */
static int begin(void **state)
{
    int failed = world_reset(state);
    location = (struct journal_location){ .data_dir = folder, .installation = 1 };
    run_sql("insert into send_ranges (brand_id, send_id, from_ordinal, to_ordinal, next_ordinal, lease_owner, lease_until)"
            " values (%lld, 1, 1, 500, 1, 'sender', now() - interval '1 second');"
            "insert into send_retries (brand_id, send_id, ordinal, attempts, first_at, due_at, lease_owner, lease_until)"
            " values (%lld, 1, 501, 1, now(), now(), 'sender', now() - interval '1 second')",
            (long long)work.brand_id, (long long)work.brand_id);
    return failed;
}

static int leave(void **state)
{
    lease_expiry_end(&expiry);
    run_sql("delete from send_ranges; delete from send_retries");
    return world_leave(state);
}

static void run_passes(int count)
{
    struct error err;
    for (int i = 0; i < count; i++)
        assert_ok(lease_expiry_pass(&expiry, &location, conn, &err), &err);
}

static int64_t leases(void)
{
    return number_of("select (select count(*) from send_ranges where lease_owner is not null)"
                     "     + (select count(*) from send_retries where lease_owner is not null)");
}

static struct journal *open_journal(void)
{
    struct journal *journal;
    struct error err;
    assert_ok(journal_open(&location, "sender", &journal, &err), &err);
    return journal;
}

static void remove_journal(void)
{
    unlink(arena_printf(arena, "%s/journal/sender.1.journal", folder));
}

static void test_the_second_pass_frees_what_is_uncertain(void **state)
{
    (void)state;
    run_passes(1);
    assert_int_equal(leases(), 2);
    run_passes(1);
    assert_int_equal(leases(), 0);
    assert_int_equal(number_of("select count(*) from send_ranges where is_abandoned and lease_until is null"), 1);
    assert_int_equal(number_of("select count(*) from send_retries where uncertain and lease_until is null"), 1);
}

static void test_a_lease_lasts_its_time(void **state)
{
    (void)state;
    run_sql("update send_ranges set lease_until = now() + interval '1 minute'");
    run_passes(3);
    assert_int_equal(number_of("select count(*) from send_ranges where lease_owner = 'sender' and not is_abandoned"), 1);
    assert_int_equal(leases(), 1);
    run_sql("update send_ranges set lease_until = now() - interval '1 second'");
    run_passes(1);
    assert_int_equal(leases(), 0);
}

static void test_a_connected_process_keeps_its_leases(void **state)
{
    (void)state;
    struct error err;
    DB_CONN_SCOPE session = NULL;
    assert_ok(installation_connect(installation, &session, &err), &err);
    assert_ok(db_script(session, "set application_name = 'sender'", &err), &err);
    run_passes(3);
    assert_int_equal(leases(), 2);
}

static void test_a_process_that_connects_again_keeps_its_leases(void **state)
{
    (void)state;
    struct error err;
    DB_CONN_SCOPE session = NULL;
    run_passes(1);
    assert_ok(installation_connect(installation, &session, &err), &err);
    assert_ok(db_script(session, "set application_name = 'sender'", &err), &err);
    run_passes(1);
    assert_ok(db_script(session, "set application_name = 'another'", &err), &err);
    run_passes(1);
    assert_int_equal(leases(), 2);
    run_passes(1);
    assert_int_equal(leases(), 0);
}

static void test_a_journal_is_left_to_recovery(void **state)
{
    (void)state;
    journal_close(open_journal());
    run_passes(3);
    assert_int_equal(leases(), 2);
    remove_journal();
    run_passes(1);
    assert_int_equal(leases(), 0);
}

/* The process is killed: its connections end, then the kernel releases the lock on its journal. */
static void test_a_journal_that_becomes_readable_is_left_to_recovery(void **state)
{
    (void)state;
    struct journal *journal = open_journal();
    run_passes(1);
    journal_close(journal);
    run_passes(2);
    assert_int_equal(leases(), 2);
    remove_journal();
}

/* The process stands still, as on a machine that was suspended. */
static void test_a_locked_journal_keeps_no_leases(void **state)
{
    (void)state;
    struct journal *journal = open_journal();
    run_passes(2);
    assert_int_equal(leases(), 0);
    journal_remove(journal);
}

static void test_leases_of_one_process_among_many(void **state)
{
    (void)state;
    run_sql("insert into send_ranges (brand_id, send_id, from_ordinal, to_ordinal, next_ordinal, lease_owner, lease_until)"
            " select %lld, 2, n * 500 + 1, n * 500 + 500, n * 500 + 1, case n %% 3 when 0 then '%s' when 1 then 'sender' end,"
            "        case when n %% 3 < 2 then now() - interval '1 second' end from generate_series(0, 29) n",
            (long long)work.brand_id, installation_name(installation));
    run_passes(2);
    assert_int_equal(leases(), 10);
    assert_int_equal(number_of("select count(*) from send_ranges where is_abandoned"), 11);
}

#define EXPIRY_TEST(function) cmocka_unit_test_setup_teardown(function, begin, leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EXPIRY_TEST(test_the_second_pass_frees_what_is_uncertain),
        EXPIRY_TEST(test_a_lease_lasts_its_time),
        EXPIRY_TEST(test_a_connected_process_keeps_its_leases),
        EXPIRY_TEST(test_a_process_that_connects_again_keeps_its_leases),
        EXPIRY_TEST(test_a_journal_is_left_to_recovery),
        EXPIRY_TEST(test_a_journal_that_becomes_readable_is_left_to_recovery),
        EXPIRY_TEST(test_a_locked_journal_keeps_no_leases),
        EXPIRY_TEST(test_leases_of_one_process_among_many),
    };
    return cmocka_run_group_tests(tests, world_begin, world_end);
}
