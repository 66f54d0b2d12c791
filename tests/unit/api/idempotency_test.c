/* Idempotency keys: replays, conflicts, and callers that wait for the first call with the same key. */
#include "fixtures/api_items.h"

/* ---- Replays ---- */

/* the original answer, once worked, once charged, once audited. */
static void test_replays(void **state)
{
    (void)state;
    plan.items = 3;
    struct visit *first = visit_run(with_idempotency(adding(&per_item_op, 1), "key-1"));
    assert_answer(first, 201, "{\"id\":1,\"run\":1}");
    assert_false(first->call.replayed);
    struct visit *again = visit_run(with_idempotency(adding(&per_item_op, 1), "key-1"));
    assert_answer(again, 201, "{\"id\":1,\"run\":1}");
    assert_true(again->call.replayed);
    assert_int_equal(again->call.credit_cost, 6);
    assert_int_equal(plan.runs, 1);
    assert_int_equal(charged(), 6);
    assert_int_equal(audit_rows(), 1);
    /* */
    assert_answer(visit_run(with_idempotency(adding(&per_item_op, 2), "key-2")), 201, "{\"id\":2,\"run\":2}");
    /* The key itself is not kept. */
    assert_int_equal(number_of("select count(*) from idempotency_keys where encode(key_hash, 'escape') like '%key%'"), 0);
}

/* ---- A key in the body, and the form of a replay ---- */

struct keyed_item {
    struct item item;
    const char *key;
};
static const struct arg_field keyed_fields[] = {
    { .name = "id",
      .kind = ARG_INTEGER,
      .place = ARG_IN_BODY,
      .offset = offsetof(struct keyed_item, item.id),
      .required = true,
      .minimum = 0,
      .maximum = 1e9 },
    { .name = "idempotencyKey",
      .kind = ARG_TEXT,
      .place = ARG_IN_BODY,
      .offset = offsetof(struct keyed_item, key),
      .min_size = 1,
      .max_size = 100 },
};
static const struct arg_shape keyed_args = { .fields = keyed_fields,
                                             .count = ARRAY_COUNT(keyed_fields),
                                             .size = sizeof(struct keyed_item) };

static struct operation keyed_operation(void)
{
    struct operation op = write_op;
    op.args = &keyed_args;
    op.key_in_body = true;
    op.replay_status = 200;
    op.replay_json = "{\"run\":\"replayed\"}";
    return op;
}

/* D-132: the header counts when both are given; a key in the body is not compared. */
static void test_a_key_in_the_body(void **state)
{
    (void)state;
    const struct operation op = keyed_operation();
    assert_answer(visit_run(visit_new(&op, "{\"id\":1,\"idempotencyKey\":\"k\"}")), 201, "{\"id\":1,\"run\":1}");
    struct visit *again = visit_run(visit_new(&op, "{\"id\":1,\"idempotencyKey\":\"k\"}"));
    assert_answer(again, 200, "{\"id\":1,\"run\":\"replayed\"}");
    assert_true(again->call.replayed);
    assert_answer(visit_run(with_idempotency(visit_new(&op, "{\"id\":1}"), "k")), 200, "{\"id\":1,\"run\":\"replayed\"}");
    assert_answer(visit_run(with_idempotency(visit_new(&op, "{\"id\":1,\"idempotencyKey\":\"other\"}"), "k")), 200,
                  "{\"id\":1,\"run\":\"replayed\"}");
    assert_refusal(visit_run(visit_new(&op, "{\"id\":2,\"idempotencyKey\":\"k\"}")), ERR_IDEMPOTENCY_CONFLICT, "",
                   "other arguments");
    assert_answer(visit_run(with_idempotency(visit_new(&op, "{\"id\":2,\"idempotencyKey\":\"k\"}"), "h")), 201,
                  "{\"id\":2,\"run\":2}");
    assert_int_equal(kept_keys(), 2);
}

static void test_a_bad_key_in_the_body(void **state)
{
    (void)state;
    const struct operation op = keyed_operation();
    assert_refusal(visit_run(visit_new(&op, "{\"id\":1,\"idempotencyKey\":\"\"}")), ERR_INVALID_REQUEST, "idempotencyKey",
                   "1 to 100");
    assert_refusal(visit_run(visit_new(&op, "{\"id\":1,\"idempotencyKey\":7}")), ERR_INVALID_REQUEST, "idempotencyKey", "text");
    assert_int_equal(plan.runs, 0);
    assert_int_equal(kept_keys(), 0);
}

