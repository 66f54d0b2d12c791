/* Executor without a service: the run function of the test records batches, refusals and shutdown. */
#include "fixtures/own_fail.h"

#include "api/dispatch/activity.h"
#include "api/dispatch/dispatch.h"
#include "api/dispatch/executor.h"
#include "base/clock.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_CALLS = 20000, WAIT_S = 60, HOUR_MS = 3600 * 1000 };

/* What happened, under the lock. A gate holds the threads inside `run` while it is closed. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    bool closed;
    int inside;
    int ran;
    int refused;
    int connects;
    int connect_fails;
    int batch_sizes[MAX_CALLS];
    int batches;
    struct call_state *order[MAX_CALLS];
    struct error why;
} seen;

static struct call_state states[MAX_CALLS];

/* The executor of the test, until its end. A test that fails leaves it to the teardown: its threads use `seen`. */
static struct executor *running_executor;

static int setup(void **state)
{
    (void)state;
    memset(&seen, 0, sizeof(seen));
    memset(states, 0, sizeof(states));
    pthread_mutex_init(&seen.lock, NULL);
    pthread_cond_init(&seen.moved, NULL);
    return 0;
}

static void gate(bool closed)
{
    pthread_mutex_lock(&seen.lock);
    seen.closed = closed;
    pthread_cond_broadcast(&seen.moved);
    pthread_mutex_unlock(&seen.lock);
}

static void end(struct executor *executor)
{
    running_executor = NULL;
    executor_stop(executor, WAIT_S * 1000);
    executor_free(executor);
}

static int teardown(void **state)
{
    (void)state;
    gate(false);
    if (running_executor != NULL)
        end(running_executor);
    pthread_cond_destroy(&seen.moved);
    pthread_mutex_destroy(&seen.lock);
    return 0;
}

static void run(void *context, struct db_conn *conn, struct call_state *const *taken, size_t count)
{
    assert_ptr_equal(context, &seen);
    assert_null(conn);
    pthread_mutex_lock(&seen.lock);
    seen.inside++;
    pthread_cond_broadcast(&seen.moved);
    while (seen.closed)
        pthread_cond_wait(&seen.moved, &seen.lock);
    seen.batch_sizes[seen.batches++] = (int)count;
    for (size_t i = 0; i < count; i++) {
        assert_null(taken[i]->next);
        seen.order[seen.ran++] = taken[i];
    }
    seen.inside--;
    pthread_cond_broadcast(&seen.moved);
    pthread_mutex_unlock(&seen.lock);
}

static void refuse(void *context, struct call_state *state, const struct error *why)
{
    assert_ptr_equal(context, &seen);
    assert_non_null(state);
    pthread_mutex_lock(&seen.lock);
    seen.refused++;
    seen.why = *why;
    pthread_cond_broadcast(&seen.moved);
    pthread_mutex_unlock(&seen.lock);
}

static bool connect_unless_told(void *context, struct db_conn **ret_conn, struct error *err)
{
    assert_ptr_equal(context, &seen);
    pthread_mutex_lock(&seen.lock);
    seen.connects++;
    bool well = seen.connect_fails == 0;
    if (!well)
        seen.connect_fails--;
    pthread_mutex_unlock(&seen.lock);
    *ret_conn = NULL;
    return well || fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "No connection.");
}

static struct executor *start_executor(const struct executor_config *config)
{
    running_executor = executor_new(config);
    return running_executor;
}

static struct executor *executor_with(int threads, size_t queue_max, int batchers)
{
    struct executor_config config = {
        .name = "test",
        .threads = threads,
        .queue_max = queue_max,
        .batchers = batchers,
        .run = run,
        .refuse = refuse,
        .connect = connect_unless_told,
        .context = &seen,
    };
    return start_executor(&config);
}

/* An executor whose threads may all serve one organization, because it has one more. */
static struct executor *executor_of(int threads, size_t queue_max, int batchers)
{
    return executor_with(threads + 1, queue_max, batchers > 0 ? batchers + 1 : 0);
}

