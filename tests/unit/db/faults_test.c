/* Database faults: a server that ends and starts again, cancelled statements, notifications and COPY. */
#include "fixtures/private_db.h"
#include "fixtures/server_pid.h"

#include "base/clock.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

PLAIN_COMMAND(sleep_long, "select pg_sleep(15)");
NUMBER_QUERY(sleepers, "select count(*) from pg_stat_activity where query = 'select pg_sleep(15)' and state = 'active'", 0);
PLAIN_COMMAND(end_session, "select pg_terminate_backend(pg_backend_pid())");
NUMBER_QUERY(quick_series, "select generate_series(1, $1) from pg_sleep(0.004)", 1);
NUMBER_QUERY(slow_series, "select generate_series(1, $1) from pg_sleep(0.3)", 1);

/* ---- Going away and coming back ---- */

static void restart_server(void)
{
    struct error err;
    cluster_stop(cluster, 5000);
    assert_ok(cluster_start(folder, &cluster, &err), &err);
}

static void test_reconnects_after_restart(void **state)
{
    (void)state;
    struct error err;
    fresh_items();
    assert_int_equal(item_count(), 0);
    restart_server();
    /* An idle connection notices before it sends, so its caller does not. */
    assert_int_equal(item_count(), 0);
    assert_ok(db_run(conn, arena, &add_item, &(struct number){ 1 }, NULL, &err), &err);
}

static void test_lost_underway_is_retryable(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    fresh_items();
    {
        DB_TX tx;
        assert_ok(db_tx_begin(conn, &tx, &err), &err);
        assert_ok(db_run(conn, arena, &add_item, &(struct number){ 1 }, NULL, &err), &err);
        assert_false(db_run(conn, arena, &end_session, NULL, NULL, &err));
        assert_int_equal(err.code, ERR_SERVICE_UNAVAILABLE);
        assert_true(err.retry_after_s > 0);
        /* The rest of a lost transaction must not run outside it. */
        assert_false(db_run(conn, arena, &add_item, &(struct number){ 2 }, NULL, &err));
        assert_int_equal(err.code, ERR_SERVICE_UNAVAILABLE);
        assert_false(db_tx_commit(&tx, &err));
    }
    assert_int_equal(item_count(), 0);
}

static void test_stopped_server_fails_fast(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    cluster_stop(cluster, 5000);
    cluster = NULL;
    int waited = 0;
    for (int i = 0; i < 2000; i++) {
        error_clear(&err);
        assert_false(db_run(conn, arena, &backend_pid, NULL, NULL, &err));
        assert_int_equal(err.code, ERR_SERVICE_UNAVAILABLE);
        waited += strstr(err.cause, "waiting before the next try") != NULL;
    }
    /* Back-off: most of these did not even try. */
    assert_in_range(waited, 1900, 1999);
    assert_int_equal(db_socket(conn), -1);

    assert_ok(cluster_start(folder, &cluster, &err), &err);
    int64_t deadline_us = clock_monotonic_us() + 60 * US_PER_S;
    while (!db_run(conn, arena, &backend_pid, NULL, NULL, &err)) {
        assert_true(clock_monotonic_us() < deadline_us);
        usleep(20000);
    }
}

static _Atomic int reached;
static bool start_again(void *data, struct error *err)
{
    assert_ptr_equal(data, &reached);
    reached++;
    return cluster != NULL || cluster_start(folder, &cluster, err);
}

static void test_reach_brings_the_server_back(void **state)
{
    (void)state;
    struct error err;
    struct db_config config = { .url = cluster_url(arena, folder), .reach = start_again, .reach_data = &reached };
    struct db *reaching = db_new(&config);
    {
        DB_CONN_SCOPE mine = NULL;
        assert_ok(db_connect(reaching, 0, &mine, &err), &err);
        assert_int_equal(reached, 0);
        cluster_stop(cluster, 5000);
        cluster = NULL;
        assert_ok(db_run(mine, arena, &backend_pid, NULL, NULL, &err), &err);
        assert_int_equal(reached, 1);
    }
    db_free(reaching);
}

static _Atomic bool served;
static bool says_served(void *data)
{
    assert_ptr_equal(data, &reached);
    return served;
}

static bool serve_again(void *data, struct error *err)
{
    (void)err;
    assert_ptr_equal(data, &reached);
    reached++;
    served = true;
    return true;
}

