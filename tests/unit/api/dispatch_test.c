/* Dispatch: reads and their pipelining, overload, cancellation, and the other calls of a transport. */
#include "fixtures/api_fixture.h"

/* ---- What handlers may not do ---- */

static bool answer_too_much(struct op_context *ctx, const void *args, struct reply *reply, struct error *err)
{
    (void)args;
    (void)err;
    char *block = arena_alloc(ctx->work.arena, 1 << 20);
    memset(block, 'x', (1 << 20) - 1);
    json_array_begin(&reply->json);
    for (int i = 0; i < 40; i++)
        json_text(&reply->json, block);
    json_array_end(&reply->json);
    return true;
}

static void test_answers_are_bounded(void **state)
{
    (void)state;
    static const struct operation huge_op = { .id = "test.huge",
                                              .index = -1,
                                              .mode = OP_READ,
                                              .reach = REACH_BRAND,
                                              .status = 200,
                                              .built = true,
                                              .args = &no_args,
                                              .handler = answer_too_much };
    assert_refusal(visit_run(visit_new(&huge_op, NULL)), ERR_INTERNAL_ERROR, "", "too large");
}

NUMBER_QUERY(one_number, "select 7::bigint", 0);

static bool ask_three_times(struct op_context *ctx, const void *args, struct reply *reply, struct error *err)
{
    (void)args;
    for (int i = 0; i < 3; i++)
        if (!db_run(ctx->work.conn, ctx->work.arena, &one_number, NULL, NULL, err))
            return false;
    json_raw(&reply->json, "{}");
    return true;
}

static bool leave_open(struct op_context *ctx, const void *args, struct reply *reply, struct error *err)
{
    (void)args;
    struct db_tx forgotten;
    json_raw(&reply->json, "{}");
    return db_tx_begin(ctx->work.conn, &forgotten, err);
}

static void test_promises_are_held_to(void **state)
{
    (void)state;
    struct operation asking_op = { .id = "test.asking",
                                   .index = -1,
                                   .mode = OP_READ,
                                   .reach = REACH_BRAND,
                                   .status = 200,
                                   .built = true,
                                   .args = &no_args,
                                   .handler = ask_three_times,
                                   .query_budget = 3 };
    assert_answer(visit_run(visit_new(&asking_op, NULL)), 200, "{}");
#ifdef POSTHORN_CHECKS
    struct operation greedy_op = asking_op;
    greedy_op.query_budget = 2;
    struct visit *visit = visit_run(visit_new(&greedy_op, NULL));
    assert_refusal(visit, ERR_INTERNAL_ERROR, "", "query budget");
    assert_non_null(strstr(visit->call.error.cause, "3 round trips, 2 declared"));
    struct operation open_op = asking_op;
    open_op.handler = leave_open;
    assert_refusal(visit_run(visit_new(&open_op, NULL)), ERR_INTERNAL_ERROR, "", "left a transaction open");
#else
    (void)leave_open;
#endif
}

/* ---- Singles: many callers' statements in one pipeline ---- */

struct divisor {
    int64_t by;
};
static const struct arg_field divisor_fields[] = {
    { .name = "by",
      .kind = ARG_INTEGER,
      .place = ARG_IN_BODY,
      .offset = offsetof(struct divisor, by),
      .required = true,
      .minimum = -100,
      .maximum = 100 },
};
static const struct arg_shape divisor_args = { .fields = divisor_fields, .count = 1, .size = sizeof(struct divisor) };
NUMBER_QUERY(hundred_by, "select 100 / $1", 1);

static bool bind_divisor(struct op_context *ctx, const void *args, void *params, struct error *err)
{
    const struct divisor *divisor = args;
    assert_int_equal(ctx->work.brand_id, 1);
    if (divisor->by == 13)
        return fail(err, ERR_INVALID_REQUEST, "by", "13 is not bound.");
    *(struct number *)params = (struct number){ divisor->by };
    return true;
}

