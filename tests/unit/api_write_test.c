/*
 * Writes: one transaction for the work, the key, the charge, the stored answer
 * and the audit row; repeated when the database asks for it.
 */
#include "api_world.h"

/* ---- Hand-made operations: they insert one item ---- */

struct item {
    int64_t id;
    const char *note;
};
static const struct arg_field item_fields[] = {
    { .name = "id", .kind = ARG_INTEGER, .place = ARG_IN_BODY, .offset = offsetof(struct item, id), .required = true, .minimum = 0, .maximum = 1e9 },
    { .name = "note", .kind = ARG_TEXT, .place = ARG_IN_BODY, .offset = offsetof(struct item, note), .max_size = 100 },
};
static const struct arg_shape item_args = { item_fields, ARRAY_COUNT(item_fields), sizeof(struct item) };

/* What the handler does besides; set by a test before its calls, read by the threads. */
static struct {
    _Atomic int runs;
    int fail_times;       /* the first runs fail with fail_state */
    const char *fail_state;
    int64_t items;        /* reply->item_count */
    bool charge_nothing;
    bool keep_no_key;
    int subjects;
    bool enqueue;
    int sleep_ms;
} plan;

static int fresh_plan(void **state)
{
    int failed = world_setup(state);
    memset(&plan, 0, sizeof(plan));
    plan.items = 1;
    return failed;
}

static bool add_one_item(struct request *rq, const void *args, struct reply *reply, struct error *err)
{
    const struct item *item = args;
    int run = ++plan.runs;
    if (plan.sleep_ms > 0)
        usleep((useconds_t)plan.sleep_ms * 1000);
    if (!db_run(rq->work.conn, rq->work.arena, &add_item, &(struct number){ item->id }, NULL, err))
        return false;
    /* Written before the failure, so that a second try would double it. */
    json_object_begin(&reply->json);
    json_member_int(&reply->json, "id", item->id);
    json_member_int(&reply->json, "run", run);
    json_object_end(&reply->json);
    if (run <= plan.fail_times)
        return db_script(rq->work.conn, arena_printf(rq->work.arena, "do $$ begin raise sqlstate '%s'; end $$", plan.fail_state), err);
    for (int i = 0; i < plan.subjects; i++)
        request_subject(rq, arena_printf(rq->work.arena, "itm_%d", i));
    reply->item_count = plan.items;
    reply->charge_nothing = plan.charge_nothing;
    reply->keep_no_key = plan.keep_no_key;
    if (plan.enqueue)
        return request_enqueue(rq, reply, "test.kind", "{\"item\":5}", rq->work.now_us, err);
    return true;
}

#define WRITE                                                                                                                      \
    .id = "items.add", .index = -1, .mode = OP_WRITE, .reach = REACH_BRAND, .status = 201, .query_budget = 10, .built = true,      \
    .idempotent_key = true, .args = &item_args, .handler = add_one_item

static const struct operation write_op = { WRITE };
static const struct operation fixed_op = { WRITE, .price = { PRICE_FIXED, 5, "adding" } };
static const struct operation per_item_op = { WRITE, .price = { PRICE_PER_ITEM, 2, "adding" } };
static const struct operation metered_op = { WRITE, .price = { PRICE_METERED, 3, "adding" } };

static struct visit *adding(const struct operation *op, int id)
{
    return visit_new(op, arena_printf(arena, "{\"id\":%d}", id));
}

static struct visit *with_idempotency(struct visit *visit, const char *key)
{
    visit->call.idempotency_key = key;
    return visit;
}

static int64_t audit_rows(void)
{
    return number_of("select count(*) from audit_log");
}

static int64_t charged(void)
{
    return number_of("select coalesce(sum(used), 0)::bigint from credit_usage");
}

static int64_t kept_keys(void)
{
    return number_of("select count(*) from idempotency_keys");
}

/* ---- The transaction ---- */