/* Waits until a number of `seen` has grown to `wanted`. */
static void wait_until(const int *number, int wanted)
{
    struct timespec until = clock_deadline(WAIT_S * 1000);
    int waited = 0;
    pthread_mutex_lock(&seen.lock);
    while (*number < wanted && waited == 0)
        waited = pthread_cond_clockwait(&seen.moved, &seen.lock, CLOCK_MONOTONIC, &until);
    int reached = *number;
    pthread_mutex_unlock(&seen.lock);
    if (reached < wanted)
        fail_msg("%d of %d after %d s", reached, wanted, WAIT_S);
}

static void wait_until_inside(int threads)
{
    wait_until(&seen.inside, threads);
}

static void submit(struct executor *executor, int first, int count, bool is_single)
{
    for (int i = first; i < first + count; i++) {
        struct error err = { .code = ERR_NONE };
        if (!executor_submit(executor, &states[i], is_single, &err))
            fail_msg("%d: %s", i, err.message);
    }
}

/* ---- Order and batches ---- */

static void test_calls_run_in_order(void **state)
{
    (void)state;
    struct executor *executor = executor_of(1, 1000, 0);
    assert_int_equal(seen.connects, 0);
    submit(executor, 0, 500, false);
    end(executor);
    assert_int_equal(seen.ran, 500);
    for (int i = 0; i < 500; i++)
        assert_ptr_equal(seen.order[i], &states[i]);
    assert_int_equal(seen.batches, 500);
    assert_int_equal(seen.refused, 0);
}

static void assert_batches(const int *expected, int count)
{
    assert_int_equal(seen.batches, count);
    for (int i = 0; i < count; i++)
        assert_int_equal(seen.batch_sizes[i], expected[i]);
}

static void test_singles_travel_together(void **state)
{
    (void)state;
    struct executor *executor = executor_of(1, 1000, 1);
    gate(true);
    submit(executor, 0, 1, true);
    wait_until_inside(1);
    submit(executor, 1, 100, true);  /* a full batch and the rest */
    submit(executor, 101, 1, false); /* single and other calls take turns */
    submit(executor, 102, 3, true);
    submit(executor, 105, 2, false);
    assert_int_equal(executor_queued(executor), 106);
    gate(false);
    end(executor);
    static const int expected[] = { 1, EXECUTOR_BATCH_MAX, 1, 100 - EXECUTOR_BATCH_MAX + 3, 1, 1 };
    assert_batches(expected, ARRAY_COUNT(expected));
    int at = 0;
    for (int i = 0; i <= EXECUTOR_BATCH_MAX; i++)
        assert_ptr_equal(seen.order[at++], &states[i]);
    assert_ptr_equal(seen.order[at++], &states[101]);
    for (int i = EXECUTOR_BATCH_MAX + 1; i < 107; i++)
        if (i != 101)
            assert_ptr_equal(seen.order[at++], &states[i]);
}

/* Single and other calls take turns. */
static void test_neither_queue_starves(void **state)
{
    (void)state;
    struct executor *executor = executor_of(1, 1000, 1);
    gate(true);
    submit(executor, 0, 1, false);
    wait_until_inside(1);
    submit(executor, 1, 1, false);
    submit(executor, 2, 70, true);
    submit(executor, 72, 1, false);
    gate(false);
    end(executor);
    static const int expected[] = { 1, 1, EXECUTOR_BATCH_MAX, 1, 70 - EXECUTOR_BATCH_MAX };
    assert_batches(expected, ARRAY_COUNT(expected));
}