/* A connection leaves a server that has lost its owner process but still answers. It does not leave during a transaction. */
static void test_unowned_server_is_reached_again(void **state)
{
    (void)state;
    struct error err;
    struct db_config config = {
        .url = cluster_url(arena, folder), .reach = serve_again, .is_served = says_served, .reach_data = &reached
    };
    struct db *reaching = db_new(&config);
    reached = 0;
    served = false;
    {
        DB_CONN_SCOPE mine = NULL;
        assert_ok(db_connect(reaching, 0, &mine, &err), &err);
        assert_int_equal(reached, 1);
        assert_ok(db_run(mine, arena, &backend_pid, NULL, NULL, &err), &err);
        assert_int_equal(reached, 1);
        served = false;
        assert_ok(db_run(mine, arena, &backend_pid, NULL, NULL, &err), &err);
        assert_int_equal(reached, 2);
        DB_TX tx;
        assert_ok(db_tx_begin(mine, &tx, &err), &err);
        assert_ok(db_run(mine, arena, &backend_pid, NULL, NULL, &err), &err);
        served = false;
        assert_ok(db_run(mine, arena, &backend_pid, NULL, NULL, &err), &err);
        assert_ok(db_tx_commit(&tx, &err), &err);
        assert_int_equal(reached, 2);
    }
    db_free(reaching);
}

/* ---- Cancelling ---- */

/* Returns once the long statement runs. */
static void await_sleepers(void)
{
    struct error err = { .code = ERR_NONE };
    DB_CONN_SCOPE other = NULL;
    bool ok = db_connect(db, 1000, &other, &err);
    for (int64_t running = 0; ok && running == 0;) {
        ARENA_SCOPE scratch = arena_new(0);
        struct db_rows rows;
        ok = db_run(other, scratch, &sleepers, NULL, &rows, &err);
        running = ok ? ((struct number *)rows.rows)->value : 0;
    }
}

static void *cancel_once(void *data)
{
    db_cancel(data);
    return NULL;
}

/* Cancels the statement once it runs. */
static void *cancel_running(void *data)
{
    await_sleepers();
    db_cancel(data);
    return NULL;
}

static void test_cancel_stops_a_statement(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    pthread_t canceller;
    assert_int_equal(pthread_create(&canceller, NULL, cancel_running, conn), 0);
    assert_false(db_run(conn, arena, &sleep_long, NULL, NULL, &err));
    assert_true(db_error_is_canceled(&err));
    assert_false(db_error_is_retryable(&err));
    pthread_join(canceller, NULL);
    assert_ok(db_run(conn, arena, &backend_pid, NULL, NULL, &err), &err);
    /* Nothing runs: nothing happens. */
    db_cancel(conn);
    assert_ok(db_run(conn, arena, &backend_pid, NULL, NULL, &err), &err);
}

static void *run_long_statement(void *data)
{
    struct error *err = data;
    ARENA_SCOPE scratch = arena_new(0);
    return db_run(conn, scratch, &sleep_long, NULL, NULL, err) ? conn : NULL;
}

/* Cancels while the server takes no connections, as when the network is lost: the caller goes on. */
static void test_cancel_does_not_wait_for_the_server(void **state)
{
    (void)state;
    struct error statement_err = { .code = ERR_NONE };
    pthread_t runner, canceller;
    void *succeeded;
    struct timespec deadline;
    assert_int_equal(pthread_create(&runner, NULL, run_long_statement, &statement_err), 0);
    await_sleepers();
    kill(server_pid_in(folder), SIGSTOP);
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += 10;
    assert_int_equal(pthread_create(&canceller, NULL, cancel_once, conn), 0);
    int late = pthread_timedjoin_np(canceller, NULL, &deadline);
    kill(server_pid_in(folder), SIGCONT);
    if (late != 0)
        pthread_join(canceller, NULL);
    pthread_join(runner, &succeeded);
    assert_int_equal(late, 0);
    assert_null(succeeded);
    assert_true(db_error_is_canceled(&statement_err));
}

static _Atomic bool cancelling;
static void *cancel_always(void *data)
{
    while (cancelling)
        db_cancel(data);
    return NULL;
}

/* However the request meets the statement, the statement ends canceled or whole, and the connection stays good. */
static void test_cancel_at_any_moment(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    pthread_t canceller;
    cancelling = true;
    assert_int_equal(pthread_create(&canceller, NULL, cancel_always, conn), 0);
    int canceled = 0;
    /* Every second statement is longer than a request needs. On a busy machine it may need more than 20 statements. */
    for (int i = 0; i < 20 || canceled == 0; i++) {
        struct db_rows rows;
        error_clear(&err);
        bool ok = db_run(conn, arena, i % 2 == 0 ? &quick_series : &slow_series, &(struct number){ 200 }, &rows, &err);
        assert_true(ok ? rows.count == 200 : db_error_is_canceled(&err));
        canceled += !ok;
    }
    cancelling = false;
    pthread_join(canceller, NULL);
    assert_ok(db_run(conn, arena, &backend_pid, NULL, NULL, &err), &err);
}