static void test_a_write_commits(void **state)
{
    (void)state;
    assert_answer(visit_run(adding(&write_op, 1)), 201, "{\"id\":1,\"run\":1}");
    assert_int_equal(item_count(), 1);
    assert_int_equal(audit_rows(), 1);
    assert_int_equal(charged(), 0);
    assert_int_equal(kept_keys(), 0);
}

/* a refusal leaves nothing behind. */
static void test_a_failed_write_leaves_nothing(void **state)
{
    (void)state;
    plan.fail_times = 1;
    plan.fail_state = "22012";
    assert_refusal(visit_run(with_idempotency(adding(&fixed_op, 1), "k")), ERR_INTERNAL_ERROR, "", "unexpected");
    assert_int_equal(plan.runs, 1);
    assert_int_equal(item_count(), 0);
    assert_int_equal(audit_rows(), 0);
    assert_int_equal(charged(), 0);
    assert_int_equal(kept_keys(), 0);
    /* So the same key is fresh, and R-155 nothing was charged. */
    assert_answer(visit_run(with_idempotency(adding(&fixed_op, 1), "k")), 201, "{\"id\":1,\"run\":2}");
}

static void test_input_is_refused_before_the_work(void **state)
{
    (void)state;
    struct visit *visit = adding(&write_op, 1);
    fail(&visit->call.input.refusal, ERR_INVALID_REQUEST, "body", "Broken.");
    assert_refusal(visit_run(visit), ERR_INVALID_REQUEST, "body", "Broken");
    assert_refusal(visit_run(visit_new(&write_op, "{\"id\":\"1\"}")), ERR_INVALID_REQUEST, "id", "whole number");
    assert_refusal(visit_run(visit_new(&write_op, "{}")), ERR_INVALID_REQUEST, "id", "required");
    assert_int_equal(plan.runs, 0);
    assert_int_equal(audit_rows(), 0);
}

/* ---- Trying again ---- */

static void test_conflicts_are_tried_again(void **state)
{
    (void)state;
    static const char *const retryable[] = { "40001", "40P01" };
    for (int i = 0; i < 2; i++) {
        plan.runs = 0;
        plan.fail_times = 3;
        plan.fail_state = retryable[i];
        /* The answer is that of the last try alone. */
        assert_answer(visit_run(with_idempotency(adding(&fixed_op, i + 1), retryable[i])), 201, arena_printf(arena, "{\"id\":%d,\"run\":4}", i + 1));
        assert_int_equal(item_count(), i + 1);
        assert_int_equal(audit_rows(), i + 1);
        assert_int_equal(charged(), 5 * (i + 1));
    }
}

static void test_not_for_ever(void **state)
{
    (void)state;
    plan.fail_times = 100;
    plan.fail_state = "40001";
    struct visit *visit = visit_run(adding(&write_op, 1));
    assert_refusal(visit, ERR_SERVICE_UNAVAILABLE, "", "conflicting change");
    assert_true(visit->call.error.retry_after_s > 0);
    assert_int_equal(plan.runs, 4);
    assert_int_equal(item_count(), 0);
}

static void test_other_failures_are_not_tried_again(void **state)
{
    (void)state;
    static const char *const final[] = { "55P03", "57014", "23505", "22003", "P0001" };
    for (size_t i = 0; i < ARRAY_COUNT(final); i++) {
        plan.runs = 0;
        plan.fail_times = 1;
        plan.fail_state = final[i];
        assert_false(visit_run(adding(&write_op, 1))->call.ok);
        assert_int_equal(plan.runs, 1);
    }
    assert_int_equal(item_count(), 0);
}

/* A conflict of two real transactions. */
NUMBER_COMMAND(shift_items, "update items set id = id + $1");
NUMBER_QUERY(sleep_then_count, "select count(*) from items, pg_sleep(0.3)", 0);