/* While the only batcher is at work, single calls gather for it, and the other threads do what else there is. */
static void test_few_batchers_make_large_batches(void **state)
{
    (void)state;
    struct executor *executor = executor_of(3, 1000, 1);
    gate(true);
    submit(executor, 0, 1, true);
    wait_until_inside(1);
    submit(executor, 1, 20, true);
    submit(executor, 21, 1, false);
    wait_until_inside(2);
    assert_int_equal(executor_queued(executor), 20);
    gate(false);
    end(executor);
    assert_int_equal(seen.ran, 22);
    int most = 0;
    for (int i = 0; i < seen.batches; i++)
        most = seen.batch_sizes[i] > most ? seen.batch_sizes[i] : most;
    assert_int_equal(most, 20);
}

/* A call that was admitted is not refused later because of newer calls. */
static void test_what_comes_back_finds_room(void **state)
{
    (void)state;
    struct executor *executor = executor_of(1, 2, 1);
    gate(true);
    submit(executor, 0, 1, false);
    wait_until_inside(1);
    submit(executor, 1, 2, true);
    struct error err = { .code = ERR_NONE };
    assert_false(executor_submit(executor, &states[3], false, &err));
    error_clear(&err);
    assert_true(executor_submit_again(executor, &states[4], &err));
    assert_int_equal(executor_queued(executor), 3);
    gate(false);
    end(executor);
    assert_int_equal(seen.ran, 4);
    executor = executor_of(1, 2, 1);
    executor_stop(executor, 0);
    assert_false(executor_submit_again(executor, &states[5], &err));
    assert_non_null(strstr(err.message, "stopping"));
    end(executor);
}

static void test_a_pool_may_not_batch(void **state)
{
    (void)state;
    struct executor *executor = executor_of(1, 1000, 0);
    gate(true);
    submit(executor, 0, 20, true);
    gate(false);
    end(executor);
    assert_int_equal(seen.batches, 20);
}

/* ---- Overload ---- */

/* an honest 503 with a hint, never an unbounded queue. */
static void test_a_full_queue_refuses(void **state)
{
    (void)state;
    struct executor *executor = executor_of(2, 5, 0);
    gate(true);
    submit(executor, 0, 1, false);
    wait_until_inside(1);
    submit(executor, 1, 1, false);
    wait_until_inside(2);
    submit(executor, 2, 5, false);
    assert_int_equal(executor_queued(executor), 5);
    struct error err = { .code = ERR_NONE };
    assert_false(executor_submit(executor, &states[7], false, &err));
    assert_int_equal(err.code, ERR_SERVICE_UNAVAILABLE);
    assert_int_equal(err.retry_after_s, 1);
    assert_non_null(strstr(err.message, "Too many calls"));
    assert_int_equal(executor_queued(executor), 5);
    gate(false);
    end(executor);
    assert_int_equal(seen.ran, 7);
    assert_int_equal(seen.refused, 0);
}

static void test_threads_start_when_needed(void **state)
{
    (void)state;
    struct executor *executor = executor_of(3, 100, 0);
    assert_int_equal(executor_queued(executor), 0);
    gate(true);
    submit(executor, 0, 10, false);
    wait_until_inside(3);
    assert_int_equal(executor_queued(executor), 7);
    gate(false);
    end(executor);
    assert_int_equal(seen.ran, 10);
}

/* ---- Several organizations ---- */

/* Gives calls to a brand of an organization and submits them. */
static void submit_for(struct executor *executor, int64_t organization_id, uint64_t brand, int first, int count, bool is_single)
{
    for (int i = first; i < first + count; i++)
        states[i].turn = (struct turn){ .organization_id = organization_id, .brand = brand };
    submit(executor, first, count, is_single);
}

static void assert_order(const int *expected, int count)
{
    assert_int_equal(seen.ran, count);
    for (int i = 0; i < count; i++)
        assert_int_equal(seen.order[i] - states, expected[i]);
}