/* */
static void test_other_arguments_conflict(void **state)
{
    (void)state;
    open_service();
    assert_true(visit_run(with_idempotency(adding(&write_op, 1), "k"))->call.ok);
    assert_refusal(visit_run(with_idempotency(adding(&write_op, 2), "k")), ERR_IDEMPOTENCY_CONFLICT, "", "other arguments");
    /* Another operation and another brand are other arguments, too. */
    struct operation other_op = write_op;
    other_op.id = "items.other";
    assert_refusal(visit_run(with_idempotency(adding(&other_op, 1), "k")), ERR_IDEMPOTENCY_CONFLICT, "", "other arguments");
    struct visit *elsewhere = with_idempotency(adding(&write_op, 1), "k");
    elsewhere->call.credentials.brand = brand_wire_id(brand_new(1));
    assert_refusal(visit_run(elsewhere), ERR_IDEMPOTENCY_CONFLICT, "", "other arguments");
    assert_int_equal(item_count(), 1);
    assert_true(visit_run(with_idempotency(adding(&write_op, 1), "k"))->call.replayed);
}

/* The order of members and their place do not matter. */
static void test_the_same_request_in_other_words(void **state)
{
    (void)state;
    assert_true(visit_run(with_idempotency(visit_new(&write_op, "{\"id\":1,\"note\":\"x\"}"), "k"))->call.ok);
    assert_true(visit_run(with_idempotency(visit_new(&write_op, " { \"note\" : \"x\", \"id\": 1 }"), "k"))->call.replayed);

    static struct name_value path[] = { { "itemId", "seven" } };
    struct visit *placed = with_idempotency(visit_new(&write_op, "{\"id\":2}"), "p");
    placed->call.input.path = (struct name_value_list){ path, 1 };
    assert_true(visit_run(placed)->call.ok);
    assert_refusal(visit_run(with_idempotency(visit_new(&write_op, "{\"id\":2}"), "p")), ERR_IDEMPOTENCY_CONFLICT, "", "");
    struct visit *twice = with_idempotency(visit_new(&write_op, "{\"id\":2,\"itemId\":\"eight\"}"), "p");
    twice->call.input.path = (struct name_value_list){ path, 1 };
    assert_refusal(visit_run(twice), ERR_IDEMPOTENCY_CONFLICT, "", "other arguments");
}

/* */
static void test_the_length_of_keys(void **state)
{
    (void)state;
    char key[102];
    memset(key, 'k', 101);
    key[101] = '\0';
    assert_refusal(visit_run(with_idempotency(adding(&write_op, 1), key)), ERR_INVALID_REQUEST, "idempotencyKey", "1 to 100");
    assert_refusal(visit_run(with_idempotency(adding(&write_op, 1), "")), ERR_INVALID_REQUEST, "idempotencyKey", "1 to 100");
    /* A read keeps no answer, but the key is no better there. */
    assert_refusal(visit_run(with_idempotency(visit_new(&organization_op, "{}"), key)), ERR_INVALID_REQUEST, "idempotencyKey",
                   "1 to 100");
    assert_refusal(visit_run(with_idempotency(visit_new(&memory_op, "{}"), key)), ERR_INVALID_REQUEST, "idempotencyKey",
                   "1 to 100");
    key[100] = '\0';
    assert_true(visit_run(with_idempotency(visit_new(&organization_op, "{}"), key))->call.ok);
    assert_true(visit_run(with_idempotency(adding(&write_op, 1), key))->call.ok);
    assert_int_equal(plan.runs, 1);
    assert_int_equal(kept_keys(), 1);
}