static bool shift_all(struct request *rq, const void *args, struct reply *reply, struct error *err)
{
    (void)args;
    plan.runs++;
    json_raw(&reply->json, "{}");
    return db_script(rq->work.conn, "set transaction isolation level serializable; select count(*) from items", err) &&
           db_run(rq->work.conn, rq->work.arena, &sleep_then_count, NULL, NULL, err) &&
           db_run(rq->work.conn, rq->work.arena, &shift_items, &(struct number){ 100 }, NULL, err);
}

static void test_real_conflicts_are_cured(void **state)
{
    (void)state;
    static const struct arg_shape no_args = { NULL, 0, 0 };
    static const struct operation shift_op = { .id = "items.shift", .index = -1, .mode = OP_WRITE, .reach = REACH_BRAND, .status = 200,
                                               .query_budget = 10, .built = true, .args = &no_args,
                                               .handler = shift_all };
    run_sql("insert into items values (1)");
    struct visit *first = visit_new(&shift_op, NULL);
    struct visit *second = visit_new(&shift_op, NULL);
    start(first);
    start(second);
    finish(first);
    finish(second);
    assert_answer(first, 200, "{}");
    assert_answer(second, 200, "{}");
    assert_int_equal(plan.runs, 3);
    assert_int_equal(number_of("select id from items"), 201);
}

/* ---- The audit row ---- */

static void test_the_audit_row(void **state)
{
    (void)state;
    plan.subjects = 2;
    const char *key = key_new(1, 1, SCOPE_ALL, 1);
    struct visit *visit = with_key(adding(&write_op, 1), key);
    visit->call.door = DOOR_MCP_HTTP;
    visit->call.client = "claude/2";
    assert_true(visit_run(visit)->call.ok);
    assert_string_equal(text_of("select concat_ws('|', organization_id, brand_id, door, client, operation, array_to_string(subjects, ',')) from audit_log"),
                        "1|1|mcp|claude/2|items.add|itm_0,itm_1");
    assert_string_equal(text_of("select request_id from audit_log"), visit->call.request_id);
    assert_int_equal(number_of("select key_id from audit_log"), visit->call.who.key_id);
    assert_int_equal(number_of("select count(*) from audit_log where occurred_at between now() - interval '1 minute' and now() + interval '1 minute'"), 1);

    /* The local owner has no key, a client may be unknown, and subjects are bounded. */
    run_sql("delete from audit_log");
    plan.subjects = REQUEST_MAX_SUBJECTS + 5;
    visit = adding(&write_op, 2);
    visit->call.client = NULL;
    assert_true(visit_run(visit)->call.ok);
    assert_int_equal(number_of("select cardinality(subjects)::bigint from audit_log where key_id is null and client is null"), REQUEST_MAX_SUBJECTS);
}

static void test_doors_have_names(void **state)
{
    (void)state;
    static const char *const names[] = { [DOOR_STDIO] = "stdio", [DOOR_MCP_HTTP] = "mcp", [DOOR_REST] = "rest", [DOOR_COMMAND_LINE] = "cli",
                                         [DOOR_EMBEDDED] = "embedded" };
    for (size_t door = 0; door < ARRAY_COUNT(names); door++)
        assert_string_equal(dispatch_door_name((enum door)door), names[door]);
}

/* ---- Prices ---- */

/* R-152 … R-154: fixed prices are told, metered ones are not, both are charged. */
static void test_prices(void **state)
{
    (void)state;
    struct visit *visit = visit_run(adding(&fixed_op, 1));
    assert_int_equal(visit->call.credit_cost, 5);
    assert_int_equal(charged(), 5);

    plan.items = 7;
    visit = visit_run(adding(&per_item_op, 2));
    assert_int_equal(visit->call.credit_cost, 14);
    assert_int_equal(charged(), 19);

    visit = visit_run(adding(&metered_op, 3));
    assert_int_equal(visit->call.credit_cost, -1);
    assert_int_equal(charged(), 19 + 21);

    visit = visit_run(adding(&write_op, 4));
    assert_int_equal(visit->call.credit_cost, -1);
    assert_int_equal(charged(), 40);
    /* One row a calendar month (UTC). */
    assert_int_equal(number_of("select count(*) from credit_usage where period_start = date_trunc('month', now() at time zone 'UTC')::date"), 1);
}