/* calls of one organization that do not end hold no other organization. */
static void test_a_thread_is_left_to_others(void **state)
{
    (void)state;
    struct executor *executor = executor_with(3, 1000, 0);
    gate(true);
    submit_for(executor, 1, 1, 0, 5, false);
    submit_for(executor, 1, 2, 5, 5, false);
    wait_until_inside(2);
    assert_int_equal(executor_queued(executor), 8);
    submit_for(executor, 2, 1, 10, 1, false);
    wait_until_inside(3);
    assert_int_equal(executor_queued(executor), 8);
    gate(false);
    end(executor);
    assert_int_equal(seen.ran, 11);
}

static void test_a_batcher_is_left_to_others(void **state)
{
    (void)state;
    struct executor *executor = executor_with(4, 1000, 2);
    gate(true);
    submit_for(executor, 1, 1, 0, 1, true);
    wait_until_inside(1);
    submit_for(executor, 1, 1, 1, 5, true);
    submit_for(executor, 2, 1, 6, 1, true);
    wait_until_inside(2);
    assert_int_equal(executor_queued(executor), 5);
    gate(false);
    end(executor);
    assert_int_equal(seen.ran, 7);
}

static int threads_of_process(void)
{
    struct dirent **entries;
    int count = scandir("/proc/self/task", &entries, NULL, NULL);
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
    return count;
}

/* A thread that finds nothing to do costs a switch of the processor, and its connection a session of the server. */
static void test_a_call_that_must_wait_starts_no_thread(void **state)
{
    (void)state;
    struct executor *executor = executor_with(4, 1000, 3);
    gate(true);
    for (int i = 0; i < 2; i++) {
        submit_for(executor, 1, 1, i, 1, true);
        wait_until_inside(i + 1);
    }
    int threads = threads_of_process();
    submit_for(executor, 1, 1, 2, 20, true);
    assert_int_equal(threads_of_process(), threads);
    submit_for(executor, 2, 1, 22, 1, true);
    assert_int_equal(threads_of_process(), threads + 1);
    wait_until_inside(3);
    gate(false);
    end(executor);
    assert_int_equal(seen.ran, 23);
}

/* A single call counts on the thread that was woken just before it. That thread may take a call that does not end. */
static void test_a_woken_thread_takes_another_call(void **state)
{
    (void)state;
    enum { ROUNDS = 50 }; /* in most of them the first thread is idle again when the second call comes */
    for (int round = 0; round < ROUNDS; round++) {
        struct executor *executor = executor_with(3, 1000, 3);
        int first = 3 * round;
        submit_for(executor, 1, 1, first, 1, false);
        wait_until(&seen.ran, first + 1);
        sched_yield();
        gate(true);
        submit_for(executor, 1, 1, first + 1, 1, false);
        submit_for(executor, 2, 1, first + 2, 1, true);
        wait_until_inside(2);
        gate(false);
        end(executor);
    }
    assert_int_equal(seen.ran, 3 * ROUNDS);
}

/* While a batch of them runs, such calls gather for the next one, and leave the other batchers to other calls. */
static void test_one_batch_of_calls_that_lock_common_rows_runs_at_a_time(void **state)
{
    (void)state;
    struct executor *executor = executor_with(5, 1000, 4);
    gate(true);
    submit_for(executor, TURN_ONE_BATCH, 1, 0, 1, true);
    wait_until_inside(1);
    submit_for(executor, TURN_ONE_BATCH, 1, 1, 5, true);
    submit_for(executor, 2, 1, 6, 1, true);
    wait_until_inside(2);
    assert_int_equal(executor_queued(executor), 5);
    gate(false);
    end(executor);
    assert_int_equal(seen.ran, 7);
    assert_int_equal(seen.batches, 3);
}