static bool reply_quotient(struct op_context *ctx, const void *args, const void *rows, size_t count, struct reply *reply,
                           struct error *err)
{
    const struct divisor *divisor = args;
    assert_int_equal(ctx->work.brand_id, 1);
    assert_int_equal(count, 1);
    if (divisor->by == 17)
        return fail(err, ERR_NOT_FOUND, "by", "17 is not answered.");
    json_object_begin(&reply->json);
    json_member_int(&reply->json, "by", divisor->by);
    json_member_int(&reply->json, "quotient", ((const struct number *)rows)->value);
    json_object_end(&reply->json);
    return true;
}

static const struct op_single divide = { &hundred_by, sizeof(struct number), bind_divisor, reply_quotient };
static const struct operation divide_op = { .id = "test.divide",
                                            .index = -1,
                                            .mode = OP_READ,
                                            .reach = REACH_BRAND,
                                            .status = 200,
                                            .query_budget = 1,
                                            .built = true,
                                            .args = &divisor_args,
                                            .single = &divide };

NUMBER_QUERY(wait_for_release, "select 1::bigint from " WAIT_FOR_RELEASE, 0);

static bool wait_then_answer(struct op_context *ctx, const void *args, struct reply *reply, struct error *err)
{
    (void)args;
    json_raw(&reply->json, "{}");
    return db_run(ctx->work.conn, ctx->work.arena, &wait_for_release, NULL, NULL, err);
}
static const struct operation held_op = { .id = "test.held",
                                          .index = -1,
                                          .mode = OP_READ,
                                          .reach = REACH_BRAND,
                                          .status = 200,
                                          .query_budget = 1,
                                          .built = true,
                                          .args = &no_args,
                                          .handler = wait_then_answer };

static void one_reader(size_t queue_max)
{
    api_free(api, 1000);
    api = service_new((struct api_config){ .quick_threads = 1, .slow_threads = 1, .queue_max = queue_max });
    open_service();
}

static struct visit *division(int by)
{
    return visit_new(&divide_op, arena_printf(arena, "{\"by\":%d}", by));
}

static void assert_quotient(struct visit *visit, int by)
{
    assert_answer(visit, 200, arena_printf(arena, "{\"by\":%d,\"quotient\":%d}", by, 100 / by));
}

/* Keeps the only reader busy until free_reader, so that what follows is queued and taken together. */
static struct visit *busy_reader(void)
{
    hold_statements();
    struct visit *held = visit_new(&held_op, NULL);
    start(held);
    await_number(held_statements, 1);
    return held;
}

static void free_reader(struct visit *held)
{
    release_statements();
    finish(held);
}

static void test_a_single_alone(void **state)
{
    (void)state;
    assert_quotient(visit_run(division(7)), 7);
    assert_refusal(visit_run(division(0)), ERR_INTERNAL_ERROR, "", "unexpected");
    assert_refusal(visit_run(division(13)), ERR_INVALID_REQUEST, "by", "13");
    assert_refusal(visit_run(division(17)), ERR_NOT_FOUND, "by", "17");
    assert_refusal(visit_run(division(101)), ERR_INVALID_REQUEST, "by", "between");
}

static void test_singles_answer_their_own_callers(void **state)
{
    (void)state;
    one_reader(100);
    struct visit *held = busy_reader();
    struct visit *visits[40];
    for (int i = 0; i < 40; i++) {
        visits[i] = division(i + 1);
        start(visits[i]);
    }
    free_reader(held);
    for (int i = 0; i < 40; i++) {
        finish(visits[i]);
        if (i + 1 == 13)
            assert_refusal(visits[i], ERR_INVALID_REQUEST, "by", "13");
        else if (i + 1 == 17)
            assert_refusal(visits[i], ERR_NOT_FOUND, "by", "17");
        else
            assert_quotient(visits[i], i + 1);
    }
    /* They did share a pipeline: some calls of the batch waited for others, and none was lost. */
    assert_int_equal(executor_queued(api->reads), 0);
}

