/*
 * The cost of a lease: the rows that are read to find the next range or retry, beside many running sends without work that is due,
 * and among many that have work. The cost of the questions whose sends have leases, and which
 * processes with leases are gone.
 */
#include "fixtures/engine_fixture.h"

#include "engine/delivery/delivery.h"
#include "sql/activity.h"
#include "sql/leasing.h"

enum {
    BRANDS = 200,
    SENDS_OF_BRAND = 10,
    READS_PER_LEASE = 40, /* of a row of an index or of a table; the running sends are 2,000 */
    READS_PER_BRAND = 2,  /* the retry of a brand that comes first */
    READS_OF_CHOICE = 96, /* the sends of a brand among which one is chosen: 16 */
};

static int leave(void **state)
{
    run_sql("delete from send_retries; delete from send_ranges; delete from sends;"
            "delete from domains where brand_id in (select id from brands where name = 'Resting');"
            "delete from brands where name = 'Resting'");
    return world_leave(state);
}

/* Entries of the indexes for former versions of a row would be read, too. */
static void vacuum(void)
{
    run_sql("vacuum analyze sends");
    run_sql("vacuum analyze send_ranges");
    run_sql("vacuum analyze send_retries");
}

static int64_t rows_read(void)
{
    number_of("select 1::bigint from (select pg_stat_force_next_flush()) as flushed");
    return number_of("select (select (sum(idx_tup_read) + sum(idx_tup_fetch))::bigint from pg_stat_user_indexes"
                     "         where relname in ('sends', 'send_ranges', 'send_retries'))"
                     "     + (select sum(seq_tup_read)::bigint from pg_stat_user_tables"
                     "         where relname in ('sends', 'send_ranges', 'send_retries'))");
}

static void assert_few_reads(int64_t before, int64_t limit)
{
    int64_t reads = rows_read() - before;
    if (reads > limit)
        fail_msg("a lease read %lld rows of at most %lld", (long long)reads, (long long)limit);
}

/* Each brand has gradual sends whose next tranche is not due: the ranges of the last one are done. */
static int begin(void **state)
{
    if (world_reset(state) != 0)
        return -1;
    run_sql("insert into brands (organization_id, name, status, created_at, updated_at)"
            " select %lld, 'Resting', 'completed', now(), now() from generate_series(1, %d);"
            "insert into domains (brand_id, organization_id, name, kind, status, sending_purpose, created_at, updated_at)"
            " select id, organization_id, 'sandbox.example', 'sandbox', 'verified', 'marketing', now(), now()"
            "   from brands where name = 'Resting'",
            (long long)work.organization_id, BRANDS);
    run_sql("insert into sends (brand_id, kind, message_class, email_id, email_version_id, status, subject, subject_code,"
            "                   from_address, domain_id, target, target_hash, created_at, updated_at)"
            " select b.id, 'campaign', 'marketing', 1, 1, 'running', 'Hi', '', 'a@b.example', d.id, 'all', '', now(), now()"
            "   from brands b join domains d on d.brand_id = b.id, generate_series(1, %d) where b.name = 'Resting';"
            "insert into send_ranges (brand_id, send_id, from_ordinal, to_ordinal, next_ordinal)"
            " select brand_id, id, f, f + 499, f + 500 from sends, generate_series(1, 1001, 500) f;"
            "analyze domains",
            SENDS_OF_BRAND);
    vacuum();
    return 0;
}

#undef TEST
#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, leave)

/* Takes a range within these reads, and gives its brand; 0 when there is none. */
static int64_t brand_for(const struct delivery_lease_request *request, int64_t reads)
{
    struct delivery_batch batch = { .brand_id = 0 };
    struct error err;
    bool found;
    int64_t before = rows_read();
    assert_ok(delivery_take_range(&work, request, &batch, &found, &err), &err);
    assert_few_reads(before, reads);
    return found ? batch.brand_id : 0;
}

static int64_t brand_of_range(int64_t after_brand, int64_t reads)
{
    static const int64_t places[] = { 0, 1, 2, 3 };
    struct delivery_lease_request request = { .owner = "me", .after_brand = after_brand, .places = { places, 4 } };
    return brand_for(&request, reads);
}

static int64_t brand_of_retries(int64_t after_brand, int64_t reads)
{
    static const int64_t places[] = { 0, 1, 2, 3 };
    struct delivery_lease_request request = { .owner = "me", .after_brand = after_brand, .places = { places, 4 } };
    struct delivery_batch batch = { .brand_id = 0 };
    struct error err;
    bool found;
    int64_t before = rows_read();
    assert_ok(delivery_take_retries(&work, &request, &batch, &found, &err), &err);
    assert_few_reads(before, reads);
    return found ? batch.brand_id : 0;
}

