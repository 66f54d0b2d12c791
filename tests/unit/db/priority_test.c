/* The priority of the server's processes, and the number of processes for a query. */
#include "fixtures/private_db.h"

#include <sys/resource.h>
#include <unistd.h>

enum { LOW_NICE = 10, MAX_NICE = 19, TRIES = 200, PAUSE_US = 20000 };

PLAIN_COMMAND(end_session, "select pg_terminate_backend(pg_backend_pid())");
NUMBER_QUERY(processes_of_query, "select current_setting('max_parallel_workers_per_gather')::bigint", 0);

static int64_t number_on(struct db_conn *on, const struct db_statement *statement)
{
    struct error err;
    struct db_rows rows;
    assert_ok(db_run(on, arena, statement, NULL, &rows, &err), &err);
    return ((struct number *)rows.rows)->value;
}

static int nice_on(struct db_conn *on)
{
    return getpriority(PRIO_PROCESS, (id_t)number_on(on, &backend_pid));
}

/* The kernel may ask to try again a while later, and the connection does so at its next use. */
static void await_nice(struct db_conn *on, int wanted)
{
    for (int i = 0; i < TRIES && nice_on(on) != wanted; i++)
        usleep(PAUSE_US);
    assert_int_equal(nice_on(on), wanted);
}

static struct db *database(bool is_private)
{
    struct db_config config = { .url = cluster_url(arena, folder), .application_name = "unit_test", .is_private = is_private };
    return db_new(&config);
}

static void drop_session(struct db_conn *on)
{
    struct error err = { .code = ERR_NONE };
    assert_false(db_run(on, arena, &end_session, NULL, NULL, &err));
}

static void test_a_process_of_a_private_server_is_lowered(void **state)
{
    (void)state;
    struct error err;
    struct db *own = database(true);
    struct db_conn *low;
    assert_ok(db_connect(own, 1000, &low, &err), &err);
    int before = nice_on(conn);
    int lowered = before + LOW_NICE < MAX_NICE ? before + LOW_NICE : MAX_NICE;
    assert_int_equal(nice_on(low), before);
    db_lower_priority(low);
    await_nice(low, lowered);
    drop_session(low);
    await_nice(low, lowered);
    assert_int_equal(nice_on(conn), before);
    db_disconnect(low);
    db_free(own);
}

static void test_a_process_of_another_server_is_left_alone(void **state)
{
    (void)state;
    struct error err;
    struct db *named = database(false);
    struct db_conn *plain;
    assert_ok(db_connect(named, 1000, &plain, &err), &err);
    db_lower_priority(plain);
    assert_int_equal(nice_on(plain), nice_on(conn));
    drop_session(plain);
    assert_int_equal(nice_on(plain), nice_on(conn));
    db_disconnect(plain);
    db_free(named);
}

static void test_a_query_has_one_process_until_allowed(void **state)
{
    (void)state;
    struct error err;
    int64_t usual = number_on(conn, &processes_of_query);
    assert_true(usual > 0);
    assert_ok(db_allow_parallel(conn, false, &err), &err);
    assert_int_equal(number_on(conn, &processes_of_query), 0);
    drop_session(conn);
    assert_int_equal(number_on(conn, &processes_of_query), 0);
    uint64_t trips = db_round_trips(conn);
    assert_ok(db_allow_parallel(conn, false, &err), &err);
    assert_int_equal(db_round_trips(conn), trips);
    assert_ok(db_allow_parallel(conn, true, &err), &err);
    assert_int_equal(number_on(conn, &processes_of_query), usual);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_process_of_a_private_server_is_lowered),
        TEST(test_a_process_of_another_server_is_left_alone),
        TEST(test_a_query_has_one_process_until_allowed),
    };
    return cmocka_run_group_tests_name("db: priority", tests, group_setup, group_teardown);
}