/* A statement that fails reaches its own caller only. */
static void test_a_failing_single_fails_alone(void **state)
{
    (void)state;
    one_reader(100);
    struct visit *held = busy_reader();
    struct visit *visits[20];
    for (int i = 0; i < 20; i++) {
        visits[i] = division(i % 5);
        start(visits[i]);
    }
    free_reader(held);
    for (int i = 0; i < 20; i++) {
        finish(visits[i]);
        if (i % 5 == 0)
            assert_refusal(visits[i], ERR_INTERNAL_ERROR, "", "unexpected");
        else
            assert_quotient(visits[i], i % 5);
    }
}

static _Atomic int answered_with_room;

static void count_answer(struct call *call)
{
    answered_with_room += call->ok;
    visit_done(call);
}

static bool has_room_for_three(struct call *call, struct error *err)
{
    assert_int_equal(call->who.organization_id, 1);
    return answered_with_room < 3 || fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "No room.");
}

/* They are admitted together, while there is room for each; then each answer leaves less for the next. */
static void test_singles_share_the_room_for_answers(void **state)
{
    (void)state;
    one_reader(100);
    struct visit *held = busy_reader();
    struct visit *visits[10];
    answered_with_room = 0;
    for (int i = 0; i < 10; i++) {
        visits[i] = division(i + 1);
        visits[i]->call.on_completed = count_answer;
        visits[i]->call.has_room = has_room_for_three;
        start(visits[i]);
    }
    free_reader(held);
    for (int i = 0; i < 10; i++) {
        finish(visits[i]);
        if (visits[i]->call.ok)
            assert_quotient(visits[i], i + 1);
        else
            assert_refusal(visits[i], ERR_SERVICE_UNAVAILABLE, "", "No room");
    }
    assert_int_equal(answered_with_room, 3);
}

static bool has_no_room(struct call *call, struct error *err)
{
    (void)call;
    return fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "No room.");
}

static void test_a_call_without_room_does_nothing(void **state)
{
    (void)state;
    static const struct operation *const ops[] = { &public_op, &brand_op };
    handled = 0;
    for (size_t i = 0; i < ARRAY_COUNT(ops); i++) {
        struct visit *visit = visit_new(ops[i], NULL);
        visit->call.has_room = has_no_room;
        assert_refusal(visit_run(visit), ERR_SERVICE_UNAVAILABLE, "", "No room");
        assert_true(visit->call.error.retry_after_s > 0);
    }
    assert_int_equal(handled, 0);
}

static void test_all_singles_refused(void **state)
{
    (void)state;
    one_reader(100);
    struct visit *held = busy_reader();
    struct visit *visits[5];
    for (int i = 0; i < 5; i++) {
        visits[i] = division(13);
        start(visits[i]);
    }
    free_reader(held);
    for (int i = 0; i < 5; i++) {
        finish(visits[i]);
        assert_refusal(visits[i], ERR_INVALID_REQUEST, "by", "13");
    }
}

/* ---- Calls that need too much memory ---- */

/* Several calls of a test that has one reader: one of them passes the bound of its arena where `hungry` says. */
enum hunger { NOT_HUNGRY, HUNGRY_AT_BIND, HUNGRY_AT_REPLY };

static void eat(struct arena *own)
{
    for (;;)
        arena_alloc(own, 1 << 20);
}

static bool bind_hungry(struct op_context *ctx, const void *args, void *params, struct error *err)
{
    const struct divisor *divisor = args;
    if (divisor->by == HUNGRY_AT_BIND)
        eat(ctx->work.arena);
    return bind_divisor(ctx, args, params, err);
}

static bool reply_hungry(struct op_context *ctx, const void *args, const void *rows, size_t count, struct reply *reply,
                         struct error *err)
{
    const struct divisor *divisor = args;
    if (divisor->by == HUNGRY_AT_REPLY)
        eat(ctx->work.arena);
    return reply_quotient(ctx, args, rows, count, reply, err);
}

static const struct op_single hungry = { &hundred_by, sizeof(struct number), bind_hungry, reply_hungry };

static struct visit *hungry_division(const struct operation *op, int by)
{
    return visit_new(op, arena_printf(arena, "{\"by\":%d}", by));
}