/* A turn may have fewer threads and places than its share of the executor. */
static void test_a_turn_has_bounds_of_its_own(void **state)
{
    (void)state;
    struct executor *executor = executor_with(5, 1000, 0);
    struct error err = { .code = ERR_NONE };
    gate(true);
    for (int i = 0; i < 6; i++)
        states[i].turn = (struct turn){ .organization_id = 1, .threads_max = 2, .waiting_max = 3 };
    submit(executor, 0, 2, false);
    wait_until_inside(2);
    submit(executor, 2, 3, false);
    assert_false(executor_submit(executor, &states[5], false, &err));
    assert_int_equal(err.code, ERR_SERVICE_UNAVAILABLE);
    error_clear(&err);
    submit_for(executor, 2, 1, 10, 2, false);
    wait_until_inside(4);
    assert_int_equal(executor_queued(executor), 3);
    gate(false);
    end(executor);
    assert_int_equal(seen.ran, 7);
}

static void test_organizations_and_brands_take_turns(void **state)
{
    (void)state;
    struct executor *executor = executor_with(1, 1000, 0);
    gate(true);
    submit_for(executor, 1, 1, 0, 1, false);
    wait_until_inside(1);
    submit_for(executor, 1, 1, 1, 4, false);
    submit_for(executor, 1, 2, 5, 2, false);
    submit_for(executor, 2, 1, 7, 2, false);
    gate(false);
    end(executor);
    static const int expected[] = { 0, 1, 7, 5, 8, 2, 6, 3, 4 };
    assert_order(expected, ARRAY_COUNT(expected));
}

static void test_a_batch_is_taken_in_turns(void **state)
{
    (void)state;
    struct executor *executor = executor_with(1, 1000, 1);
    gate(true);
    submit_for(executor, 1, 1, 0, 1, true);
    wait_until_inside(1);
    submit_for(executor, 1, 1, 1, 3 * EXECUTOR_BATCH_MAX, true);
    submit_for(executor, 2, 1, 300, 2, true);
    gate(false);
    end(executor);
    assert_ptr_equal(seen.order[1], &states[1]);
    assert_ptr_equal(seen.order[2], &states[300]);
    assert_ptr_equal(seen.order[3], &states[2]);
    assert_ptr_equal(seen.order[4], &states[301]);
    static const int expected[] = { 1, EXECUTOR_BATCH_MAX, EXECUTOR_BATCH_MAX, EXECUTOR_BATCH_MAX, 2 };
    assert_batches(expected, ARRAY_COUNT(expected));
}

/* The end of a batch makes room for several organizations at once; each of them gets a thread. */
static void test_the_end_of_a_batch_makes_room_for_all_its_organizations(void **state)
{
    (void)state;
    struct executor *executor = executor_with(2, 1000, 1);
    gate(true);
    submit_for(executor, 3, 1, 0, 1, true);
    wait_until_inside(1);
    submit_for(executor, 1, 1, 1, 1, true);
    submit_for(executor, 2, 1, 2, 1, true);
    submit_for(executor, 1, 1, 3, 2, false);
    wait_until_inside(2);
    submit_for(executor, 2, 1, 5, 2, false);
    gate(false);
    end(executor);
    assert_int_equal(seen.ran, 7);
    assert_int_equal(seen.refused, 0);
}

/* a full queue of one organization refuses no call of another, and all together are bounded. */
static void test_one_organization_fills_its_share_of_the_queue(void **state)
{
    (void)state;
    struct executor *executor = executor_with(2, 5, 0);
    gate(true);
    submit_for(executor, 1, 1, 0, 1, false);
    wait_until_inside(1);
    submit_for(executor, 1, 1, 1, 5, false);
    struct error err = { .code = ERR_NONE };
    states[6].turn = (struct turn){ .organization_id = 1, .brand = 2 };
    assert_false(executor_submit(executor, &states[6], false, &err));
    assert_int_equal(err.code, ERR_SERVICE_UNAVAILABLE);
    error_clear(&err);
    submit_for(executor, 2, 1, 10, 1, false);
    wait_until_inside(2);
    for (int i = 0; i < 3; i++)
        submit_for(executor, 2 + i, 1, 11 + 5 * i, 5, false);
    states[26].turn = (struct turn){ .organization_id = 7, .brand = 1 };
    assert_false(executor_submit(executor, &states[26], false, &err));
    assert_int_equal(executor_queued(executor), 5 * EXECUTOR_QUEUE_SHARES);
    gate(false);
    end(executor);
    assert_int_equal(seen.ran, 2 + 5 * EXECUTOR_QUEUE_SHARES);
}

