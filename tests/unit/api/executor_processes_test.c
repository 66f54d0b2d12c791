/* The server processes of the queries of slow calls: several only for a call that nobody else competes with. */
#include "fixtures/private_db.h"

#include "api/dispatch/activity.h"
#include "api/dispatch/dispatch.h"
#include "api/dispatch/executor.h"
#include "base/clock.h"

#include <pthread.h>
#include <string.h>

enum { MAX_CALLS = 4, WAIT_S = 60, HOUR_MS = 3600 * 1000 };

NUMBER_QUERY(processes_of_query, "select current_setting('max_parallel_workers_per_gather')::bigint", 0);

/* What the calls saw, under the lock. A closed gate holds them inside `run`. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    bool closed;
    int ran;
    int64_t processes[MAX_CALLS];
} seen = { .lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER };

static struct call_state states[MAX_CALLS];

static int64_t processes_on(struct db_conn *on)
{
    ARENA_SCOPE scratch = arena_new(0);
    struct error err = { .code = ERR_NONE };
    struct db_rows rows;
    assert_ok(db_run(on, scratch, &processes_of_query, NULL, &rows, &err), &err);
    return ((struct number *)rows.rows)->value;
}

static void run(void *context, struct db_conn *on, struct call_state *const *taken, size_t count)
{
    (void)context;
    assert_int_equal(count, 1);
    int64_t processes = processes_on(on);
    pthread_mutex_lock(&seen.lock);
    seen.processes[taken[0] - states] = processes;
    seen.ran++;
    pthread_cond_broadcast(&seen.moved);
    while (seen.closed)
        pthread_cond_wait(&seen.moved, &seen.lock);
    pthread_mutex_unlock(&seen.lock);
}

static void refuse(void *context, struct call_state *state, const struct error *why)
{
    (void)context;
    (void)state;
    fail_msg("%s", why->message);
}

static bool connect_thread(void *context, struct db_conn **ret_conn, struct error *err)
{
    (void)context;
    return db_connect(db, 1000, ret_conn, err);
}

static struct executor *slow_executor(struct activity *activity)
{
    struct executor_config config = {
        .name = "test",
        .threads = MAX_CALLS,
        .queue_max = MAX_CALLS,
        .parallel_calls = 2,
        .is_slow = true,
        .activity = activity,
        .run = run,
        .refuse = refuse,
        .connect = connect_thread,
    };
    memset(states, 0, sizeof(states));
    seen.ran = 0;
    return executor_new(&config);
}

static void gate(bool closed)
{
    pthread_mutex_lock(&seen.lock);
    seen.closed = closed;
    pthread_cond_broadcast(&seen.moved);
    pthread_mutex_unlock(&seen.lock);
}

/* Submits a call, and gives the processes that it may use when it runs. */
static int64_t processes_of_call(struct executor *executor, int number, int64_t organization_id)
{
    struct error err = { .code = ERR_NONE };
    struct timespec until = clock_deadline(WAIT_S * 1000);
    int waited = 0;
    states[number].turn.organization_id = organization_id;
    assert_ok(executor_submit(executor, &states[number], false, &err), &err);
    pthread_mutex_lock(&seen.lock);
    while (seen.ran <= number && waited == 0)
        waited = pthread_cond_clockwait(&seen.moved, &seen.lock, CLOCK_MONOTONIC, &until);
    pthread_mutex_unlock(&seen.lock);
    assert_int_equal(waited, 0);
    return seen.processes[number];
}

static void end(struct executor *executor, struct activity *activity)
{
    gate(false);
    executor_stop(executor, WAIT_S * 1000);
    executor_free(executor);
    activity_free(activity);
}

static void test_a_query_beside_many_slow_ones_has_one_process(void **state)
{
    (void)state;
    struct activity *activity = activity_new(HOUR_MS);
    struct executor *executor = slow_executor(activity);
    gate(true);
    assert_true(processes_of_call(executor, 0, 1) > 0);
    assert_true(processes_of_call(executor, 1, 1) > 0);
    assert_int_equal(processes_of_call(executor, 2, 1), 0);
    end(executor, activity);
}

static void test_a_query_beside_another_organization_has_one_process(void **state)
{
    (void)state;
    struct activity *activity = activity_new(HOUR_MS);
    struct executor *executor = slow_executor(activity);
    assert_true(processes_of_call(executor, 0, 1) > 0);
    activity_note(activity, 2);
    assert_int_equal(processes_of_call(executor, 1, 1), 0);
    end(executor, activity);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_query_beside_many_slow_ones_has_one_process),
        TEST(test_a_query_beside_another_organization_has_one_process),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