static void test_a_call_that_needs_too_much_memory_fails_alone(void **state)
{
    (void)state;
    struct operation hungry_op = divide_op;
    hungry_op.single = &hungry;
    one_reader(100);
    struct visit *held = busy_reader();
    struct visit *visits[6];
    for (int i = 0; i < 6; i++) {
        visits[i] = hungry_division(&hungry_op, 1 + i % 3);
        start(visits[i]);
    }
    free_reader(held);
    for (int i = 0; i < 6; i++) {
        finish(visits[i]);
        if (i % 3 + 1 == HUNGRY_AT_BIND || i % 3 + 1 == HUNGRY_AT_REPLY)
            assert_refusal(visits[i], ERR_PAYLOAD_TOO_LARGE, "", "more memory");
        else
            assert_quotient(visits[i], i % 3 + 1);
    }
    assert_refusal(visit_run(hungry_division(&hungry_op, HUNGRY_AT_REPLY)), ERR_PAYLOAD_TOO_LARGE, "", "more memory");
    assert_quotient(visit_run(hungry_division(&hungry_op, 3)), 3);
}

static bool eat_all(struct op_context *ctx, const void *args, struct reply *reply, struct error *err)
{
    (void)args;
    (void)reply;
    (void)err;
    eat(ctx->work.arena);
    return true;
}

static void test_any_kind_of_call_may_need_too_much_memory(void **state)
{
    (void)state;
    struct operation eating_op = held_op;
    eating_op.handler = eat_all;
    assert_refusal(visit_run(visit_new(&eating_op, NULL)), ERR_PAYLOAD_TOO_LARGE, "", "more memory");
    struct operation memory = memory_op;
    memory.handler = eat_all;
    assert_refusal(visit_run(visit_new(&memory, NULL)), ERR_PAYLOAD_TOO_LARGE, "", "more memory");
    assert_true(visit_run(visit_new(&brand_op, NULL))->call.ok);
}

/* ---- Overload ---- */

/* */
static void test_overload(void **state)
{
    (void)state;
    one_reader(2);
    struct visit *held = busy_reader();
    struct visit *queued[2] = { visit_new(&brand_op, NULL), visit_new(&brand_op, NULL) };
    start(queued[0]);
    start(queued[1]);
    struct visit *refused = visit_run(visit_new(&brand_op, NULL));
    assert_refusal(refused, ERR_SERVICE_UNAVAILABLE, "", "Too many calls");
    assert_int_equal(refused->call.error.retry_after_s, 1);
    /* What needs no database is answered all the same. */
    assert_true(visit_run(visit_new(&memory_op, NULL))->call.ok);
    /* And so is an operation of a pool of its own. */
    struct operation slow_op = brand_op;
    slow_op.pool = POOL_SLOW;
    assert_true(visit_run(visit_new(&slow_op, NULL))->call.ok);
    /* Only some calls of an operation may be slow. */
    struct operation sometimes_slow_op = brand_op;
    sometimes_slow_op.args = &divisor_args;
    sometimes_slow_op.slow_with = (const char *const[]){ "other", "by", NULL };
    assert_true(visit_run(visit_new(&sometimes_slow_op, "{\"by\":2}"))->call.ok);
    free_reader(held);
    finish(queued[0]);
    finish(queued[1]);
    assert_true(queued[0]->call.ok && queued[1]->call.ok);
}

/* ---- Several organizations ---- */

static void await_queued(struct executor *executor, size_t wanted)
{
    for (int i = 0; i < 2000 && executor_queued(executor) != wanted; i++)
        usleep(5000);
    assert_int_equal(executor_queued(executor), wanted);
}