/* ---- Organizations that are not alone ---- */

static void test_another_organization_is_seen_for_a_while(void **state)
{
    (void)state;
    struct activity *activity = activity_new(HOUR_MS);
    assert_false(activity_has_others(activity, 1));
    activity_note(activity, 0); /* an unknown caller is no organization */
    assert_false(activity_has_others(activity, 1));
    activity_note(activity, 1);
    assert_false(activity_has_others(activity, 1));
    assert_true(activity_has_others(activity, 2));
    activity_note(activity, 2);
    activity_note(activity, 1);
    activity_note(activity, 1);
    assert_true(activity_has_others(activity, 1));
    activity_free(activity);
    activity_free(NULL);
    activity = activity_new(1);
    activity_note(activity, 1);
    for (int i = 0; i < WAIT_S * 1000 && activity_has_others(activity, 2); i++)
        usleep(1000);
    assert_false(activity_has_others(activity, 2));
    activity_free(activity);
}

static void test_the_latest_organizations_are_given_once_a_second(void **state)
{
    (void)state;
    int64_t latest[ACTIVITY_ORGANIZATIONS] = { 0 };
    struct activity *activity = activity_new(HOUR_MS);
    assert_int_equal(activity_take_latest(activity, latest), 0);
    activity_note(activity, 1);
    activity_note(activity, 2);
    activity_note(activity, 3);
    assert_int_equal(activity_take_latest(activity, latest), 2);
    assert_int_equal(latest[0], 3);
    assert_int_equal(latest[1], 2);
    /* A second may pass between two of these calls, but not between all of them. */
    int given = 0;
    for (int call = 0; call < 100; call++)
        given += activity_take_latest(activity, latest) > 0 ? 1 : 0;
    assert_in_range(given, 0, 99);
    activity_free(activity);
}

static void test_a_delivery_is_a_sign_of_an_organization(void **state)
{
    (void)state;
    struct activity *activity = activity_new(1);
    assert_true(activity_must_look(activity));
    /* The interval may pass between two of these calls, but not between all of them. */
    int looks = 0;
    for (int call = 0; call < 100; call++)
        looks += activity_must_look(activity) ? 1 : 0;
    assert_in_range(looks, 0, 99);
    activity_note_delivery(activity, 0);
    assert_false(activity_has_others(activity, 1));
    activity_note_delivery(activity, 1);
    assert_false(activity_has_others(activity, 1));
    assert_true(activity_has_others(activity, 2));
    activity_note_delivery(activity, 2);
    /* Calls of others do not hide it. */
    for (int organization = 3; organization < 6; organization++)
        activity_note(activity, organization);
    assert_true(activity_has_others(activity, 1));
    assert_true(activity_has_others(activity, 2));
    activity_free(activity);
}

static struct executor *shared_executor(struct activity *activity)
{
    struct executor_config config = {
        .name = "test",
        .threads = 5,
        .queue_max = 1000,
        .share_beside = 1,
        .is_slow = true,
        .activity = activity,
        .run = run,
        .refuse = refuse,
        .connect = connect_unless_told,
        .context = &seen,
    };
    return start_executor(&config);
}

/* beside others an organization has a smaller share of the threads, and its waiting calls stay in the order. */
static void test_beside_others_the_share_is_smaller(void **state)
{
    (void)state;
    struct activity *activity = activity_new(HOUR_MS);
    struct executor *executor = shared_executor(activity);
    gate(true);
    submit_for(executor, 2, 1, 0, 1, false);
    wait_until_inside(1);
    submit_for(executor, 1, 1, 1, 6, false);
    wait_until_inside(2);
    submit_for(executor, 3, 1, 7, 2, false);
    wait_until_inside(3);
    assert_int_equal(executor_queued(executor), 6);
    gate(false);
    end(executor);
    assert_int_equal(seen.ran, 9);
    activity_free(activity);
}

