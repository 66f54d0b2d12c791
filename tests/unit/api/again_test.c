/*
 * Polling of calls that wait for a job to end: the call is repeated once a second.
 * Between two runs it holds no thread and no connection.
 */
#include "fixtures/api_fixture.h"

/* What the handler finds; set by a test before its calls. */
static struct {
    _Atomic int runs;
    _Atomic int ends_at; /* the run that finds the end; 0: none does */
} plan;

static int fresh_plan(void **state)
{
    plan.runs = 0;
    plan.ends_at = 0;
    return world_setup(state);
}

static bool look(struct op_context *ctx, const void *args, struct reply *reply, struct error *err)
{
    (void)args;
    (void)err;
    (void)ctx;
    int run = ++plan.runs;
    reply->goes_on = plan.ends_at == 0 || run < plan.ends_at;
    reply->progress = run;
    reply->progress_total = 4;
    reply->progress_note = "on its way";
    json_object_begin(&reply->json);
    json_member_bool(&reply->json, "ended", !reply->goes_on);
    json_object_end(&reply->json);
    return true;
}

static const struct operation look_op = {
    .id = "test.look",
    .index = -1,
    .mode = OP_READ,
    .reach = REACH_BRAND,
    .status = 200,
    .query_budget = 10,
    .built = true,
    .waits = true,
    .args = &no_args,
    .handler = look,
    .policy = &rate_policies[0],
};

static struct visit *begin(int64_t wait_s)
{
    struct visit *visit = visit_new(&look_op, NULL);
    visit->call.wait_s = wait_s;
    visit->call.on_progress = visit_progress;
    start(visit);
    return visit;
}

static bool is_parked(struct visit *visit)
{
    pthread_mutex_lock(&api->calls_lock);
    bool parked = visit->call.state->phase == CALL_PARKED;
    pthread_mutex_unlock(&api->calls_lock);
    return parked;
}

static void await_parked(struct visit *visit)
{
    for (int i = 0; i < 2000 && !is_parked(visit); i++)
        usleep(5000);
    assert_true(is_parked(visit));
}

/* A caller that does not wait gets the current state. A caller that waits gets the final state. */
static void test_the_end_is_waited_for(void **state)
{
    (void)state;
    struct visit *at_once = begin(0);
    finish(at_once);
    assert_answer(at_once, 200, "{\"ended\":false}");
    assert_int_equal(at_once->progress_count, 0);

    plan.runs = 0;
    plan.ends_at = 3;
    struct visit *visit = begin(30);
    finish(visit);
    assert_answer(visit, 200, "{\"ended\":true}");
    assert_int_equal(plan.runs, 3);
    assert_int_equal(visit->progress_count, 2);
    assert_true(visit->progress[0] < visit->progress[1]);
    assert_string_equal(visit->note, "on its way");

    plan.runs = 0;
    struct visit *for_ever = begin(INT64_MAX);
    finish(for_ever);
    assert_answer(for_ever, 200, "{\"ended\":true}");
}

/* It passed the checks once: waiting costs no further calls of the rate. */
static void test_asking_again_is_one_call(void **state)
{
    (void)state;
    const char *key = key_new(1, 1, SCOPE_ALL, 1);
    struct visit *before = with_key(visit_new(&look_op, NULL), key);
    visit_run(before);
    plan.runs = 0;
    plan.ends_at = 3;
    struct visit *visit = with_key(visit_new(&look_op, NULL), key);
    visit->call.wait_s = 30;
    visit_run(visit);
    assert_answer(visit, 200, "{\"ended\":true}");
    assert_int_equal(plan.runs, 3);
    assert_true(before->call.rate.remaining > 0);
    assert_int_equal(visit->call.rate.remaining, before->call.rate.remaining - 1);
}

/* When the time is over the answer is what it is then, and no error. */
static void test_the_time_is_over(void **state)
{
    (void)state;
    struct visit *visit = begin(1);
    await_parked(visit);
    finish(visit);
    assert_answer(visit, 200, "{\"ended\":false}");
    assert_int_equal(plan.runs, 2);
}

/* Many wait while a single executor thread serves others. */
static void test_waiting_holds_no_thread(void **state)
{
    (void)state;
    enum { CROWD = 40 };
    api_free(api, 10000);
    api = service_new((struct api_config){ .quick_threads = 1 });
    struct visit *visits[CROWD];
    for (size_t i = 0; i < CROWD; i++)
        visits[i] = begin(30);
    for (size_t i = 0; i < CROWD; i++)
        await_parked(visits[i]);
    struct visit *other = begin(0);
    finish(other);
    assert_answer(other, 200, "{\"ended\":false}");
    plan.ends_at = 1;
    for (size_t i = 0; i < CROWD; i++) {
        finish(visits[i]);
        assert_answer(visits[i], 200, "{\"ended\":true}");
    }
}

static void test_a_caller_that_leaves(void **state)
{
    (void)state;
    struct visit *visit = begin(50);
    await_parked(visit);
    api_cancel(api, &visit->call);
    finish(visit);
    assert_refusal(visit, ERR_SERVICE_UNAVAILABLE, "", "cancelled");
}

static void test_stopping_ends_the_wait(void **state)
{
    (void)state;
    struct visit *visit = begin(50);
    await_parked(visit);
    api_free(api, 10000);
    api = service_new((struct api_config){ .quick_threads = 1 });
    finish(visit);
    assert_false(visit->call.ok);
    assert_int_equal(visit->call.error.code, ERR_SERVICE_UNAVAILABLE);
}

#define PLAN_TEST(function) cmocka_unit_test_setup_teardown(function, fresh_plan, world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLAN_TEST(test_the_end_is_waited_for),   PLAN_TEST(test_asking_again_is_one_call), PLAN_TEST(test_the_time_is_over),
        PLAN_TEST(test_waiting_holds_no_thread), PLAN_TEST(test_a_caller_that_leaves),     PLAN_TEST(test_stopping_ends_the_wait),
    };
    return cmocka_run_group_tests_name("api: asking again", tests, world_begin, group_teardown);
}