/* calls that wait for ever leave a thread to other organizations, also when each has a key that was never seen before. */
static void test_slow_calls_hold_no_other_organization(void **state)
{
    (void)state;
    api_free(api, 1000);
    api = service_new((struct api_config){ .quick_threads = 1, .slow_threads = 2 });
    open_service();
    int64_t busy = organization_new("self_hosted");
    int64_t busy_brand = brand_new(busy);
    int64_t calm = organization_new("self_hosted");
    int64_t calm_brand = brand_new(calm);
    hold_statements();
    struct operation slow_held_op = held_op;
    slow_held_op.pool = POOL_SLOW;
    struct visit *held[3];
    for (size_t i = 0; i < ARRAY_COUNT(held); i++) {
        held[i] = with_key(visit_new(&slow_held_op, NULL), key_new(busy, busy_brand, SCOPE_ALL, 1));
        start(held[i]);
    }
    await_number(held_statements, 1);
    await_queued(api->slow, 2);
    struct operation slow_op = brand_op;
    slow_op.pool = POOL_SLOW;
    struct visit *answered = visit_run(with_key(visit_new(&slow_op, NULL), key_new(calm, calm_brand, SCOPE_ALL, 1)));
    assert_true(answered->call.ok);
    assert_int_equal(number_of(held_statements), 1);
    release_statements();
    for (size_t i = 0; i < ARRAY_COUNT(held); i++) {
        finish(held[i]);
        assert_true(held[i]->call.ok);
    }
}

/* ---- Cancelling ---- */

NUMBER_QUERY(sleep_long, "select 1::bigint from pg_sleep(20)", 0);

static bool sleep_too_long(struct op_context *ctx, const void *args, struct reply *reply, struct error *err)
{
    (void)args;
    json_raw(&reply->json, "{}");
    return db_run(ctx->work.conn, ctx->work.arena, &sleep_long, NULL, NULL, err);
}
static const struct operation endless_op = { .id = "test.endless",
                                             .index = -1,
                                             .mode = OP_READ,
                                             .reach = REACH_BRAND,
                                             .status = 200,
                                             .query_budget = 1,
                                             .built = true,
                                             .args = &no_args,
                                             .handler = sleep_too_long };

static const char sleepers[] = "select count(*) from pg_stat_activity where query like '%pg_sleep(20)%' and state = 'active'"
                               " and pid <> pg_backend_pid()";

static void test_a_running_statement_is_stopped(void **state)
{
    (void)state;
    struct visit *visit = visit_new(&endless_op, NULL);
    start(visit);
    await_number(sleepers, 1);
    assert_false(is_answered(visit));
    api_cancel(api, &visit->call);
    finish(visit);
    assert_refusal(visit, ERR_SERVICE_UNAVAILABLE, "", "stopped");
    assert_true(visit->call.error.retry_after_s > 0);
    await_number(sleepers, 0);
    /* The connection is as good as before. */
    assert_true(visit_run(visit_new(&brand_op, NULL))->call.ok);
}

/* The lines that the log wrote while `end` ended a running call. */
static const char *log_of_ended_call(const struct operation *op, void (*end)(struct api *api, struct call *call))
{
    static char lines[4096];
    FILE *file = tmpfile();
    assert_non_null(file);
    struct visit *visit = visit_new(op, NULL);
    start(visit);
    await_number(sleepers, 1);
    int saved = dup(STDERR_FILENO);
    log_set_level(LOG_INFO);
    assert_int_equal(dup2(fileno(file), STDERR_FILENO), STDERR_FILENO);
    end(api, &visit->call);
    finish(visit);
    assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
    close(saved);
    log_set_level((enum log_level)(LOG_ERROR + 1)); /* as in api_fixture.h */
    assert_false(visit->call.ok);
    ssize_t size = pread(fileno(file), lines, sizeof(lines) - 1, 0);
    fclose(file);
    lines[size > 0 ? size : 0] = '\0';
    return lines;
}