/* An organization has all threads but one again when the others have been idle for a while. */
static void test_alone_the_share_is_large(void **state)
{
    (void)state;
    struct activity *activity = activity_new(1);
    struct executor *executor = shared_executor(activity);
    submit_for(executor, 2, 1, 0, 1, false);
    wait_until(&seen.ran, 1);
    for (int i = 0; i < WAIT_S * 1000 && activity_has_others(activity, 1); i++)
        usleep(1000);
    gate(true);
    submit_for(executor, 1, 1, 1, 6, false);
    wait_until_inside(4);
    assert_int_equal(executor_queued(executor), 2);
    gate(false);
    end(executor);
    assert_int_equal(seen.ran, 7);
    activity_free(activity);
}

/* ---- Connections ---- */

static void test_without_a_connection_calls_are_refused(void **state)
{
    (void)state;
    seen.connect_fails = 2;
    struct executor *executor = executor_of(1, 100, 1);
    gate(true);
    submit(executor, 0, 1, true);
    /* The gate is inside run; a failed connection never gets there. */
    wait_until(&seen.refused, 1);
    assert_string_equal(seen.why.message, "No connection.");
    gate(false);
    submit(executor, 1, 1, true);
    wait_until(&seen.refused, 2);
    submit(executor, 2, 1, true);
    end(executor);
    assert_int_equal(seen.ran, 1);
    assert_int_equal(seen.refused, 2);
}

/* ---- The end ---- */

static void test_stop_finishes_what_is_queued(void **state)
{
    (void)state;
    struct executor *executor = executor_of(2, 1000, 0);
    submit(executor, 0, 300, false);
    executor_stop(executor, WAIT_S * 1000);
    assert_int_equal(seen.ran, 300);
    struct error err = { .code = ERR_NONE };
    assert_false(executor_submit(executor, &states[300], false, &err));
    assert_int_equal(err.code, ERR_SERVICE_UNAVAILABLE);
    assert_non_null(strstr(err.message, "stopping"));
    end(executor);
    executor_free(NULL);
}

enum { LEFT = 9 };

/* Opens the gate once the calls that have not begun are refused. */
static void *open_gate_after_refusals(void *unused)
{
    pthread_mutex_lock(&seen.lock);
    while (seen.refused < LEFT && seen.closed)
        pthread_cond_wait(&seen.moved, &seen.lock);
    pthread_mutex_unlock(&seen.lock);
    gate(false);
    return unused;
}

/* Past the wait, what has not begun is refused and what runs is waited for. A wait of less than a second is one, too. */
static void test_stop_refuses_what_is_left(void **state)
{
    (void)state;
    struct executor *executor = executor_of(1, 1000, 0);
    gate(true);
    submit(executor, 0, 1, false);
    wait_until_inside(1);
    submit(executor, 1, LEFT, false);
    pthread_t opener;
    assert_int_equal(pthread_create(&opener, NULL, open_gate_after_refusals, NULL), 0);
    int64_t start_us = clock_monotonic_us();
    executor_stop(executor, 900);
    int64_t took_us = clock_monotonic_us() - start_us;
    pthread_join(opener, NULL);
    assert_int_equal(seen.ran, 1);
    assert_int_equal(seen.refused, LEFT);
    assert_int_equal(seen.why.code, ERR_SERVICE_UNAVAILABLE);
    assert_true(took_us >= 900 * US_PER_MS);
    end(executor);
}

static void test_stop_without_work(void **state)
{
    (void)state;
    struct executor *executor = executor_of(4, 10, 4);
    enum { NEVER_MS = 600 * 1000 }; /* a stop that waited for it would not end within the limit of a test */
    executor_stop(executor, NEVER_MS);
    end(executor);
}