/* a success that is not billed says so. */
static void test_an_unbilled_success(void **state)
{
    (void)state;
    plan.charge_nothing = true;
    assert_int_equal(visit_run(adding(&fixed_op, 1))->call.credit_cost, 0);
    assert_int_equal(visit_run(adding(&metered_op, 2))->call.credit_cost, -1);
    assert_int_equal(charged(), 0);
    assert_int_equal(item_count(), 2);
}

/* refused up front, before any work. */
static void test_an_empty_balance(void **state)
{
    (void)state;
    run_sql("update organizations set plan = 'trial'");
    run_sql("insert into credit_usage values (1, date_trunc('month', now() at time zone 'UTC')::date, 96)");
    struct visit *visit = visit_run(adding(&fixed_op, 1));
    assert_refusal(visit, ERR_INSUFFICIENT_CREDITS, "", "needs 5 credits and 4 are left");
    assert_int_equal(visit->call.credit_cost, -1);
    assert_int_equal(plan.runs, 0);
    assert_int_equal(charged(), 96);
    /* What is free needs none; what fits is done; the bonus counts. */
    assert_true(visit_run(adding(&write_op, 2))->call.ok);
    assert_true(visit_run(adding(&metered_op, 3))->call.ok);
    assert_int_equal(charged(), 99);
    run_sql("update organizations set bonus_credits = 4");
    assert_true(visit_run(adding(&fixed_op, 4))->call.ok);
    assert_int_equal(charged(), 104);
    /* the next period begins anew. */
    clock_set_offset_us(32 * INT64_C(86400) * US_PER_S);
    assert_true(visit_run(adding(&fixed_op, 5))->call.ok);
    assert_int_equal(number_of("select count(*) from credit_usage"), 2);
}

/* ---- Idempotency ---- */

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
    key[100] = '\0';
    assert_true(visit_run(with_idempotency(adding(&write_op, 1), key))->call.ok);
    assert_int_equal(plan.runs, 1);
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
    plan.sleep_ms = 300;
    struct visit *first = with_idempotency(adding(&write_op, 1), "same");
    struct visit *second = with_idempotency(adding(&write_op, 1), "same");
    struct visit *third = with_idempotency(adding(&write_op, 1), "same");
    start(first);
    while (plan.runs == 0)
        usleep(1000);
    start(second);
    start(third);
    usleep(100000);
    api_cancel(api, &second->call);
    finish(first);
    finish(second);
    finish(third);
    assert_answer(first, 201, "{\"id\":1,\"run\":1}");
    assert_refusal(second, ERR_SERVICE_UNAVAILABLE, "", "cancelled");
    assert_true(third->call.ok && third->call.replayed);
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
            " values (1, '\\x%s', '', 'x', now())", hex);
    int64_t start_us = clock_monotonic_us();
    struct visit *visit = visit_run(with_idempotency(adding(&write_op, 1), "same"));
    assert_refusal(visit, ERR_IDEMPOTENCY_IN_PROGRESS, "", "still being worked on");
    int64_t took_us = clock_monotonic_us() - start_us;
    assert_true(took_us > 4 * US_PER_S && took_us < 8 * US_PER_S);
    assert_int_equal(plan.runs, 0);
    run_sql("rollback");
    assert_true(visit_run(with_idempotency(adding(&write_op, 1), "same"))->call.ok);
}

static void test_many_writers(void **state)
{
    (void)state;
    /* Opens the installation from many threads at once. */
    struct visit *visits[60];
    for (int i = 0; i < 60; i++) {
        visits[i] = adding(&fixed_op, i);
        if (i % 2 == 0)
            with_idempotency(visits[i], arena_printf(arena, "key-%d", i));
        start(visits[i]);
    }
    for (int i = 0; i < 60; i++) {
        finish(visits[i]);
        assert_true(visits[i]->call.ok);
    }
    assert_int_equal(item_count(), 60);
    assert_int_equal(audit_rows(), 60);
    assert_int_equal(charged(), 300);
    assert_int_equal(kept_keys(), 30);
}