static void test_a_cancelled_call_is_no_failure(void **state)
{
    (void)state;
    struct operation op = endless_op;
    op.index = 0;
    const char *failures = arena_printf(arena, "posthorn_call_failures_total{operation=\"%s\"} ", operations[0].id);
    const char *lines = log_of_ended_call(&op, api_cancel);
    assert_non_null(strstr(lines, "\"level\":\"info\""));
    assert_non_null(strstr(lines, "\"outcome\":\"cancelled\""));
    assert_null(strstr(lines, "errorCode"));
    struct buf *out = buf_in_arena(arena, 1 << 20);
    api_write_metrics(api, out);
    assert_non_null(strstr(buf_text(out), arena_printf(arena, "%s0\n", failures)));

    /* A call that the server ends is a failure. */
    lines = log_of_ended_call(&op, api_stop);
    assert_non_null(strstr(lines, "\"level\":\"error\""));
    assert_non_null(strstr(lines, "\"status\":503"));
    assert_null(strstr(lines, "outcome"));
    buf_clear(out);
    api_write_metrics(api, out);
    assert_non_null(strstr(buf_text(out), arena_printf(arena, "%s1\n", failures)));
}

static void test_a_queued_call_is_dropped(void **state)
{
    (void)state;
    one_reader(100);
    struct visit *held = busy_reader();
    handled = 0;
    struct visit *queued = visit_new(&brand_op, NULL);
    struct visit *single = division(5);
    struct visit *kept = division(4);
    start(queued);
    start(single);
    start(kept);
    api_cancel(api, &queued->call);
    api_cancel(api, &single->call);
    free_reader(held);
    finish(queued);
    finish(single);
    finish(kept);
    assert_refusal(queued, ERR_SERVICE_UNAVAILABLE, "", "cancelled");
    assert_refusal(single, ERR_SERVICE_UNAVAILABLE, "", "cancelled");
    assert_quotient(kept, 4);
    assert_int_equal(handled, 0);
    assert_true(held->call.ok);
}

static void test_cancelling_before_submitting(void **state)
{
    (void)state;
    struct visit *visit = visit_new(&endless_op, NULL);
    /* Nothing to cancel yet. */
    api_cancel(api, &visit->call);
    assert_false(api_is_immediate(api, &visit->call));
    api_cancel(api, &visit->call);
    assert_refusal(visit_run(visit), ERR_SERVICE_UNAVAILABLE, "", "cancelled");
    /* An answered call is not disturbed, nor is the one after it. */
    visit = visit_run(visit_new(&brand_op, NULL));
    api_cancel(api, &visit->call);
    assert_true(visit_run(visit_new(&brand_op, NULL))->call.ok);
}

/* Cancelling one of several callers in a pipeline leaves the others alone. */
NUMBER_QUERY(held_hundred_by, "select 100 / $1 from pg_advisory_xact_lock_shared(7708)", 1);
static const char held_pipelines[] = "select count(*) from pg_locks where locktype = 'advisory' and objid = 7708 and not granted";
static const struct op_single divide_held = { &held_hundred_by, sizeof(struct number), bind_divisor, reply_quotient };

static void test_a_pipeline_is_not_stopped_for_one(void **state)
{
    (void)state;
    one_reader(100);
    struct operation held_divide_op = divide_op;
    held_divide_op.single = &divide_held;
    struct visit *held = busy_reader();
    struct visit *visits[6];
    for (int i = 0; i < 6; i++) {
        visits[i] = visit_new(&held_divide_op, arena_printf(arena, "{\"by\":%d}", i + 1));
        start(visits[i]);
    }
    run_sql("select pg_advisory_lock(7708)");
    free_reader(held);
    await_number(held_pipelines, 1);
    for (int i = 0; i < 20; i++)
        api_cancel(api, &visits[5]->call);
    run_sql("select pg_advisory_unlock(7708)");
    /* Again and again, so that it would also hit what is sent a second time. */
    while (!is_answered(visits[5]))
        api_cancel(api, &visits[5]->call);
    for (int i = 0; i < 6; i++) {
        finish(visits[i]);
        assert_quotient(visits[i], i + 1);
    }
}

enum { CALLERS = 8, CALLS_EACH = 40 };

