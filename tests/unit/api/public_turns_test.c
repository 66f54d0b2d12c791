/* Turns of public calls: those of an operation, of a brand, and of the connection of a provider, hold no others. */
#include "fixtures/api_fixture.h"

NUMBER_QUERY(wait_for_release, "select 1::bigint from " WAIT_FOR_RELEASE, 0);

static bool wait_then_answer(struct op_context *ctx, const void *args, struct reply *reply, struct error *err)
{
    (void)args;
    json_raw(&reply->json, "{}");
    return db_run(ctx->work.conn, ctx->work.arena, &wait_for_release, NULL, NULL, err);
}

static _Atomic int answered;

static bool answer_order(struct op_context *ctx, const void *args, struct reply *reply, struct error *err)
{
    (void)ctx;
    (void)args;
    (void)err;
    json_object_begin(&reply->json);
    json_member_int(&reply->json, "order", ++answered);
    json_object_end(&reply->json);
    return true;
}

#define PUBLIC_OPERATION(number, does)                                                                                             \
    .id = "test.public", .index = (number), .mode = OP_READ, .reach = REACH_PUBLIC, .status = 200, .query_budget = 5,              \
    .built = true, .args = &no_args, .handler = (does)

static const struct operation held_op = { PUBLIC_OPERATION(0, wait_then_answer) };
static const struct operation same_op = { PUBLIC_OPERATION(0, answer_place) };
static const struct operation ordered_op = { PUBLIC_OPERATION(0, answer_order) };
static const struct operation other_op = { PUBLIC_OPERATION(1, answer_place) };

/* Public calls of one operation that wait for ever: one runs, the other waits, because one thread of the two is left to others. */
static struct visit *held[2];

static void hold_an_operation(void)
{
    api_free(api, 1000);
    api = service_new((struct api_config){ .quick_threads = 2, .slow_threads = 1 });
    open_service();
    hold_statements();
    for (size_t i = 0; i < ARRAY_COUNT(held); i++) {
        held[i] = visit_new(&held_op, NULL);
        start(held[i]);
    }
    await_number(held_statements, 1);
    assert_int_equal(executor_queued(api->reads), 1);
}

static void release_the_operation(void)
{
    release_statements();
    for (size_t i = 0; i < ARRAY_COUNT(held); i++) {
        finish(held[i]);
        assert_true(held[i]->call.ok);
    }
}

static struct visit *at_connection(const struct operation *op, int64_t id)
{
    struct visit *visit = visit_new(op, NULL);
    visit->call.connection = (struct call_connection){
        .kind = ID_REPORT_SOURCE,
        .id = id_text(&installation_engine(api_installation(api))->ids, visit->call.arena, ID_REPORT_SOURCE, id),
    };
    return visit;
}

/* */
static void test_an_operation_holds_no_other_operation(void **state)
{
    (void)state;
    hold_an_operation();
    assert_true(visit_run(visit_new(&other_op, NULL))->call.ok);
    assert_int_equal(number_of(held_statements), 1);
    release_the_operation();
}

static struct visit *start_of_brand(int64_t brand_id)
{
    struct visit *visit = visit_new(&ordered_op, NULL);
    visit->call.turn_brand_id = brand_id;
    start(visit);
    return visit;
}

/* One thread serves the operation. */
static void test_brands_take_turns_within_an_operation(void **state)
{
    (void)state;
    hold_an_operation();
    answered = 0;
    struct visit *busy[3] = { start_of_brand(1), start_of_brand(1), start_of_brand(1) };
    struct visit *quiet = start_of_brand(2);
    release_the_operation();
    for (size_t i = 0; i < ARRAY_COUNT(busy); i++)
        finish(busy[i]);
    finish(quiet);
    assert_string_equal(buf_text(quiet->call.reply.body), "{\"order\":2}");
    assert_string_equal(buf_text(busy[2]->call.reply.body), "{\"order\":4}");
}

static void test_a_connection_holds_no_other_connection(void **state)
{
    (void)state;
    hold_an_operation();
    release_the_operation();
    hold_statements();
    struct visit *busy[2] = { at_connection(&held_op, 1), at_connection(&held_op, 1) };
    start(busy[0]);
    start(busy[1]);
    await_number(held_statements, 1);
    assert_int_equal(executor_queued(api->reads), 1);
    assert_true(visit_run(at_connection(&same_op, 2))->call.ok);
    assert_true(visit_run(visit_new(&same_op, NULL))->call.ok);
    release_statements();
    finish(busy[0]);
    finish(busy[1]);
}

/* An id that was made up has no turns of its own, so that a stranger gains nothing by inventing many. */
static void test_made_up_connections_share_the_turns_of_the_operation(void **state)
{
    (void)state;
    hold_an_operation();
    struct visit *invented = at_connection(&same_op, INT64_C(1) << 50);
    start(invented);
    assert_int_equal(invented->call.state->turn.organization_id, held[0]->call.state->turn.organization_id);
    release_the_operation();
    finish(invented);
}

static void test_a_connection_has_few_places(void **state)
{
    (void)state;
    hold_an_operation();
    release_the_operation();
    hold_statements();
    struct visit *busy[1 + CONNECTION_WAITING_MAX];
    for (size_t i = 0; i < ARRAY_COUNT(busy); i++) {
        busy[i] = at_connection(&held_op, 1);
        start(busy[i]);
        if (i == 0)
            await_number(held_statements, 1);
    }
    assert_refusal(visit_run(at_connection(&held_op, 1)), ERR_SERVICE_UNAVAILABLE, "", "Too many calls");
    assert_true(visit_run(at_connection(&same_op, 2))->call.ok);
    release_statements();
    for (size_t i = 0; i < ARRAY_COUNT(busy); i++)
        finish(busy[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_an_operation_holds_no_other_operation),
        WORLD_TEST(test_brands_take_turns_within_an_operation),
        WORLD_TEST(test_a_connection_holds_no_other_connection),
        WORLD_TEST(test_made_up_connections_share_the_turns_of_the_operation),
        WORLD_TEST(test_a_connection_has_few_places),
    };
    return cmocka_run_group_tests_name("api: turns of public calls", tests, world_begin, group_teardown);
}