/* elsewhere a key has no effect and is no error. */
static void test_keys_that_are_not_honoured(void **state)
{
    (void)state;
    struct operation careless_op = write_op;
    careless_op.idempotent_key = false;
    char longer[200];
    memset(longer, 'k', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    assert_true(visit_run(with_idempotency(adding(&careless_op, 1), longer))->call.ok);
    assert_true(visit_run(with_idempotency(adding(&careless_op, 2), longer))->call.ok);
    assert_int_equal(kept_keys(), 0);
    assert_int_equal(plan.runs, 2);
}

/* */
static void test_keys_live_a_day(void **state)
{
    (void)state;
    assert_true(visit_run(with_idempotency(adding(&write_op, 1), "k"))->call.ok);
    clock_set_offset_us((24 * INT64_C(3600) - 60) * US_PER_S);
    assert_true(visit_run(with_idempotency(adding(&write_op, 1), "k"))->call.replayed);
    /* From the first request, not from the last replay. */
    clock_set_offset_us((24 * INT64_C(3600) + 60) * US_PER_S);
    assert_answer(visit_run(with_idempotency(adding(&write_op, 2), "k")), 201, "{\"id\":2,\"run\":2}");
    assert_int_equal(kept_keys(), 1);
    assert_true(visit_run(with_idempotency(adding(&write_op, 2), "k"))->call.replayed);
}

/* */
static void test_keys_belong_to_an_organization(void **state)
{
    (void)state;
    open_service();
    int64_t other = organization_new("self_hosted");
    const char *foreign = key_new(other, brand_new(other), SCOPE_ALL, 1);
    const char *first = key_new(1, 1, SCOPE_ALL, 1);
    const char *second = key_new(1, 0, SCOPE_ALL, 1);
    assert_true(visit_run(with_key(with_idempotency(adding(&write_op, 1), "k"), first))->call.ok);
    assert_answer(visit_run(with_key(with_idempotency(adding(&write_op, 2), "k"), foreign)), 201, "{\"id\":2,\"run\":2}");
    struct visit *colleague = with_key(with_idempotency(adding(&write_op, 1), "k"), second);
    colleague->call.credentials.brand = brand_wire_id(1);
    assert_true(visit_run(colleague)->call.replayed);
}

/* */
static void test_replays_count_against_the_window(void **state)
{
    (void)state;
    static const struct rate_policy two_a_minute = { .name = "test", .index = 1000, .limit = 2, .window_s = 60 };
    struct operation limited_op = write_op;
    limited_op.policy = &two_a_minute;
    const char *key = key_new(1, 1, SCOPE_ALL, 1);
    assert_true(visit_run(with_key(with_idempotency(adding(&limited_op, 1), "k"), key))->call.ok);
    assert_true(visit_run(with_key(with_idempotency(adding(&limited_op, 1), "k"), key))->call.replayed);
    assert_refusal(visit_run(with_key(with_idempotency(adding(&limited_op, 1), "k"), key)), ERR_RATE_LIMITED, "", "");
}

/* */
static void test_a_success_may_release_its_key(void **state)
{
    (void)state;
    plan.keep_no_key = true;
    plan.charge_nothing = true;
    assert_true(visit_run(with_idempotency(adding(&fixed_op, 1), "k"))->call.ok);
    assert_int_equal(kept_keys(), 0);
    assert_int_equal(audit_rows(), 1);
    plan.keep_no_key = false;
    plan.charge_nothing = false;
    assert_answer(visit_run(with_idempotency(adding(&fixed_op, 2), "k")), 201, "{\"id\":2,\"run\":2}");
    assert_int_equal(charged(), 5);
}

/* The refusal of an input comes behind the claim, so a replay is a replay although the input is broken now. */
static void test_a_claim_comes_before_the_input(void **state)
{
    (void)state;
    struct visit *broken = with_idempotency(adding(&write_op, 1), "k");
    fail(&broken->call.input.refusal, ERR_INVALID_REQUEST, "body", "Broken.");
    assert_refusal(visit_run(broken), ERR_INVALID_REQUEST, "body", "Broken");
    assert_int_equal(kept_keys(), 0);
    assert_true(visit_run(with_idempotency(adding(&write_op, 1), "k"))->call.ok);
    broken = with_idempotency(adding(&write_op, 1), "k");
    fail(&broken->call.input.refusal, ERR_INVALID_REQUEST, "body", "Broken.");
    assert_true(visit_run(broken)->call.replayed);
}

/* ---- Duplicates at the same time ---- */

enum { DUPLICATES = 12 };

static void assert_one_worked(struct visit *const *visits, int count, const char *answer)
{
    int replayed = 0;
    for (int i = 0; i < count; i++) {
        finish(visits[i]);
        assert_answer(visits[i], 201, answer);
        replayed += visits[i]->call.replayed;
    }
    assert_int_equal(replayed, count - 1);
    assert_int_equal(plan.runs, 1);
    assert_int_equal(item_count(), 1);
    assert_int_equal(audit_rows(), 1);
}

static void test_duplicates_wait_in_the_process(void **state)
{
    (void)state;
    open_service();
    plan.sleep_ms = 200;
    struct visit *visits[DUPLICATES];
    for (int i = 0; i < DUPLICATES; i++) {
        visits[i] = with_idempotency(adding(&write_op, 1), "same");
        start(visits[i]);
    }
    /* They hold no thread meanwhile: another call comes through although there are fewer threads than duplicates. */
    struct visit *other = visit_run(with_idempotency(visit_new(&write_op, "{\"id\":1,\"wrong\":1}"), "other"));
    assert_refusal(other, ERR_INVALID_REQUEST, "wrong", "");
    assert_one_worked(visits, DUPLICATES, "{\"id\":1,\"run\":1}");
}

/* A duplicate passes the checks once, however long it waits: the window counts it once. */
static void test_a_duplicate_counts_once(void **state)
{
    (void)state;
    static const struct rate_policy two_a_minute = { .name = "test", .index = 1000, .limit = 2, .window_s = 60 };
    struct operation limited_op = write_op;
    limited_op.policy = &two_a_minute;
    const char *key = key_new(1, 1, SCOPE_ALL, 1);
    plan.sleep_ms = 200;
    struct visit *first = with_key(with_idempotency(adding(&limited_op, 1), "same"), key);
    struct visit *second = with_key(with_idempotency(adding(&limited_op, 1), "same"), key);
    start(first);
    start(second);
    finish(first);
    finish(second);
    assert_true(first->call.ok && second->call.ok && first->call.replayed != second->call.replayed);
}

/* When the first fails, the next one works. */
static void test_a_duplicate_takes_over(void **state)
{
    (void)state;
    open_service();
    plan.sleep_ms = 100;
    plan.fail_times = 1;
    plan.fail_state = "22012";
    struct visit *visits[4];
    int failed = 0;
    for (int i = 0; i < 4; i++) {
        visits[i] = with_idempotency(adding(&write_op, 1), "same");
        start(visits[i]);
    }
    for (int i = 0; i < 4; i++) {
        finish(visits[i]);
        failed += !visits[i]->call.ok;
    }
    assert_int_equal(failed, 1);
    assert_int_equal(plan.runs, 2);
    assert_int_equal(item_count(), 1);
}

/* A call that waits for its duplicate has no statement that could be stopped; the one that works has. */
static void test_cancelling_a_waiting_duplicate(void **state)
{
    (void)state;
    open_service();
    plan.is_held = true;
    struct visit *first = with_idempotency(adding(&write_op, 1), "same");
    struct visit *second = with_idempotency(adding(&write_op, 1), "same");
    struct visit *third = with_idempotency(adding(&write_op, 1), "same");
    start(first);
    await_runs(1);
    start(second);
    start(third);
    usleep(100000); /* so that it mostly waits; a call that is cancelled before has the same answer */
    api_cancel(api, &second->call);
    plan.is_held = false;
    finish(first);
    finish(second);
    finish(third);
    assert_answer(first, 201, "{\"id\":1,\"run\":1}");
    assert_refusal(second, ERR_SERVICE_UNAVAILABLE, "", "cancelled");
    assert_true(third->call.ok && third->call.replayed);
}

NUMBER_QUERY(wait_for_release, "select 1::bigint from " WAIT_FOR_RELEASE, 0);

static bool wait_in_a_statement(struct op_context *ctx, const void *args, struct reply *reply, struct error *err)
{
    (void)args;
    json_raw(&reply->json, "{}");
    return db_run(ctx->work.conn, ctx->work.arena, &wait_for_release, NULL, NULL, err);
}

/* The connection that a duplicate came by works for others while it waits; stopping the duplicate leaves them alone. */
static void test_a_waiting_duplicate_has_no_connection(void **state)
{
    (void)state;
    struct operation held_op = write_op;
    held_op.handler = wait_in_a_statement;
    api_free(api, 1000);
    api = service_new((struct api_config){ .quick_threads = 3 });
    open_service();
    plan.is_held = true;
    hold_statements();
    struct visit *first = with_idempotency(adding(&write_op, 1), "same");
    struct visit *waiting = with_idempotency(adding(&write_op, 1), "same");
    struct visit *other = visit_new(&held_op, "{\"id\":2}");
    start(first);
    await_runs(1);
    start(waiting);
    start(other);
    await_number(held_statements, 1);
    api_cancel(api, &waiting->call);
    release_statements();
    finish(other);
    assert_answer(other, 201, "{}");
    plan.is_held = false;
    finish(first);
    finish(waiting);
    assert_refusal(waiting, ERR_SERVICE_UNAVAILABLE, "", "cancelled");
}

/* the same key of another organization is another key, also while it is at work. */
static void test_organizations_do_not_wait_for_each_other(void **state)
{
    (void)state;
    open_service();
    int64_t other = organization_new("self_hosted");
    const char *foreign = key_new(other, brand_new(other), SCOPE_ALL, 1);
    plan.is_held = true;
    struct visit *ours = with_idempotency(adding(&write_op, 1), "same");
    struct visit *theirs = with_key(with_idempotency(adding(&write_op, 2), "same"), foreign);
    start(ours);
    start(theirs);
    await_runs(2);
    assert_false(is_answered(ours));
    plan.is_held = false;
    finish(ours);
    finish(theirs);
    assert_true(ours->call.ok && theirs->call.ok && !theirs->call.replayed);
}

/* Another process: its claim is waited for in the database. */
static void test_duplicates_wait_in_the_database(void **state)
{
    (void)state;
    open_service();
    struct api *other = service_new((struct api_config){ .quick_threads = 2 });
    plan.sleep_ms = 200;
    struct visit *visits[4];
    for (int i = 0; i < 4; i++) {
        visits[i] = with_idempotency(adding(&write_op, 1), "same");
        api_submit(i % 2 == 0 ? api : other, &visits[i]->call);
    }
    assert_one_worked(visits, 4, "{\"id\":1,\"run\":1}");
    api_free(other, 1000);
}

/* Not for ever: after five seconds the caller is told to come back. */
static void test_a_claim_that_lasts(void **state)
{
    (void)state;
    open_service();
    unsigned char hash[SECRET_HASH_BYTES];
    char hex[2 * SECRET_HASH_BYTES + 1];
    secret_hash("same", hash);
    hex_encode(hash, sizeof(hash), hex);
    run_sql("begin; insert into idempotency_keys (organization_id, key_hash, fingerprint, operation, created_at)"
            " values (1, '\\x%s', '', 'x', now())",
            hex);
    int64_t start_us = clock_monotonic_us();
    struct visit *visit = visit_run(with_idempotency(adding(&write_op, 1), "same"));
    assert_refusal(visit, ERR_IDEMPOTENCY_IN_PROGRESS, "", "still in progress");
    assert_true(clock_monotonic_us() - start_us > 4 * US_PER_S);
    assert_int_equal(plan.runs, 0);
    run_sql("rollback");
    assert_true(visit_run(with_idempotency(adding(&write_op, 1), "same"))->call.ok);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLAN_TEST(test_replays),
        PLAN_TEST(test_a_key_in_the_body),
        PLAN_TEST(test_a_bad_key_in_the_body),
        PLAN_TEST(test_other_arguments_conflict),
        PLAN_TEST(test_the_same_request_in_other_words),
        PLAN_TEST(test_the_length_of_keys),
        PLAN_TEST(test_keys_that_are_not_honoured),
        PLAN_TEST(test_keys_live_a_day),
        PLAN_TEST(test_keys_belong_to_an_organization),
        PLAN_TEST(test_replays_count_against_the_window),
        PLAN_TEST(test_a_success_may_release_its_key),
        PLAN_TEST(test_a_claim_comes_before_the_input),
        PLAN_TEST(test_duplicates_wait_in_the_process),
        PLAN_TEST(test_a_duplicate_counts_once),
        PLAN_TEST(test_a_duplicate_takes_over),
        PLAN_TEST(test_cancelling_a_waiting_duplicate),
        PLAN_TEST(test_a_waiting_duplicate_has_no_connection),
        PLAN_TEST(test_organizations_do_not_wait_for_each_other),
        PLAN_TEST(test_duplicates_wait_in_the_database),
        PLAN_TEST(test_a_claim_that_lasts),
    };
    return cmocka_run_group_tests_name("api: idempotency", tests, world_begin, group_teardown);
}