static void *call_much(void *data)
{
    int *failures = data;
    for (int i = 0; i < CALLS_EACH; i++) {
        struct arena *own = arena_new(0);
        struct visit *visit = arena_alloc(own, sizeof(*visit));
        pthread_mutex_init(&visit->lock, NULL);
        pthread_cond_init(&visit->moved, NULL);
        const struct operation *candidates[] = { i % 3 == 0 ? &brand_op : i % 3 == 1 ? &memory_op : &organization_op, NULL };
        visit->call = (struct call){ .arena = own,
                                     .candidates = candidates,
                                     .credentials = { .kind = CREDENTIAL_LOCAL_OWNER },
                                     .request_id = "req",
                                     .on_completed = visit_done,
                                     .transport_data = visit };
        bool immediate = api_is_immediate(api, &visit->call);
        api_submit(api, &visit->call);
        if (!immediate && i % 5 == 0)
            api_cancel(api, &visit->call);
        pthread_mutex_lock(&visit->lock);
        while (visit->answers == 0)
            pthread_cond_wait(&visit->moved, &visit->lock);
        pthread_mutex_unlock(&visit->lock);
        *failures += !visit->call.ok && visit->call.error.code != ERR_SERVICE_UNAVAILABLE;
        pthread_cond_destroy(&visit->moved);
        pthread_mutex_destroy(&visit->lock);
        arena_free(own);
    }
    return NULL;
}

/* From the first call on, which opens the installation, while others are answered from memory and cancelled. */
static void test_many_callers(void **state)
{
    (void)state;
    pthread_t threads[CALLERS];
    int failures[CALLERS] = { 0 };
    for (int i = 0; i < CALLERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call_much, &failures[i]), 0);
    for (int i = 0; i < CALLERS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(failures[i], 0);
    }
}

/* What needs no database is answered while another thread opens the installation, and without looking at what it loads. */
static void test_memory_is_quick_while_opening(void **state)
{
    (void)state;
    run_sql("begin; lock table settings in access exclusive mode"); /* which the opening reads */
    struct visit *opening = visit_new(&brand_op, NULL);
    start(opening);
    await_number("select count(*) from pg_locks where not granted", 1);
    for (int i = 0; i < 200; i++)
        assert_true(visit_run(visit_new(&memory_op, NULL))->call.ok);
    assert_false(is_answered(opening));
    run_sql("rollback");
    finish(opening);
    assert_answer(opening, 200, "{\"organization\":1,\"brand\":1}");
    assert_answer(visit_run(visit_new(&memory_op, NULL)), 200, "{\"organization\":1,\"brand\":0}");
}

/* ---- What a transport asks besides ---- */

/* */
static void test_request_ids(void **state)
{
    (void)state;
    const char *ids[200];
    for (size_t i = 0; i < ARRAY_COUNT(ids); i++) {
        ids[i] = api_request_id(arena);
        assert_int_equal(strlen(ids[i]), 36);
        assert_int_equal(strncmp(ids[i], "req_", 4), 0);
        assert_int_equal(strspn(ids[i] + 4, "0123456789abcdef"), 32);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(ids[i], ids[j]);
    }
}

static const char *envelope(const struct error *err)
{
    struct buf *out = buf_in_arena(arena, 10000);
    struct json_writer json;
    json_writer_init(&json, out);
    api_write_error(&json, err);
    return buf_text(out);
}

/* nothing private, nothing else at top level. */
static void test_error_envelopes(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    fail(&err, ERR_RATE_LIMITED, "limit", "Too \"many\".");
    error_because(&err, "a private reason");
    snprintf(err.sqlstate, sizeof(err.sqlstate), "40001");
    err.retry_after_s = 9;
    error_with_details(&err, "{\"a\":1}");
    json_t *json = json_loads(envelope(&err), 0, NULL);
    json_in_arena(arena, json);
    assert_int_equal(json_object_size(json), 1);
    const json_t *object = json_object_get(json, "error");
    assert_int_equal(json_object_size(object), 8);
    assert_string_equal(json_get_text(object, "code"), "RATE_LIMITED");
    assert_string_equal(json_get_text(object, "type"), "rate_limit");
    assert_string_equal(json_get_text(object, "message"), "Too \"many\".");
    assert_string_equal(json_get_text(object, "param"), "limit");
    assert_int_equal(json_get_int(object, "retryAfter", 0), 9);
    assert_int_equal(json_get_int(json_object_get(object, "details"), "a", 0), 1);
    const char *docs = json_get_text(object, "docs");
    assert_true(text_starts_with(docs, "http") && strstr(docs, "#RATE_LIMITED") != NULL);
    api_set_docs_url("https://mail.example/docs");
    assert_non_null(strstr(envelope(&err), "\"docs\":\"https://mail.example/docs/errors#RATE_LIMITED\""));

    error_clear(&err);
    fail(&err, ERR_INTERNAL_ERROR, NULL, "An unexpected error happened.");
    error_because(&err, "secret");
    assert_null(strstr(envelope(&err), "secret"));
    assert_null(strstr(envelope(&err), ".c"));
    json = json_in_arena(arena, json_loads(envelope(&err), 0, NULL));
    assert_int_equal(json_object_size(json_object_get(json, "error")), 5);
}

