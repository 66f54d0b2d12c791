/* Writes: one transaction for the work, the charge and the audit row, with a retry when the database asks for one. */
#include "fixtures/api_items.h"

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

static void test_a_write_that_needs_too_much_memory_leaves_nothing(void **state)
{
    (void)state;
    plan.eats = true;
    assert_refusal(visit_run(with_idempotency(adding(&fixed_op, 1), "k")), ERR_PAYLOAD_TOO_LARGE, "", "more memory");
    assert_int_equal(plan.runs, 1);
    assert_int_equal(item_count(), 0);
    assert_int_equal(audit_rows(), 0);
    assert_int_equal(charged(), 0);
    assert_int_equal(kept_keys(), 0);
    plan.eats = false;
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

static int rooms; /* how often the transport still has room */

static bool has_room_at_first(struct call *call, struct error *err)
{
    (void)call;
    return rooms-- > 0 || fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "No room.");
}

/* A write is refused before its work, and never after it. */
static void test_room_for_the_answer_is_asked_for_before_the_work(void **state)
{
    (void)state;
    rooms = 0;
    struct visit *refused = with_idempotency(adding(&fixed_op, 1), "k");
    refused->call.has_room = has_room_at_first;
    assert_refusal(visit_run(refused), ERR_SERVICE_UNAVAILABLE, "", "No room");
    assert_int_equal(plan.runs, 0);
    assert_int_equal(audit_rows(), 0);
    assert_int_equal(kept_keys(), 0);
    rooms = 1;
    struct visit *done = with_idempotency(adding(&fixed_op, 1), "k");
    done->call.has_room = has_room_at_first;
    assert_answer(visit_run(done), 201, "{\"id\":1,\"run\":1}");
    assert_int_equal(rooms, 0);
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
        assert_answer(visit_run(with_idempotency(adding(&fixed_op, i + 1), retryable[i])), 201,
                      arena_printf(arena, "{\"id\":%d,\"run\":4}", i + 1));
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
NUMBER_QUERY(wait_then_count, "select count(*) from items, " WAIT_FOR_RELEASE, 0);

static bool shift_all(struct op_context *ctx, const void *args, struct reply *reply, struct error *err)
{
    (void)args;
    plan.runs++;
    json_raw(&reply->json, "{}");
    return db_script(ctx->work.conn, "set transaction isolation level serializable; select count(*) from items", err) &&
           db_run(ctx->work.conn, ctx->work.arena, &wait_then_count, NULL, NULL, err) &&
           db_run(ctx->work.conn, ctx->work.arena, &shift_items, &(struct number){ 100 }, NULL, err);
}

static void test_real_conflicts_are_cured(void **state)
{
    (void)state;
    static const struct operation shift_op = { .id = "items.shift",
                                               .index = -1,
                                               .mode = OP_WRITE,
                                               .reach = REACH_BRAND,
                                               .status = 200,
                                               .query_budget = 10,
                                               .built = true,
                                               .args = &no_args,
                                               .handler = shift_all };
    run_sql("insert into items values (1)");
    struct visit *first = visit_new(&shift_op, NULL);
    struct visit *second = visit_new(&shift_op, NULL);
    hold_statements();
    start(first);
    start(second);
    await_number(held_statements, 2); /* both have read the items */
    release_statements();
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
    visit->call.transport = TRANSPORT_MCP_HTTP;
    visit->call.client = "claude/2";
    assert_true(visit_run(visit)->call.ok);
    assert_string_equal(text_of("select concat_ws('|', organization_id, brand_id, door, client, operation, "
                                "array_to_string(subjects, ',')) from audit_log"),
                        "1|1|mcp|claude/2|items.add|itm_0,itm_1");
    assert_string_equal(text_of("select request_id from audit_log"), visit->call.request_id);
    assert_int_equal(number_of("select key_id from audit_log"), visit->call.who.key_id);
    assert_int_equal(
        number_of(
            "select count(*) from audit_log where occurred_at between now() - interval '1 minute' and now() + interval '1 minute'"),
        1);

    /* The local owner has no key, a client may be unknown, and subjects are bounded. */
    run_sql("delete from audit_log");
    plan.subjects = OP_CONTEXT_MAX_SUBJECTS + 5;
    visit = adding(&write_op, 2);
    visit->call.client = NULL;
    assert_true(visit_run(visit)->call.ok);
    assert_int_equal(number_of("select cardinality(subjects)::bigint from audit_log where key_id is null and client is null"),
                     OP_CONTEXT_MAX_SUBJECTS);
}

static void test_transports_have_names(void **state)
{
    (void)state;
    static const char *const names[] = {
        [TRANSPORT_STDIO] = "stdio",      [TRANSPORT_MCP_HTTP] = "mcp",      [TRANSPORT_REST] = "rest",
        [TRANSPORT_COMMAND_LINE] = "cli", [TRANSPORT_EMBEDDED] = "embedded", [TRANSPORT_MAIL] = "mail"
    };
    for (size_t transport = 0; transport < ARRAY_COUNT(names); transport++)
        assert_string_equal(dispatch_transport_name((enum transport)transport), names[transport]);
}

/* ---- Prices ---- */

/* fixed prices are told, metered ones are not, both are charged. */
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
    assert_int_equal(
        number_of("select count(*) from credit_usage where period_start = date_trunc('month', now() at time zone 'UTC')::date"), 1);
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
    assert_refusal(visit, ERR_INSUFFICIENT_CREDITS, "", "needs 5 credits, but 4 are left");
    assert_int_equal(visit->call.credit_cost, -1);
    assert_int_equal(plan.runs, 0);
    assert_int_equal(charged(), 96);
    /* A free call needs no credits. A call within the balance succeeds. Bonus credits count. */
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

/* calls at the same time spend no credit twice. */
static void test_calls_at_once_do_not_overdraw(void **state)
{
    (void)state;
    enum { CALLS = 4 };
    open_service();
    run_sql("update organizations set plan = 'trial'");
    run_sql("insert into credit_usage values (1, date_trunc('month', now() at time zone 'UTC')::date, 89)");
    plan.sleep_ms = 300;
    struct visit *visits[CALLS];
    int paid = 0;
    for (int i = 0; i < CALLS; i++) {
        visits[i] = adding(&fixed_op, i + 1);
        start(visits[i]);
    }
    for (int i = 0; i < CALLS; i++) {
        finish(visits[i]);
        paid += visits[i]->call.ok;
        assert_true(visits[i]->call.ok || visits[i]->call.error.code == ERR_INSUFFICIENT_CREDITS);
    }
    assert_int_equal(paid, 2);
    assert_int_equal(charged(), 99);
    /* The number of items is known after the work. */
    plan.sleep_ms = 0;
    plan.items = 3;
    run_sql("update credit_usage set used = 95");
    assert_refusal(visit_run(adding(&per_item_op, 20)), ERR_INSUFFICIENT_CREDITS, "", "needs 6 credits, but 5 are left");
    assert_int_equal(charged(), 95);
    assert_int_equal(number_of("select count(*) from items where id = 20"), 0);
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

static void test_only_the_declared_job(void **state)
{
    (void)state;
    static const struct job_declaration other = { .name = "test.other", .pool = "work" };
    open_service();
    plan.enqueue = true;
    plan.job = &other;
    assert_refusal(visit_run(adding(&write_op, 1)), ERR_INTERNAL_ERROR, "", "items.add does not declare the job test.other");
    assert_int_equal(number_of("select count(*) from jobs") + item_count(), 0);
}

static void test_a_write_may_leave_a_job(void **state)
{
    (void)state;
    struct error err;
    open_service();
    plan.enqueue = true;
    assert_ok(db_listen(conn, "posthorn_work", &err), &err);
    assert_answer(visit_run(with_idempotency(adding(&write_op, 1), "k")), 201, "{\"id\":1,\"run\":1}");
    assert_string_equal(
        text_of("select concat_ws('|', kind, state, organization_id, brand_id, payload->>'item', call is null) from jobs"),
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLAN_TEST(test_a_write_commits),
        PLAN_TEST(test_calls_at_once_do_not_overdraw),
        PLAN_TEST(test_a_failed_write_leaves_nothing),
        PLAN_TEST(test_a_write_that_needs_too_much_memory_leaves_nothing),
        PLAN_TEST(test_input_is_refused_before_the_work),
        PLAN_TEST(test_room_for_the_answer_is_asked_for_before_the_work),
        PLAN_TEST(test_conflicts_are_tried_again),
        PLAN_TEST(test_not_for_ever),
        PLAN_TEST(test_other_failures_are_not_tried_again),
        PLAN_TEST(test_real_conflicts_are_cured),
        PLAN_TEST(test_the_audit_row),
        PLAN_TEST(test_transports_have_names),
        PLAN_TEST(test_prices),
        PLAN_TEST(test_an_unbilled_success),
        PLAN_TEST(test_an_empty_balance),
        PLAN_TEST(test_many_writers),
        PLAN_TEST(test_a_cancelled_write_leaves_nothing),
        PLAN_TEST(test_only_the_declared_job),
        PLAN_TEST(test_a_write_may_leave_a_job),
    };
    return cmocka_run_group_tests_name("api: writes", tests, world_begin, group_teardown);
}