static int64_t first_brand(void)
{
    return number_of("select min(id) from brands where name = 'Resting'");
}

/* ---- Ranges ---- */

static void test_a_range_is_found_beside_resting_sends(void **state)
{
    (void)state;
    int64_t busy = first_brand() + BRANDS / 2;
    assert_int_equal(brand_of_range(busy, READS_PER_LEASE), 0);
    run_sql("update send_ranges set next_ordinal = from_ordinal where from_ordinal = 1001"
            "   and send_id = (select max(id) from sends where brand_id = %lld)",
            (long long)busy);
    for (int64_t after = busy - 1; after <= busy + 1; after++) {
        assert_int_equal(brand_of_range(after, READS_PER_LEASE), busy);
        run_sql("update send_ranges set lease_owner = null where lease_owner = 'me'");
    }
}

/* After the last brand comes the first. The brands behind one that has a range are not visited. */
static void test_brands_are_visited_in_their_turn(void **state)
{
    (void)state;
    int64_t first = first_brand();
    run_sql("update send_ranges set next_ordinal = from_ordinal");
    vacuum();
    int64_t limit = READS_PER_LEASE + 10 * 3 * SENDS_OF_BRAND;
    assert_int_equal(brand_of_range(0, limit), first);
    assert_int_equal(brand_of_range(first, limit), first + 1);
    assert_int_equal(brand_of_range(first + BRANDS - 2, limit), first + BRANDS - 1);
    assert_int_equal(brand_of_range(first + BRANDS - 1, limit), first);
}

/* Marketing mail of a brand whose turn it is waits for transactional mail of any other. */
static void test_urgent_sends_are_found_at_once(void **state)
{
    (void)state;
    int64_t first = first_brand();
    run_sql("update send_ranges set next_ordinal = from_ordinal where from_ordinal = 1001;"
            "update sends set message_class = 'transactional' where brand_id = %lld",
            (long long)first);
    vacuum();
    assert_int_equal(brand_of_range(first + 1, READS_PER_LEASE + 10 * SENDS_OF_BRAND), first);
}

/* A send that was canceled keeps its open ranges. */
static void test_canceled_sends_are_passed_over(void **state)
{
    (void)state;
    int64_t first = first_brand();
    run_sql("update sends set brand_id = %1$lld, domain_id = (select id from domains where brand_id = %1$lld),"
            "       status = 'canceled' where brand_id > %1$lld;"
            "update send_ranges set brand_id = %1$lld where brand_id > %1$lld;"
            "update send_ranges set next_ordinal = from_ordinal where send_id > (select min(id) + %2$d from sends);"
            "update sends set status = 'running' where id = (select max(id) from sends)",
            (long long)first, SENDS_OF_BRAND);
    vacuum();
    assert_int_equal(brand_of_range(0, READS_PER_LEASE), first);
    run_sql("update sends set status = 'canceled'");
    assert_int_equal(brand_of_range(0, READS_PER_LEASE), 0);
}

/* ---- Many sends of one brand ---- */

/* The first brand has the sends of all but the last. Every send has an open range. */
static void gather_sends(int64_t first)
{
    run_sql(
        "update sends set brand_id = %1$lld, domain_id = (select id from domains where brand_id = %1$lld) where brand_id < %2$lld;"
        "update send_ranges set brand_id = %1$lld where brand_id < %2$lld;"
        "update send_ranges set next_ordinal = from_ordinal where from_ordinal = 1001",
        (long long)first, (long long)first + BRANDS - 1);
    vacuum();
}

/* As after a vacuum of tables that were emptied. */
static void forget_statistics(void)
{
    run_sql("delete from pg_statistic where starelid in ('sends'::regclass, 'send_ranges'::regclass);"
            "update pg_class set relpages = 1, reltuples = 0, relallvisible = 0"
            " where oid in ('sends'::regclass, 'send_ranges'::regclass) or oid in"
            "       (select indexrelid from pg_index where indrelid in ('sends'::regclass, 'send_ranges'::regclass))");
}

static void assert_leases_are_cheap(int64_t first)
{
    for (int i = 0; i < 6; i++) {
        assert_int_equal(brand_of_range(0, READS_PER_LEASE + READS_OF_CHOICE), first);
        assert_int_equal(brand_of_range(first, READS_PER_LEASE + READS_OF_CHOICE), first + BRANDS - 1);
    }
    run_sql("update send_ranges set lease_owner = null");
    vacuum();
}

