/*
 * Migrations: applied once, also when several processes start them, completely or not
 * at all. A newer schema is refused.
 */
#include "fixtures/private_db.h"

#include "db/migrate.h"

#include <pthread.h>
#include <string.h>

/* The migrations of this test; the program's own are compiled in elsewhere. */
const struct db_migration db_migrations[] = {
    { 1, "first", "create table colours (name text primary key); insert into colours values ('red');" },
    { 2, "second", "-- a comment at the end\ninsert into colours values ('blue') -- and here" },
};
const size_t db_migration_count = ARRAY_COUNT(db_migrations);

NUMBER_QUERY(count_colours, "select count(*) from posthorn.colours", 0);

static int64_t colour_count(void)
{
    struct error err;
    struct db_rows rows;
    assert_ok(db_run(conn, arena, &count_colours, NULL, &rows, &err), &err);
    return ((struct number *)rows.rows)->value;
}

static void *migrate_in_thread(void *unused)
{
    (void)unused;
    static const char *const went_wrong = "wrong";
    struct error err = { .code = ERR_NONE };
    DB_CONN_SCOPE mine = NULL;
    int version;
    bool ok = db_connect(db, 0, &mine, &err) && db_migrate(mine, &version, &err) && version == 2;
    return ok ? NULL : (void *)(uintptr_t)went_wrong;
}

static void test_migrations(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    int version;
    assert_ok(db_script(conn, "drop schema posthorn cascade", &err), &err);
    assert_ok(db_schema_version(conn, &version, &err), &err);
    assert_int_equal(version, 0);

    pthread_t threads[4];
    for (size_t i = 0; i < ARRAY_COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, migrate_in_thread, NULL), 0);
    for (size_t i = 0; i < ARRAY_COUNT(threads); i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    assert_int_equal(colour_count(), 2);
    uint64_t before = db_round_trips(conn);
    assert_ok(db_migrate(conn, &version, &err), &err);
    assert_int_equal(version, db_schema_version_newest());
    assert_int_equal(colour_count(), 2);
    assert_true(db_round_trips(conn) <= before + 3);

    assert_ok(db_script(conn, "insert into schema_migrations (number, title) values (3, 'future')", &err), &err);
    assert_false(db_migrate(conn, &version, &err));
    assert_string_equal(err.message,
                        "The database has schema version 3, but this program supports only up to version 2. Use a newer Posthorn.");
}

static void test_failing_migration_keeps_nothing(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    int version;
    /* The second migration meets a row that is there already. */
    assert_ok(db_script(conn, "delete from schema_migrations where number > 1", &err), &err);
    assert_false(db_migrate(conn, &version, &err));
    assert_string_equal(err.message, "Migration 0002_second failed; none of its changes were saved.");
    assert_ok(db_schema_version(conn, &version, &err), &err);
    assert_int_equal(version, 1);
    assert_false(db_in_transaction(conn));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_migrations),
        TEST(test_failing_migration_keeps_nothing),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