static void test_metrics_count_calls(void **state)
{
    (void)state;
    struct operation counted_op = brand_op;
    counted_op.index = 0;
    struct operation failing_op = counted_op;
    failing_op.built = false;
    visit_run(visit_new(&counted_op, NULL));
    visit_run(visit_new(&counted_op, NULL));
    visit_run(visit_new(&failing_op, NULL));
    struct buf *out = buf_in_arena(arena, 1 << 20);
    api_write_metrics(api, out);
    assert_non_null(strstr(buf_text(out), arena_printf(arena, "posthorn_calls_total{operation=\"%s\"} 3\n", operations[0].id)));
    assert_non_null(
        strstr(buf_text(out), arena_printf(arena, "posthorn_call_failures_total{operation=\"%s\"} 1\n", operations[0].id)));
    assert_non_null(strstr(buf_text(out), arena_printf(arena, "posthorn_calls_total{operation=\"%s\"} 0\n", operations[1].id)));
    assert_non_null(strstr(buf_text(out), "posthorn_calls_waiting{lane=\"writes\"} 0\n"));
}

/* ---- Without a database ---- */

static void test_the_database_is_away(void **state)
{
    (void)state;
    api_free(api, 1000);
    api = service_new((struct api_config){ .quick_threads = 1 });
    assert_true(visit_run(visit_new(&public_op, NULL))->call.ok);
    cluster_stop(cluster, 5000);
    cluster = NULL;
    struct error err;
    struct visit *visit = visit_new(&brand_op, NULL);
    start(visit);
    usleep(300000);
    assert_false(is_answered(visit));
    assert_ok(cluster_start(folder, &cluster, &err), &err);
    finish(visit);
    assert_true(visit->call.ok);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_answers_are_bounded),
        WORLD_TEST(test_promises_are_held_to),
        WORLD_TEST(test_a_single_alone),
        WORLD_TEST(test_singles_answer_their_own_callers),
        WORLD_TEST(test_singles_share_the_room_for_answers),
        WORLD_TEST(test_a_call_without_room_does_nothing),
        WORLD_TEST(test_a_failing_single_fails_alone),
        WORLD_TEST(test_all_singles_refused),
        WORLD_TEST(test_a_call_that_needs_too_much_memory_fails_alone),
        WORLD_TEST(test_any_kind_of_call_may_need_too_much_memory),
        WORLD_TEST(test_slow_calls_hold_no_other_organization),
        WORLD_TEST(test_overload),
        WORLD_TEST(test_a_running_statement_is_stopped),
        WORLD_TEST(test_a_cancelled_call_is_no_failure),
        WORLD_TEST(test_a_queued_call_is_dropped),
        WORLD_TEST(test_cancelling_before_submitting),
        WORLD_TEST(test_a_pipeline_is_not_stopped_for_one),
        WORLD_TEST(test_many_callers),
        WORLD_TEST(test_memory_is_quick_while_opening),
        WORLD_TEST(test_request_ids),
        WORLD_TEST(test_error_envelopes),
        WORLD_TEST(test_metrics_count_calls),
        WORLD_TEST(test_the_database_is_away),
    };
    return cmocka_run_group_tests_name("api: dispatch", tests, world_begin, group_teardown);
}