static void test_a_brand_with_many_open_sends(void **state)
{
    (void)state;
    int64_t first = first_brand();
    gather_sends(first);
    run_sql("select setseed(0.5)");
    assert_leases_are_cheap(first);
    forget_statistics();
    assert_leases_are_cheap(first);
}

static void test_a_brand_with_many_urgent_sends(void **state)
{
    (void)state;
    int64_t first = first_brand();
    gather_sends(first);
    run_sql("update sends set message_class = 'transactional'; select setseed(0.5)");
    vacuum();
    assert_leases_are_cheap(first);
    forget_statistics();
    assert_leases_are_cheap(first);
}

/* The queue has enough mail of the brand for the sandbox, and room for that to relays. */
static void test_many_sends_that_have_no_room(void **state)
{
    (void)state;
    static const int64_t places[] = { DELIVERY_CAPTURED, DELIVERY_RELAYED };
    int64_t first = first_brand();
    const int64_t full[] = { first * DELIVERY_PLACES + DELIVERY_CAPTURED };
    struct delivery_lease_request request = { .owner = "me", .places = { places, 2 }, .full = { full, 1 } };
    gather_sends(first);
    assert_int_equal(brand_for(&request, 2 * READS_PER_LEASE), first + BRANDS - 1);
    run_sql("insert into domains (brand_id, organization_id, name, kind, status, sending_purpose, created_at, updated_at)"
            " select id, organization_id, 'sending.example', 'sending', 'pending', 'marketing', now(), now() from brands where id "
            "= %lld;"
            "update sends set domain_id = (select id from domains where name = 'sending.example') where id = (select min(id) + "
            "1000 from sends)",
            (long long)first);
    vacuum();
    assert_int_equal(brand_for(&request, 2 * READS_PER_LEASE), first);
    assert_int_equal(number_of("select send_id - (select min(id) from sends) from send_ranges"
                               " where lease_owner = 'me' and brand_id = (select min(id) from brands where name = 'Resting')"),
                     1000);
}

/* Also those before the place where the walk begins. */
static void test_each_send_is_found(void **state)
{
    (void)state;
    enum { OPEN = 39 };
    int64_t first = first_brand();
    gather_sends(first);
    run_sql("update send_ranges set next_ordinal = to_ordinal + 1 where send_id %% 50 <> 0; select setseed(0.5);"
            "delete from send_ranges where brand_id <> %lld",
            (long long)first);
    assert_int_equal(number_of("select count(*) from send_ranges where next_ordinal <= to_ordinal"), OPEN);
    for (int i = 0; i < OPEN; i++)
        assert_int_equal(brand_of_range(0, INT64_MAX), first);
    assert_int_equal(brand_of_range(0, INT64_MAX), 0);
}

/* Processes begin anywhere. The oldest sends do not wait for all that come after them. */
static void test_leases_are_spread_over_the_sends(void **state)
{
    (void)state;
    enum { LEASES = 60 };
    int64_t first = first_brand();
    gather_sends(first);
    run_sql("select setseed(0.5)");
    for (int i = 0; i < LEASES; i++)
        assert_int_equal(brand_of_range(0, INT64_MAX), first);
    assert_in_range(number_of("select count(*) from send_ranges where lease_owner = 'me'"
                              "   and send_id < (select min(id) from sends) + 80"),
                    LEASES / 4, LEASES - 1);
    assert_in_range(number_of("select count(*) from send_ranges where lease_owner = 'me'"
                              "   and send_id >= (select min(id) from sends) + 1000"),
                    LEASES / 12, LEASES - 1);
}

/* ---- Whose sends have leases ---- */

static size_t delivering_organizations(void)
{
    struct error err;
    struct delivering_organizations_row *rows;
    size_t count;
    int64_t before = rows_read();
    assert_ok(sql_delivering_organizations(conn, arena, &rows, &count, &err), &err);
    assert_few_reads(before, READS_PER_LEASE);
    return count;
}

static size_t gone_owners(void)
{
    struct delivery_gone_owners_row *rows;
    struct error err;
    size_t count;
    int64_t before = rows_read();
    assert_ok(sql_delivery_gone_owners(conn, arena, &rows, &count, &err), &err);
    assert_few_reads(before, READS_PER_LEASE);
    return count;
}