/* ---- Many threads ---- */

enum { SUBMITTERS = 8, EACH = 2000 };

struct submitter {
    struct executor *executor;
    int first;
    int accepted;
};

static void *submit_many(void *data)
{
    struct submitter *submitter = data;
    for (int i = 0; i < EACH; i++) {
        struct error err = { .code = ERR_NONE };
        int index = submitter->first + i;
        submitter->accepted += executor_submit(submitter->executor, &states[index], index % 3 != 0, &err);
    }
    return NULL;
}

/* Every accepted call is run or refused exactly once, also when the end comes in between. */
static void test_nothing_is_lost_or_doubled(void **state)
{
    (void)state;
    for (int round = 0; round < 2; round++) {
        teardown(NULL);
        setup(NULL);
        bool stops_early = round == 1;
        struct executor *executor = executor_of(4, 64, stops_early ? 4 : 1);
        pthread_t threads[SUBMITTERS];
        struct submitter submitters[SUBMITTERS];
        for (int i = 0; i < SUBMITTERS; i++) {
            submitters[i] = (struct submitter){ executor, i * EACH, 0 };
            for (int call = i * EACH; call < (i + 1) * EACH; call++)
                states[call].turn = (struct turn){ .organization_id = i % 3, .brand = (uint64_t)call % 5 };
            assert_int_equal(pthread_create(&threads[i], NULL, submit_many, &submitters[i]), 0);
        }
        for (int i = 0; i < 100; i++)
            assert_true(executor_queued(executor) <= 3 * 64);
        if (stops_early)
            executor_stop(executor, 0);
        int accepted = 0;
        for (int i = 0; i < SUBMITTERS; i++) {
            pthread_join(threads[i], NULL);
            accepted += submitters[i].accepted;
        }
        end(executor);
        assert_int_equal(seen.ran + seen.refused, accepted);
        assert_true(stops_early || (accepted > 0 && seen.refused == 0));
        static bool known[MAX_CALLS];
        memset(known, 0, sizeof(known));
        for (int i = 0; i < seen.ran; i++) {
            size_t index = (size_t)(seen.order[i] - states);
            assert_false(known[index]);
            known[index] = true;
        }
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_calls_run_in_order),
        TEST(test_singles_travel_together),
        TEST(test_neither_queue_starves),
        TEST(test_few_batchers_make_large_batches),
        TEST(test_what_comes_back_finds_room),
        TEST(test_a_pool_may_not_batch),
        TEST(test_a_full_queue_refuses),
        TEST(test_threads_start_when_needed),
        TEST(test_a_thread_is_left_to_others),
        TEST(test_a_batcher_is_left_to_others),
        TEST(test_a_call_that_must_wait_starts_no_thread),
        TEST(test_a_woken_thread_takes_another_call),
        TEST(test_one_batch_of_calls_that_lock_common_rows_runs_at_a_time),
        TEST(test_a_turn_has_bounds_of_its_own),
        TEST(test_organizations_and_brands_take_turns),
        TEST(test_a_batch_is_taken_in_turns),
        TEST(test_the_end_of_a_batch_makes_room_for_all_its_organizations),
        TEST(test_one_organization_fills_its_share_of_the_queue),
        TEST(test_another_organization_is_seen_for_a_while),
        TEST(test_the_latest_organizations_are_given_once_a_second),
        TEST(test_a_delivery_is_a_sign_of_an_organization),
        TEST(test_beside_others_the_share_is_smaller),
        TEST(test_alone_the_share_is_large),
        TEST(test_without_a_connection_calls_are_refused),
        TEST(test_stop_finishes_what_is_queued),
        TEST(test_stop_refuses_what_is_left),
        TEST(test_stop_without_work),
        TEST(test_nothing_is_lost_or_doubled),
    };
    return cmocka_run_group_tests_name("api: executor", tests, NULL, NULL);
}