/* ---- Cancelling a write ---- */

static void test_a_cancelled_write_leaves_nothing(void **state)
{
    (void)state;
    open_service();
    struct error err;
    DB_CONN_SCOPE other = NULL;
    assert_ok(db_connect(db, 1000, &other, &err), &err);
    assert_ok(db_script(other, "begin; insert into items values (1)", &err), &err);
    struct visit *visit = with_idempotency(adding(&fixed_op, 1), "k");
    start(visit);
    await_number("select count(*) from pg_stat_activity where wait_event_type = 'Lock'", 1);
    api_cancel(api, &visit->call);
    finish(visit);
    assert_refusal(visit, ERR_SERVICE_UNAVAILABLE, "", "stopped");
    assert_ok(db_script(other, "rollback", &err), &err);
    assert_int_equal(audit_rows() + charged() + kept_keys() + item_count(), 0);
    assert_true(visit_run(with_idempotency(adding(&fixed_op, 1), "k"))->call.ok);
}

/* ---- Jobs of a write ---- */

static void test_a_write_may_leave_a_job(void **state)
{
    (void)state;
    struct error err;
    open_service();
    plan.enqueue = true;
    assert_ok(db_listen(conn, "posthorn_work", &err), &err);
    assert_answer(visit_run(with_idempotency(adding(&write_op, 1), "k")), 201, "{\"id\":1,\"run\":1}");
    assert_string_equal(text_of("select concat_ws('|', kind, state, organization_id, brand_id, payload->>'item', call is null) from jobs"),
                        "test.kind|queued|1|1|5|t");
    /* The workers are told after the commit. */
    bool got = false;
    struct db_notice notice;
    assert_ok(db_notice_take(conn, arena, 2000, &got, &notice, &err), &err);
    assert_true(got);
    assert_string_equal(notice.channel, "posthorn_work");
    /* Its answer is the handler's own, so a replay enqueues nothing. */
    assert_true(visit_run(with_idempotency(adding(&write_op, 1), "k"))->call.replayed);
    assert_int_equal(number_of("select count(*) from jobs"), 1);
    plan.runs = 0;
    plan.fail_times = 1;
    plan.fail_state = "22012";
    assert_false(visit_run(adding(&write_op, 2))->call.ok);
    assert_int_equal(number_of("select count(*) from jobs"), 1);
}

#define PLAN_TEST(function) cmocka_unit_test_setup_teardown(function, fresh_plan, world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLAN_TEST(test_a_write_commits),
        PLAN_TEST(test_a_failed_write_leaves_nothing),
        PLAN_TEST(test_input_is_refused_before_the_work),
        PLAN_TEST(test_conflicts_are_tried_again),
        PLAN_TEST(test_not_for_ever),
        PLAN_TEST(test_other_failures_are_not_tried_again),
        PLAN_TEST(test_real_conflicts_are_cured),
        PLAN_TEST(test_the_audit_row),
        PLAN_TEST(test_doors_have_names),
        PLAN_TEST(test_prices),
        PLAN_TEST(test_an_unbilled_success),
        PLAN_TEST(test_an_empty_balance),
        PLAN_TEST(test_replays),
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
        PLAN_TEST(test_a_duplicate_takes_over),
        PLAN_TEST(test_cancelling_a_waiting_duplicate),
        PLAN_TEST(test_duplicates_wait_in_the_database),
        PLAN_TEST(test_a_claim_that_lasts),
        PLAN_TEST(test_many_writers),
        PLAN_TEST(test_a_cancelled_write_leaves_nothing),
        PLAN_TEST(test_a_write_may_leave_a_job),
    };
    return cmocka_run_group_tests_name("api: writes", tests, world_begin, group_teardown);
}