/* Two processes have many leases. */
static void test_leases_of_many_sends_are_found_at_once(void **state)
{
    (void)state;
    gather_sends(first_brand());
    assert_int_equal(delivering_organizations(), 0);
    run_sql("update send_ranges set lease_until = now() + interval '1 hour',"
            "       lease_owner = case when send_id %% 2 = 0 then 'me' else 'another' end where from_ordinal = 1001");
    vacuum();
    assert_int_equal(delivering_organizations(), 1);
    assert_int_equal(gone_owners(), 2);
    forget_statistics();
    assert_int_equal(delivering_organizations(), 1);
    assert_int_equal(gone_owners(), 2);
}

/* A lease has ended, a send is canceled, a range is of an automation. */
static void test_leases_without_delivery(void **state)
{
    (void)state;
    run_sql("update send_ranges set next_ordinal = from_ordinal, lease_owner = 'me', lease_until = now() + interval '1 hour'"
            " where from_ordinal = 1001 and send_id = (select max(id) from sends)");
    assert_int_equal(delivering_organizations(), 1);
    run_sql("update send_ranges set is_carrier = true where lease_owner = 'me'");
    assert_int_equal(delivering_organizations(), 0);
    run_sql("update send_ranges set is_carrier = false, lease_until = now() - interval '1 second' where lease_owner = 'me'");
    assert_int_equal(delivering_organizations(), 0);
    run_sql("update send_ranges set lease_until = now() + interval '1 hour' where lease_owner = 'me';"
            "update sends set status = 'canceled' where id = (select max(id) from sends)");
    assert_int_equal(delivering_organizations(), 0);
}

/* ---- Retries ---- */

static void test_a_retry_is_found_beside_retries_that_wait(void **state)
{
    (void)state;
    int64_t first = first_brand();
    int64_t due = first + BRANDS / 2;
    run_sql("insert into send_retries (brand_id, send_id, ordinal, attempts, first_at, due_at)"
            " select brand_id, id, n, 1, now(), now() + interval '1 hour' from sends, generate_series(1, 3) n");
    vacuum();
    assert_int_equal(brand_of_retries(due, READS_PER_LEASE + READS_PER_BRAND * BRANDS), 0);
    run_sql("update send_retries set due_at = now() - interval '1 minute' where ordinal = 2"
            "   and send_id = (select max(id) from sends where brand_id = %lld)",
            (long long)due);
    assert_int_equal(brand_of_retries(due - 1, READS_PER_LEASE + 10 * SENDS_OF_BRAND), due);
    run_sql("update send_retries set lease_owner = null where lease_owner = 'me'");
    assert_int_equal(brand_of_retries(due, READS_PER_LEASE + 10 * SENDS_OF_BRAND + READS_PER_BRAND * BRANDS), due);
}

/* Retries of the brand that have waited longer, of a send that was canceled, are not read. */
static void test_retries_of_canceled_sends_are_passed_over(void **state)
{
    (void)state;
    int64_t first = first_brand();
    run_sql("insert into send_retries (brand_id, send_id, ordinal, attempts, first_at, due_at)"
            " select brand_id, id, n, 1, now(), now() - interval '1 hour' from sends, generate_series(1, 1000) n"
            "  where id = (select min(id) from sends);"
            "insert into send_retries (brand_id, send_id, ordinal, attempts, first_at, due_at)"
            " select brand_id, id, 1, 1, now(), now() - interval '1 minute' from sends where brand_id = %lld and id > (select "
            "min(id) from sends);"
            "update sends set status = 'canceled' where id = (select min(id) from sends)",
            (long long)first);
    vacuum();
    run_sql("delete from pg_statistic where starelid = 'send_retries'::regclass");
    assert_int_equal(brand_of_retries(0, READS_PER_LEASE + 10 * SENDS_OF_BRAND), first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_range_is_found_beside_resting_sends),
        TEST(test_brands_are_visited_in_their_turn),
        TEST(test_urgent_sends_are_found_at_once),
        TEST(test_canceled_sends_are_passed_over),
        TEST(test_a_brand_with_many_open_sends),
        TEST(test_a_brand_with_many_urgent_sends),
        TEST(test_many_sends_that_have_no_room),
        TEST(test_each_send_is_found),
        TEST(test_leases_are_spread_over_the_sends),
        TEST(test_leases_of_many_sends_are_found_at_once),
        TEST(test_leases_without_delivery),
        TEST(test_a_retry_is_found_beside_retries_that_wait),
        TEST(test_retries_of_canceled_sends_are_passed_over),
    };
    return cmocka_run_group_tests(tests, world_begin, world_end);
}