/* ---- Notifications and COPY ---- */

enum { NOTICE_WAIT_MS = 60 * 1000 };

static void test_notifications(void **state)
{
    (void)state;
    struct error err;
    bool got;
    struct db_notice notice;
    assert_ok(db_listen(conn, "jobs", &err), &err);
    DB_CONN_SCOPE other = NULL;
    assert_ok(db_connect(db, 0, &other, &err), &err);
    assert_ok(db_notice_take(conn, arena, 0, &got, &notice, &err), &err);
    assert_false(got);

    assert_ok(db_script(other, "notify jobs, 'one'; notify jobs, 'two'", &err), &err);
    assert_ok(db_notice_take(conn, arena, NOTICE_WAIT_MS, &got, &notice, &err), &err);
    assert_true(got);
    assert_string_equal(notice.channel, "jobs");
    assert_string_equal(notice.payload, "one");
    assert_ok(db_notice_take(conn, arena, NOTICE_WAIT_MS, &got, &notice, &err), &err);
    assert_true(got);
    assert_string_equal(notice.payload, "two");

    int64_t start_us = clock_monotonic_us();
    assert_ok(db_notice_take(conn, arena, 60, &got, &notice, &err), &err);
    assert_false(got);
    assert_true(clock_monotonic_us() - start_us >= 60 * US_PER_MS);
}

static void test_listening_survives_a_restart(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    bool got;
    struct db_notice notice;
    assert_ok(db_listen(conn, "jobs", &err), &err);
    restart_server();
    assert_false(db_notice_take(conn, arena, 1000, &got, &notice, &err));
    assert_int_equal(err.code, ERR_SERVICE_UNAVAILABLE);
    assert_ok(db_notice_take(conn, arena, 0, &got, &notice, &err), &err);

    DB_CONN_SCOPE other = NULL;
    assert_ok(db_connect(db, 0, &other, &err), &err);
    assert_ok(db_script(other, "notify jobs, 'again'", &err), &err);
    assert_ok(db_notice_take(conn, arena, NOTICE_WAIT_MS, &got, &notice, &err), &err);
    assert_true(got);
    assert_string_equal(notice.payload, "again");
}

static void test_copy(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    fresh_items();
    int64_t copied = 0;
    assert_ok(db_copy_begin(conn, "copy items (id) from stdin", &err), &err);
    for (int i = 0; i < 5000; i++) {
        char line[16];
        int length = snprintf(line, sizeof(line), "%d\n", i);
        assert_ok(db_copy_put(conn, line, (size_t)length, &err), &err);
    }
    assert_ok(db_copy_end(conn, &copied, &err), &err);
    assert_int_equal(copied, 5000);
    assert_int_equal(item_count(), 5000);

    assert_ok(db_copy_begin(conn, "copy items (id) from stdin", &err), &err);
    assert_ok(db_copy_put(conn, "no number\n", 10, &err), &err);
    assert_false(db_copy_end(conn, &copied, &err));
    assert_string_equal(err.sqlstate, "22P02");
    assert_int_equal(item_count(), 5000);

    assert_false(db_copy_begin(conn, "copy no_such_table from stdin", &err));
    assert_false(db_copy_begin(conn, "select 1", &err));
    assert_int_equal(item_count(), 5000);
}

static bool copy_and_return_early(struct error *err)
{
    DB_TX tx;
    if (!db_tx_begin(conn, &tx, err) || !db_copy_begin(conn, "copy items (id) from stdin", err))
        return false;
    return db_copy_put(conn, "1\n", 2, err);
}

static void test_abandoned_copy_keeps_nothing(void **state)
{
    (void)state;
    struct error err;
    fresh_items();
    assert_ok(copy_and_return_early(&err), &err);
    assert_int_equal(item_count(), 0);
    assert_ok(db_copy_begin(conn, "copy items (id) from stdin", &err), &err);
    assert_ok(db_copy_put(conn, "1\n", 2, &err), &err);
    assert_int_equal(item_count(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_reconnects_after_restart),
        TEST(test_lost_underway_is_retryable),
        TEST(test_stopped_server_fails_fast),
        TEST(test_reach_brings_the_server_back),
        TEST(test_unowned_server_is_reached_again),
        TEST(test_cancel_stops_a_statement),
        TEST(test_cancel_does_not_wait_for_the_server),
        TEST(test_cancel_at_any_moment),
        TEST(test_notifications),
        TEST(test_listening_survives_a_restart),
        TEST(test_copy),
        TEST(test_abandoned_copy_keeps_nothing),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
