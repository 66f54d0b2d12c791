/* The connections of an installation. */
#include "fixtures/own_fail.h"

#include "fixtures/engine_fixture.h"

#include <unistd.h>

static const char sessions[] = "select count(*) from pg_stat_activity where application_name = 'posthorn connections'";

static struct installation *other_installation(void)
{
    struct installation_config config = {
        .data_dir = folder,
        .database_url = cluster_url(arena, folder),
        .application_name = "posthorn connections",
    };
    return installation_new(&config);
}

/* A session ends shortly after its connection. */
static void assert_sessions_end(void)
{
    for (int i = 0; i < 60000 && number_of(sessions) > 0; i++)
        usleep(1000);
    assert_int_equal(number_of(sessions), 0);
}

/* A command that makes one call has one session of the server: the one that loaded the engine. */
static void test_the_first_connection_has_opened_it(void **state)
{
    (void)state;
    struct error err;
    struct installation *other = other_installation();
    struct db_conn *first;
    struct db_conn *second;
    assert_ok(installation_connect(other, &first, &err), &err);
    assert_ok(installation_connect(other, &second, &err), &err);
    assert_true(db_round_trips(first) > 0);
    assert_int_equal(db_round_trips(second), 0);
    assert_int_not_equal(db_socket(first), db_socket(second));
    db_disconnect(first);
    db_disconnect(second);
    installation_free(other);
    assert_sessions_end();
}

/* An installation that was opened and never used closes its connection. */
static void test_an_unused_connection_is_closed(void **state)
{
    (void)state;
    struct error err;
    struct installation *other = other_installation();
    assert_ok(installation_open(other, &err), &err);
    assert_int_equal(number_of(sessions), 1);
    installation_free(other);
    assert_sessions_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_first_connection_has_opened_it, world_reset, world_leave),
        cmocka_unit_test_setup_teardown(test_an_unused_connection_is_closed, world_reset, world_leave),
    };
    return cmocka_run_group_tests_name("engine_installation", tests, world_begin, world_end);
}
