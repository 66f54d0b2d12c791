/*
 * Group commit: single writes that share one transaction. Each write has the reply and
 * the effects that it would have alone. An error reaches only its own caller.
 */
#include "fixtures/api_fixture.h"

/* ---- A single write: adds to one number by its name ---- */

struct add_args {
    const char *name;
    int64_t amount;
};
static const struct arg_field add_fields[] = {
    { .name = "name",
      .kind = ARG_TEXT,
      .place = ARG_IN_BODY,
      .offset = offsetof(struct add_args, name),
      .required = true,
      .max_size = 20 },
    { .name = "amount",
      .kind = ARG_INTEGER,
      .place = ARG_IN_BODY,
      .offset = offsetof(struct add_args, amount),
      .required = true,
      .minimum = -1000,
      .maximum = 1000 },
};
static const struct arg_shape add_shape = { .fields = add_fields,
                                            .count = ARRAY_COUNT(add_fields),
                                            .size = sizeof(struct add_args) };

struct sums_params {
    struct text_list names;
    struct int_list amounts;
};
struct sum_row {
    const char *name;
    int64_t total;
    int64_t transaction;
};
static const struct db_field sums_param_fields[] = { FIELD(sums_params, names, DB_TEXT_ARRAY, false),
                                                     FIELD(sums_params, amounts, DB_BIGINT_ARRAY, false) };
static const struct db_field sum_row_fields[] = { FIELD(sum_row, name, DB_TEXT, false), FIELD(sum_row, total, DB_BIGINT, false),
                                                  FIELD(sum_row, transaction, DB_BIGINT, false) };
static const struct db_statement add_sums = {
    .name = "add_sums",
    .result = DB_MANY,
    .sql = "insert into public.sums as s (name, total)"
           " select name, amount from unnest($1::text[], $2::bigint[]) as g(name, amount)"
           " on conflict (name) do update set total = s.total + excluded.total"
           " returning name, total, txid_current()",
    .params = sums_param_fields,
    .param_count = ARRAY_COUNT(sums_param_fields),
    .columns = sum_row_fields,
    .column_count = ARRAY_COUNT(sum_row_fields),
    .row_size = sizeof(struct sum_row),
};

struct adding {
    const struct add_args *args;
    size_t at; /* in the batch */
};

/* Amounts with a meaning of their own. */
enum {
    REFUSED_BY_CHECK = 13,
    REFUSED_BY_REPLY = 17,
    LEAVES_A_JOB = 19,
    ASKS_TOO_OFTEN = 23,
    KEEPS_NO_KEY = 29,
    EATS_AT_CHECK = 31, /* needs more memory than a call may use */
    EATS_AT_ASK = 37,
    EATS_AT_REPLY = 41,
    REFUSED_BY_FINISH = 43,
    REFUSED_UNWRITTEN = 53, /* it adds nothing */
    WANTS_TO_BE_ALONE = 47,
    IS_LARGE = 59,
};

static void eat_if(bool eats, struct arena *own)
{
    while (eats)
        arena_alloc(own, 1 << 20);
}

static _Atomic int checks;
static _Atomic int largest_ask;
static _Atomic int largest_finish;

static bool check_add(struct op_context *ctx, const void *raw_args, void **ret_kept, const char **ret_lock_key, struct error *err)
{
    const struct add_args *args = raw_args;
    checks++;
    if (args->amount == REFUSED_BY_CHECK)
        return fail(err, ERR_INVALID_REQUEST, "amount", "Not 13.");
    eat_if(args->amount == EATS_AT_CHECK, ctx->work.arena);
    struct adding *adding = arena_alloc(ctx->work.arena, sizeof(*adding));
    adding->args = args;
    *ret_kept = adding;
    *ret_lock_key = args->amount == WANTS_TO_BE_ALONE ? NULL : args->name;
    return true;
}

static void ask_add(const struct single_write *writes, size_t count, struct db_batch *batch)
{
    struct arena *own = writes[0].ctx->work.arena;
    const char **names = arena_array(own, count, sizeof(*names));
    int64_t *amounts = arena_array(own, count, sizeof(*amounts));
    for (size_t i = 0; i < count; i++) {
        struct adding *adding = writes[i].kept;
        /* A batch hands over each row once, in the order of the names. */
        assert_true(i == 0 || strcmp(names[i - 1], adding->args->name) < 0);
        names[i] = adding->args->name;
        amounts[i] = adding->args->amount == REFUSED_UNWRITTEN ? 0 : adding->args->amount;
        eat_if(adding->args->amount == EATS_AT_ASK, own);
    }
    struct sums_params params = { .names = { names, count }, .amounts = { amounts, count } };
    size_t at = db_batch_add(batch, &add_sums, &params);
    for (size_t i = 0; i < count; i++)
        ((struct adding *)writes[i].kept)->at = at;
    if ((int)count > largest_ask)
        largest_ask = (int)count;
}

static bool finish_add(const struct single_write *writes, size_t count, const struct db_batch *batch, struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct adding *adding = writes[i].kept;
        assert_true(db_batch_rows(batch, adding->at)->count >= count);
        if (adding->args->amount == REFUSED_BY_FINISH)
            return fail(err, ERR_NOT_FOUND, "amount", "Not 43.");
    }
    if ((int)count > largest_finish)
        largest_finish = (int)count;
    return true;
}

static bool is_large_add(const void *kept, const struct db_batch *batch)
{
    const struct adding *adding = kept;
    assert_true(db_batch_rows(batch, adding->at)->count > 0);
    return adding->args->amount == IS_LARGE;
}

static bool is_refused_add(const void *kept, struct error *ret_refusal)
{
    const struct adding *adding = kept;
    return adding->args->amount == REFUSED_UNWRITTEN && !fail(ret_refusal, ERR_NOT_FOUND, "amount", "Not 53.");
}

static const struct job_declaration test_job = { .name = "test.kind", .pool = "work" };

static bool reply_add(struct op_context *ctx, void *kept, const struct db_batch *batch, struct reply *reply, struct error *err)
{
    struct adding *adding = kept;
    if (is_refused_add(kept, err))
        return false;
    if (adding->args->amount == REFUSED_BY_REPLY)
        return fail(err, ERR_NOT_FOUND, "amount", "Not 17.");
    eat_if(adding->args->amount == EATS_AT_REPLY, ctx->work.arena);
    for (int i = 0; adding->args->amount == ASKS_TOO_OFTEN && i < 10; i++)
        if (!db_run(ctx->work.conn, ctx->work.arena, &count_items, NULL, NULL, err))
            return false;
    if (adding->args->amount == LEAVES_A_JOB &&
        !op_context_enqueue(ctx, reply, (struct new_job){ &test_job, "{}" }, ctx->work.now_us, err))
        return false;
    reply->keep_no_key = adding->args->amount == KEEPS_NO_KEY;
    const struct db_rows *rows = db_batch_rows(batch, adding->at);
    const struct sum_row *row = rows->rows;
    while (strcmp(row->name, adding->args->name) != 0)
        row++;
    op_context_subject(ctx, arena_printf(ctx->work.arena, "sum_%s", row->name));
    json_object_begin(&reply->json);
    json_member_int(&reply->json, "total", row->total);
    json_member_int(&reply->json, "transaction", row->transaction);
    json_object_end(&reply->json);
    return true;
}

static const struct op_single_write add_single = {
    .check = check_add,
    .ask = ask_add,
    .is_large = is_large_add,
    .finish = finish_add,
    .is_refused = is_refused_add,
    .reply = reply_add,
};
static const struct operation add_op = { .id = "sums.add",
                                         .index = -1,
                                         .mode = OP_WRITE,
                                         .reach = REACH_BRAND,
                                         .status = 200,
                                         .query_budget = 3,
                                         .built = true,
                                         .idempotent_key = true,
                                         .job = &test_job,
                                         .args = &add_shape,
                                         .single_write = &add_single };

/* The same without statements that depend on results. */
static const struct op_single_write plain_single = { .check = check_add, .ask = ask_add, .reply = reply_add };
static const struct operation plain_op = { .id = "sums.addPlain",
                                           .index = -1,
                                           .mode = OP_WRITE,
                                           .reach = REACH_BRAND,
                                           .status = 200,
                                           .query_budget = 3,
                                           .built = true,
                                           .job = &test_job,
                                           .args = &add_shape,
                                           .single_write = &plain_single };

/* ---- Gathering calls ---- */

PLAIN_COMMAND(wait_for_release, "select " WAIT_FOR_RELEASE);

static bool hold_the_writer(struct op_context *ctx, const void *args, struct reply *reply, struct error *err)
{
    (void)args;
    json_raw(&reply->json, "{}");
    return db_run(ctx->work.conn, ctx->work.arena, &wait_for_release, NULL, NULL, err);
}
static const struct operation hold_op = { .id = "test.hold",
                                          .index = -1,
                                          .mode = OP_WRITE,
                                          .reach = REACH_BRAND,
                                          .status = 200,
                                          .query_budget = 1,
                                          .built = true,
                                          .args = &no_args,
                                          .handler = hold_the_writer };

static int sums_setup(void **state)
{
    if (world_setup(state) != 0)
        return -1;
    checks = 0;
    largest_ask = 0;
    largest_finish = 0;
    fresh_items();
    run_sql("drop table if exists public.sums;"
            "create table public.sums (name text primary key, total bigint not null check (total < 1000000))");
    return 0;
}
#define SUMS_TEST(function) cmocka_unit_test_setup_teardown(function, sums_setup, world_teardown)

/* The only writer is busy until free_writer: calls that start before are queued and taken as one batch. */
static struct visit *one_busy_writer(void)
{
    api_free(api, 1000);
    api = service_new((struct api_config){ .quick_threads = 1, .slow_threads = 1 });
    open_service();
    hold_statements();
    struct visit *holding = visit_new(&hold_op, NULL);
    start(holding);
    await_number(held_statements, 1);
    return holding;
}

static void free_writer(struct visit *holding)
{
    release_statements();
    finish(holding);
}

static struct visit *add(const char *name, int amount)
{
    return visit_new(&add_op, arena_printf(arena, "{\"name\":\"%s\",\"amount\":%d}", name, amount));
}

static struct visit *with_idempotency(struct visit *visit, const char *key)
{
    visit->call.idempotency_key = key;
    return visit;
}

static int64_t member_of(struct visit *visit, const char *name)
{
    if (!visit->call.ok)
        fail_msg("%s (%s)", visit->call.error.message, visit->call.error.cause);
    struct json_bounds bounds = { .max_bytes = 1 << 20 };
    struct error err = { .code = ERR_NONE };
    const json_t *body;
    const char *text = buf_text(visit->call.reply.body);
    assert_ok(json_read(arena, text, strlen(text), bounds, &body, &err), &err);
    return json_get_int(body, name, -1);
}

static int64_t total_of(const char *name)
{
    return number_of(arena_printf(arena, "select coalesce((select total from public.sums where name = '%s'), 0)", name));
}

static void run_together(struct visit *const *visits, int count)
{
    struct visit *holding = one_busy_writer();
    for (int i = 0; i < count; i++)
        start(visits[i]);
    free_writer(holding);
    for (int i = 0; i < count; i++)
        finish(visits[i]);
}

static int64_t audit_rows(void)
{
    return number_of("select count(*) from audit_log where operation = 'sums.add'");
}

static int64_t kept_keys(void)
{
    return number_of("select count(*) from idempotency_keys");
}

/* ---- Shared transactions ---- */

static void test_calls_share_a_commit(void **state)
{
    (void)state;
    struct visit *visits[20];
    for (int i = 0; i < 20; i++) {
        visits[i] = add(arena_printf(arena, "n%d", i), i + 100);
        if (i % 2 == 0)
            with_idempotency(visits[i], arena_printf(arena, "key-%d", i));
    }
    run_together(visits, 20);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(member_of(visits[i], "total"), i + 100);
        assert_int_equal(member_of(visits[i], "transaction"), member_of(visits[0], "transaction"));
        assert_false(visits[i]->call.replayed);
        assert_int_equal(visits[i]->call.state->round_trips, 1);
    }
    assert_int_equal(largest_ask, 20);
    assert_int_equal(audit_rows(), 20);
    assert_int_equal(kept_keys(), 10);
    /* Each audit row names its caller and its operation. */
    assert_int_equal(
        number_of("select count(*) from audit_log a join public.sums s on a.subjects = array['sum_' || s.name]"
                  " where organization_id = 1 and brand_id = 1 and key_id is null and door = 'rest' and client = 'test/1'"),
        20);
    for (int i = 0; i < 20; i++)
        assert_int_equal(
            number_of(arena_printf(arena, "select count(*) from audit_log where request_id = '%s'", visits[i]->call.request_id)),
            1);
}

/* A call that passes the bound of its memory in a batch runs again alone, where it fails alone. */
static void test_a_call_that_needs_too_much_memory_is_its_own(void **state)
{
    (void)state;
    static const int amounts[] = { 1, EATS_AT_CHECK, 2, EATS_AT_ASK, 3, EATS_AT_REPLY };
    struct visit *visits[12];
    for (int i = 0; i < 12; i++) {
        visits[i] = add(arena_printf(arena, "n%d", i), amounts[i % 6]);
        if (i >= 6)
            with_idempotency(visits[i], arena_printf(arena, "key-%d", i));
    }
    run_together(visits, 12);
    for (int i = 0; i < 12; i++) {
        if (i % 2 == 0)
            assert_int_equal(member_of(visits[i], "total"), amounts[i % 6]);
        else
            assert_refusal(visits[i], ERR_PAYLOAD_TOO_LARGE, "", "more memory");
    }
    assert_int_equal(audit_rows(), 6);
    assert_int_equal(kept_keys(), 3);
    /* Their keys are free again. */
    assert_int_equal(member_of(visit_run(with_idempotency(add("n7", 5), "key-7")), "total"), 5);
}

/* A call by itself needs no others to wait for, and costs no more round trips. */
static void test_a_call_by_itself(void **state)
{
    (void)state;
    struct visit *visit = visit_run(with_idempotency(add("a", 1), "k"));
    assert_int_equal(member_of(visit, "total"), 1);
    assert_int_equal(visit->call.state->round_trips, 1);
    assert_int_equal(audit_rows(), 1);
    assert_int_equal(kept_keys(), 1);
}

/* Of two writes of one row the later sees what the earlier did, in the order in which they came. */
static void test_one_row_twice(void **state)
{
    (void)state;
    struct visit *visits[] = { add("b", 1), add("a", 10), add("b", 2), add("b", 4), add("a", 20) };
    run_together(visits, 5);
    static const int totals[] = { 1, 10, 3, 7, 30 };
    for (int i = 0; i < 5; i++) {
        assert_int_equal(member_of(visits[i], "total"), totals[i]);
        assert_int_equal(member_of(visits[i], "transaction"), member_of(visits[0], "transaction"));
    }
}

/* Each brand has its own statements, and all have one commit. */
static void test_several_brands(void **state)
{
    (void)state;
    open_service();
    struct visit *visits[] = { add("a", 1), add("b", 2), add("c", 3) };
    visits[1]->call.credentials.brand = brand_wire_id(brand_new(1));
    run_together(visits, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(member_of(visits[i], "transaction"), member_of(visits[0], "transaction"));
    assert_int_equal(largest_ask, 2);
    assert_int_equal(number_of("select count(distinct brand_id) from audit_log"), 2);
}

static void test_a_job_of_one_wakes_the_workers(void **state)
{
    (void)state;
    struct error err;
    open_service();
    assert_ok(db_listen(conn, "posthorn_work", &err), &err);
    struct visit *visits[] = { add("a", 1), add("b", LEAVES_A_JOB), add("c", 1) };
    run_together(visits, 3);
    assert_int_equal(number_of("select count(*) from jobs where kind = 'test.kind' and call is null"), 1);
    bool got = false;
    struct db_notice notice;
    assert_ok(db_notice_take(conn, arena, 2000, &got, &notice, &err), &err);
    assert_true(got);
}

/* ---- Faults reach their own callers ---- */

static void assert_others_added(struct visit *const *visits, int count, int except)
{
    for (int i = 0; i < count; i++)
        if (i != except)
            assert_int_equal(member_of(visits[i], "total"), 100 + i);
    assert_int_equal(number_of("select count(*) from public.sums"), count - 1);
    assert_int_equal(audit_rows(), count - 1);
}

static void many(struct visit **visits, int count)
{
    for (int i = 0; i < count; i++)
        visits[i] = add(arena_printf(arena, "n%d", i), 100 + i);
}

/* What needs no database is refused before the others begin, and is not tried twice. */
static void test_refusals_stay_outside(void **state)
{
    (void)state;
    struct visit *visits[6];
    many(visits, 6);
    visits[2] = add("n2", REFUSED_BY_CHECK);
    run_together(visits, 6);
    assert_refusal(visits[2], ERR_INVALID_REQUEST, "amount", "Not 13");
    assert_others_added(visits, 6, 2);
    assert_int_equal(checks, 6);

    visits[0] = add("n2", 5000);
    visits[1] = visit_new(&add_op, "{}");
    visits[2] = add("n2", 102);
    visits[3] = with_idempotency(add("x", 1), "");
    fail(&visits[0]->call.input.refusal, ERR_INVALID_REQUEST, "body", "Broken.");
    run_together(visits, 4);
    assert_refusal(visits[0], ERR_INVALID_REQUEST, "body", "Broken");
    assert_refusal(visits[1], ERR_INVALID_REQUEST, "name", "required");
    assert_int_equal(member_of(visits[2], "total"), 102);
    assert_refusal(visits[3], ERR_INVALID_REQUEST, "idempotencyKey", "1 to 100");
}

static void test_a_refused_answer_is_its_own(void **state)
{
    (void)state;
    struct visit *visits[6];
    many(visits, 6);
    visits[3] = with_idempotency(add("n3", REFUSED_BY_REPLY), "k");
    run_together(visits, 6);
    assert_refusal(visits[3], ERR_NOT_FOUND, "amount", "Not 17");
    assert_others_added(visits, 6, 3);
    assert_int_equal(kept_keys(), 0);
    /* The others still share a commit. */
    assert_int_equal(member_of(visits[5], "transaction"), member_of(visits[0], "transaction"));
    /* The key is fresh: nothing was done under it. */
    assert_int_equal(member_of(visit_run(with_idempotency(add("n3", 7), "k")), "total"), 7);
}

/* Statements that depend on the first ones are sent for all calls together, and a call that fails there is alone with it. */
static void test_a_batch_is_finished_together(void **state)
{
    (void)state;
    struct visit *visits[6];
    many(visits, 6);
    run_together(visits, 6);
    assert_int_equal(largest_finish, 6);
    visits[0] = add("m0", 1);
    visits[1] = add("m1", REFUSED_BY_FINISH);
    visits[2] = add("m2", 3);
    run_together(visits, 3);
    assert_refusal(visits[1], ERR_NOT_FOUND, "amount", "Not 43");
    assert_int_equal(total_of("m1"), 0);
    assert_int_equal(total_of("m0") + total_of("m2"), 4);
    assert_int_equal(member_of(visits[2], "transaction"), member_of(visits[0], "transaction"));
}

/* A refusal that has written nothing is answered with the batch: the others are not repeated, and it leaves no key and no audit
 * row. */
static void test_an_unwritten_refusal_stays_in_the_batch(void **state)
{
    (void)state;
    struct visit *visits[] = { add("u0", 1), with_idempotency(add("u1", REFUSED_UNWRITTEN), "k"), add("u2", 3) };
    run_together(visits, ARRAY_COUNT(visits));
    assert_refusal(visits[1], ERR_NOT_FOUND, "amount", "Not 53");
    assert_int_equal(checks, ARRAY_COUNT(visits)); /* a call that runs alone is checked again */
    assert_int_equal(kept_keys(), 0);
    assert_int_equal(audit_rows(), 2);
    assert_int_equal(member_of(visits[2], "transaction"), member_of(visits[0], "transaction"));
    assert_int_equal(member_of(visit_run(with_idempotency(add("u1", 7), "k")), "total"), 7);
}

/* Statements of `finish` lock rows behind those of all others, so calls that have them are in no batch with those. */
static void test_operations_that_finish_have_batches_of_their_own(void **state)
{
    (void)state;
    struct visit *visits[] = { add("o0", 1), visit_new(&plain_op, "{\"name\":\"p0\",\"amount\":2}"), add("o1", 3),
                               visit_new(&plain_op, "{\"name\":\"p1\",\"amount\":4}") };
    run_together(visits, ARRAY_COUNT(visits));
    assert_int_equal(member_of(visits[2], "transaction"), member_of(visits[0], "transaction"));
    assert_int_equal(member_of(visits[3], "transaction"), member_of(visits[1], "transaction"));
    assert_int_not_equal(member_of(visits[1], "transaction"), member_of(visits[0], "transaction"));
}

static void test_a_call_without_a_lock_key_is_alone(void **state)
{
    (void)state;
    struct visit *visits[3] = { add("a0", 1), with_idempotency(add("a1", WANTS_TO_BE_ALONE), "k"), add("a2", 3) };
    run_together(visits, 3);
    assert_int_equal(member_of(visits[1], "total"), WANTS_TO_BE_ALONE);
    assert_int_not_equal(member_of(visits[1], "transaction"), member_of(visits[0], "transaction"));
    assert_int_equal(member_of(visits[2], "transaction"), member_of(visits[0], "transaction"));
}

/* The others do not wait for what it does behind its first statements. */
static void test_a_large_call_is_alone(void **state)
{
    (void)state;
    struct visit *visits[] = { add("g0", 1), with_idempotency(add("g1", IS_LARGE), "k"), add("g2", 3) };
    run_together(visits, ARRAY_COUNT(visits));
    assert_int_equal(member_of(visits[1], "total"), IS_LARGE);
    assert_int_equal(member_of(visits[2], "transaction"), member_of(visits[0], "transaction"));
    assert_int_not_equal(member_of(visits[1], "transaction"), member_of(visits[0], "transaction"));
    assert_int_equal(largest_finish, 2);
    assert_int_equal(kept_keys(), 1);
}

/* A batch has a try more for large calls: those without a fault still share their commit. */
static void test_a_large_call_beside_a_faulty_one(void **state)
{
    (void)state;
    struct visit *visits[] = { add("f0", 1), add("f1", IS_LARGE), add("f2", 3), add("f3", REFUSED_BY_FINISH) };
    run_together(visits, ARRAY_COUNT(visits));
    assert_int_equal(member_of(visits[1], "total"), IS_LARGE);
    assert_refusal(visits[3], ERR_NOT_FOUND, "amount", "Not 43");
    assert_int_equal(member_of(visits[2], "transaction"), member_of(visits[0], "transaction"));
}

/* A call that has its batch for itself is not repeated. */
static void test_a_large_call_by_itself_is_tried_once(void **state)
{
    (void)state;
    assert_int_equal(member_of(visit_run(add("h0", IS_LARGE)), "total"), IS_LARGE);
    assert_int_equal(checks, 1);
}

/* a statement that fails, here by a constraint, leaves nothing of its call and everything of the others. */
static void test_a_failing_statement_is_its_own(void **state)
{
    (void)state;
    run_sql("insert into public.sums values ('n4', 999999)");
    struct visit *visits[8];
    many(visits, 8);
    with_idempotency(visits[4], "k");
    run_together(visits, 8);
    assert_refusal(visits[4], ERR_INTERNAL_ERROR, "", "unexpected");
    assert_int_equal(total_of("n4"), 999999);
    run_sql("delete from public.sums where name = 'n4'");
    assert_others_added(visits, 8, 4);
    assert_int_equal(member_of(visits[7], "transaction"), member_of(visits[0], "transaction"));
    assert_int_equal(kept_keys(), 0);
}

/* Two faults of different kinds, and the good ones in between. */
static void test_several_faults(void **state)
{
    (void)state;
    run_sql("insert into public.sums values ('n1', 999999), ('n6', 999998)");
    struct visit *visits[9];
    many(visits, 9);
    visits[3] = add("n3", REFUSED_BY_REPLY);
    visits[8] = add("n8", REFUSED_BY_CHECK);
    run_together(visits, 9);
    for (int i = 0; i < 9; i++) {
        if (i == 1 || i == 6)
            assert_refusal(visits[i], ERR_INTERNAL_ERROR, "", "unexpected");
        else if (i == 3)
            assert_refusal(visits[i], ERR_NOT_FOUND, "amount", "");
        else if (i == 8)
            assert_refusal(visits[i], ERR_INVALID_REQUEST, "amount", "");
        else
            assert_int_equal(member_of(visits[i], "total"), 100 + i);
    }
    assert_int_equal(audit_rows(), 5);
}

/* A row that another transaction locks for long delays only its own caller, and no other call waits for its end. */
static void test_a_locked_row_holds_up_its_own_caller(void **state)
{
    (void)state;
    run_sql("insert into public.sums values ('n2', 0)");
    struct error err;
    DB_CONN_SCOPE other = NULL;
    assert_ok(db_connect(db, 1000, &other, &err), &err);
    assert_ok(db_script(other, "begin; update public.sums set total = 1000 where name = 'n2'", &err), &err);
    struct visit *visits[5];
    many(visits, 5);
    api_free(api, 1000);
    api = service_new((struct api_config){ .quick_threads = 2 });
    for (int i = 0; i < 5; i++)
        start(visits[i]);
    for (int i = 0; i < 5; i++) {
        if (i != 2)
            finish(visits[i]);
    }
    assert_false(is_answered(visits[2]));
    assert_ok(db_script(other, "commit", &err), &err);
    finish(visits[2]);
    assert_int_equal(member_of(visits[2], "total"), 1102);
}

/* The promise of round trips holds for calls that share them, too. */
static void test_the_query_budget_is_held(void **state)
{
    (void)state;
#ifdef POSTHORN_CHECKS
    struct visit *visits[4];
    many(visits, 4);
    visits[1] = add("n1", ASKS_TOO_OFTEN);
    run_together(visits, 4);
    assert_refusal(visits[1], ERR_INTERNAL_ERROR, "", "query budget of sums.add");
    assert_others_added(visits, 4, 1);
#endif
}

/* ---- Idempotency keys ---- */

/* a replay in the middle of others. */
static void test_a_replay_among_others(void **state)
{
    (void)state;
    struct visit *first = visit_run(with_idempotency(add("n1", 101), "k"));
    assert_true(first->call.ok);
    struct visit *visits[4];
    many(visits, 4);
    with_idempotency(visits[1], "k");
    run_together(visits, 4);
    assert_true(visits[1]->call.replayed);
    assert_string_equal(buf_text(visits[1]->call.reply.body), buf_text(first->call.reply.body));
    for (int i = 0; i < 4; i++)
        assert_int_equal(member_of(visits[i], "total"), 100 + i);
    assert_int_equal(total_of("n1"), 101);
    assert_int_equal(audit_rows(), 4);
    assert_int_equal(member_of(visits[3], "transaction"), member_of(visits[0], "transaction"));
}

/* */
static void test_a_conflict_among_others(void **state)
{
    (void)state;
    assert_true(visit_run(with_idempotency(add("n1", 7), "k"))->call.ok);
    run_sql("delete from public.sums; delete from audit_log");
    struct visit *visits[4];
    many(visits, 4);
    with_idempotency(visits[1], "k");
    run_together(visits, 4);
    assert_refusal(visits[1], ERR_IDEMPOTENCY_CONFLICT, "", "other arguments");
    assert_others_added(visits, 4, 1);
}

/* several calls with one key at one moment. */
static void test_duplicates_in_one_batch(void **state)
{
    (void)state;
    struct visit *visits[8];
    for (int i = 0; i < 8; i++)
        visits[i] = i % 2 == 0 ? with_idempotency(add("same", 5), "k") : add(arena_printf(arena, "n%d", i), i);
    run_together(visits, 8);
    int replays = 0;
    for (int i = 0; i < 8; i++) {
        assert_int_equal(member_of(visits[i], "total"), i % 2 == 0 ? 5 : i);
        replays += visits[i]->call.replayed;
    }
    assert_int_equal(replays, 3);
    assert_int_equal(total_of("same"), 5);
    assert_int_equal(audit_rows(), 5);
}

/* A replay comes before a refusal, also of what a batch would refuse at once. */
static void test_a_claim_comes_before_the_input(void **state)
{
    (void)state;
    assert_true(visit_run(with_idempotency(add("a", 1), "k"))->call.ok);
    struct visit *broken = with_idempotency(add("a", 1), "k");
    fail(&broken->call.input.refusal, ERR_INVALID_REQUEST, "body", "Broken.");
    assert_true(visit_run(broken)->call.replayed);
    struct visit *refused = visit_run(with_idempotency(add("a", REFUSED_BY_CHECK), "k"));
    assert_refusal(refused, ERR_IDEMPOTENCY_CONFLICT, "", "other arguments");
    assert_refusal(visit_run(with_idempotency(add("a", REFUSED_BY_CHECK), "fresh")), ERR_INVALID_REQUEST, "amount", "Not 13");
    assert_int_equal(kept_keys(), 1);
}

/* */
static void test_a_key_is_fresh_after_a_day(void **state)
{
    (void)state;
    assert_true(visit_run(with_idempotency(add("a", 1), "k"))->call.ok);
    clock_set_offset_us(25 * INT64_C(3600) * US_PER_S);
    assert_int_equal(member_of(visit_run(with_idempotency(add("a", 2), "k")), "total"), 3);
    assert_int_equal(kept_keys(), 1);
}

/* a success that keeps no key. */
static void test_a_key_that_is_not_kept(void **state)
{
    (void)state;
    assert_true(visit_run(with_idempotency(add("a", KEEPS_NO_KEY), "k"))->call.ok);
    assert_int_equal(kept_keys(), 0);
    assert_int_equal(member_of(visit_run(with_idempotency(add("a", 1), "k")), "total"), KEEPS_NO_KEY + 1);
}

/* An idempotency key that another process has claimed and not yet settled: only its own caller waits. */
static void test_a_key_claimed_elsewhere(void **state)
{
    (void)state;
    struct error err;
    open_service();
    struct visit *first = visit_run(with_idempotency(add("n2", 102), "k"));
    assert_true(first->call.ok);
    DB_CONN_SCOPE other = NULL;
    assert_ok(db_connect(db, 1000, &other, &err), &err);
    assert_ok(db_script(other,
                        "create temp table held as select * from idempotency_keys; delete from idempotency_keys; begin;"
                        "insert into idempotency_keys select * from held",
                        &err),
              &err);
    struct visit *visits[4];
    many(visits, 4);
    with_idempotency(visits[2], "k");
    for (int i = 0; i < 4; i++)
        start(visits[i]);
    for (int i = 0; i < 4; i++)
        if (i != 2)
            finish(visits[i]);
    assert_false(is_answered(visits[2]));
    assert_ok(db_script(other, "commit", &err), &err);
    finish(visits[2]);
    assert_true(visits[2]->call.replayed);
    assert_int_equal(total_of("n2"), 102);
}

/* a call that was sent back counts once against the window. */
static void test_what_goes_alone_counts_once(void **state)
{
    (void)state;
    static const struct rate_policy two_a_minute = { .name = "test", .index = 1000, .limit = 2, .window_s = 60 };
    struct operation limited_op = add_op;
    limited_op.policy = &two_a_minute;
    const char *key = key_new(1, 1, SCOPE_ALL, 1);
    struct visit *visits[3];
    for (int i = 0; i < 3; i++) {
        visits[i] = with_key(visit_new(&limited_op, arena_printf(arena, "{\"name\":\"a\",\"amount\":%d}", i < 2 ? 17 : 1)), key);
        visit_run(visits[i]);
    }
    assert_refusal(visits[0], ERR_NOT_FOUND, "amount", "");
    assert_refusal(visits[1], ERR_NOT_FOUND, "amount", "");
    assert_refusal(visits[2], ERR_RATE_LIMITED, "", "");
}

/* ---- Cancelling ---- */

static void test_cancelling_one_of_many(void **state)
{
    (void)state;
    struct visit *visits[6];
    many(visits, 6);
    struct visit *holding = one_busy_writer();
    for (int i = 0; i < 6; i++)
        start(visits[i]);
    api_cancel(api, &visits[1]->call); /* still queued: it never joins */
    free_writer(holding);
    for (int i = 0; i < 6; i++)
        finish(visits[i]);
    assert_refusal(visits[1], ERR_SERVICE_UNAVAILABLE, "", "cancelled");
    assert_others_added(visits, 6, 1);
}

/* A call that is cancelled during a group commit still commits, and does not stop the others. */
static void test_cancelling_on_the_way(void **state)
{
    (void)state;
    struct error err;
    struct visit *visits[5];
    many(visits, 5);
    run_sql("insert into public.sums values ('n4', 0)");
    struct visit *holding = one_busy_writer();
    DB_CONN_SCOPE other = NULL;
    assert_ok(db_connect(db, 1000, &other, &err), &err);
    assert_ok(db_script(other, "begin; select * from public.sums where name = 'n4' for update", &err), &err);
    for (int i = 0; i < 5; i++)
        start(visits[i]);
    free_writer(holding);
    await_number("select count(*) from pg_stat_activity where wait_event_type = 'Lock'", 1);
    for (int i = 0; i < 4; i++)
        api_cancel(api, &visits[i]->call);
    assert_ok(db_script(other, "rollback", &err), &err);
    for (int i = 0; i < 5; i++)
        finish(visits[i]);
    for (int i = 0; i < 5; i++)
        assert_int_equal(member_of(visits[i], "total"), 100 + i);
    assert_int_equal(audit_rows(), 5);
}

/* ---- Lost connections ---- */

/* After a lost connection the result of the commit is unknown, so no work is repeated. */
static void test_a_lost_connection_is_told(void **state)
{
    (void)state;
    struct error err;
    struct visit *visits[4];
    many(visits, 4);
    run_sql("insert into public.sums values ('n3', 0)");
    struct visit *holding = one_busy_writer();
    DB_CONN_SCOPE other = NULL;
    assert_ok(db_connect(db, 1000, &other, &err), &err);
    assert_ok(db_script(other, "begin; select * from public.sums where name = 'n3' for update", &err), &err);
    for (int i = 0; i < 4; i++)
        start(visits[i]);
    free_writer(holding);
    await_number("select count(*) from pg_stat_activity where wait_event_type = 'Lock'", 1);
    assert_int_equal(number_of("select count(pg_terminate_backend(pid)) from pg_stat_activity where wait_event_type = 'Lock'"), 1);
    for (int i = 0; i < 4; i++) {
        finish(visits[i]);
        assert_refusal(visits[i], ERR_SERVICE_UNAVAILABLE, "", "");
        assert_true(visits[i]->call.error.retry_after_s > 0);
    }
    assert_ok(db_script(other, "rollback", &err), &err);
    assert_int_equal(audit_rows(), 0);
    assert_int_equal(member_of(visit_run(add("n3", 1)), "total"), 1);
}

/* ---- Two processes ---- */

enum { HAMMERS = 4, BLOWS = 60, ROWS = 10 };

struct hammer {
    struct api *service;
    int seed;
    struct visit *visits[BLOWS];
    pthread_t thread;
};

static void *strike(void *data)
{
    struct hammer *hammer = data;
    for (int i = 0; i < BLOWS; i++)
        api_submit(hammer->service, &hammer->visits[i]->call);
    for (int i = 0; i < BLOWS; i++)
        finish(hammer->visits[i]);
    return NULL;
}

/* Two services on one database, as two processes are, and the same ten rows: nothing lost, nothing doubled, every answer true. */
static void test_two_services_and_the_same_rows(void **state)
{
    (void)state;
    open_service();
    struct api *other = service_new((struct api_config){ .quick_threads = 4 });
    struct hammer hammers[HAMMERS];
    for (int h = 0; h < HAMMERS; h++) {
        hammers[h] = (struct hammer){ .service = h % 2 == 0 ? api : other, .seed = h };
        for (int i = 0; i < BLOWS; i++) {
            hammers[h].visits[i] = add(arena_printf(arena, "row%d", (i * 7 + h * 3) % ROWS), 1);
            with_idempotency(hammers[h].visits[i], arena_printf(arena, "%d-%d", h, i));
        }
    }
    for (int h = 0; h < HAMMERS; h++)
        assert_int_equal(pthread_create(&hammers[h].thread, NULL, strike, &hammers[h]), 0);
    for (int h = 0; h < HAMMERS; h++)
        pthread_join(hammers[h].thread, NULL);
    /* Each total of a row was answered exactly once. */
    static bool answered[ROWS][HAMMERS * BLOWS + 1];
    memset(answered, 0, sizeof(answered));
    for (int h = 0; h < HAMMERS; h++) {
        for (int i = 0; i < BLOWS; i++) {
            int64_t total = member_of(hammers[h].visits[i], "total");
            bool *seen = &answered[(i * 7 + h * 3) % ROWS][total];
            assert_false(*seen);
            *seen = true;
        }
    }
    assert_int_equal(number_of("select sum(total)::bigint from public.sums"), HAMMERS * BLOWS);
    assert_int_equal(audit_rows(), HAMMERS * BLOWS);
    assert_int_equal(kept_keys(), HAMMERS * BLOWS);
    api_free(other, 1000);
}

/* R-145 across processes: the same keys through both. */
static void test_two_services_and_the_same_keys(void **state)
{
    (void)state;
    open_service();
    struct api *other = service_new((struct api_config){ .quick_threads = 4 });
    struct hammer hammers[HAMMERS];
    for (int h = 0; h < HAMMERS; h++) {
        hammers[h] = (struct hammer){ .service = h % 2 == 0 ? api : other };
        for (int i = 0; i < BLOWS; i++)
            hammers[h].visits[i] = with_idempotency(add(arena_printf(arena, "row%d", i), 1), arena_printf(arena, "key-%d", i));
    }
    for (int h = 0; h < HAMMERS; h++)
        assert_int_equal(pthread_create(&hammers[h].thread, NULL, strike, &hammers[h]), 0);
    for (int h = 0; h < HAMMERS; h++)
        pthread_join(hammers[h].thread, NULL);
    int replays = 0;
    for (int h = 0; h < HAMMERS; h++) {
        for (int i = 0; i < BLOWS; i++) {
            assert_int_equal(member_of(hammers[h].visits[i], "total"), 1);
            replays += hammers[h].visits[i]->call.replayed;
        }
    }
    assert_int_equal(replays, (HAMMERS - 1) * BLOWS);
    assert_int_equal(number_of("select sum(total)::bigint from public.sums"), BLOWS);
    assert_int_equal(audit_rows(), BLOWS);
    api_free(other, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SUMS_TEST(test_calls_share_a_commit),
        SUMS_TEST(test_a_call_that_needs_too_much_memory_is_its_own),
        SUMS_TEST(test_a_call_by_itself),
        SUMS_TEST(test_one_row_twice),
        SUMS_TEST(test_several_brands),
        SUMS_TEST(test_a_job_of_one_wakes_the_workers),
        SUMS_TEST(test_refusals_stay_outside),
        SUMS_TEST(test_a_refused_answer_is_its_own),
        SUMS_TEST(test_a_batch_is_finished_together),
        SUMS_TEST(test_an_unwritten_refusal_stays_in_the_batch),
        SUMS_TEST(test_operations_that_finish_have_batches_of_their_own),
        SUMS_TEST(test_a_call_without_a_lock_key_is_alone),
        SUMS_TEST(test_a_large_call_is_alone),
        SUMS_TEST(test_a_large_call_beside_a_faulty_one),
        SUMS_TEST(test_a_large_call_by_itself_is_tried_once),
        SUMS_TEST(test_a_failing_statement_is_its_own),
        SUMS_TEST(test_several_faults),
        SUMS_TEST(test_a_locked_row_holds_up_its_own_caller),
        SUMS_TEST(test_the_query_budget_is_held),
        SUMS_TEST(test_a_replay_among_others),
        SUMS_TEST(test_a_conflict_among_others),
        SUMS_TEST(test_duplicates_in_one_batch),
        SUMS_TEST(test_a_claim_comes_before_the_input),
        SUMS_TEST(test_a_key_is_fresh_after_a_day),
        SUMS_TEST(test_a_key_that_is_not_kept),
        SUMS_TEST(test_a_key_claimed_elsewhere),
        SUMS_TEST(test_what_goes_alone_counts_once),
        SUMS_TEST(test_cancelling_one_of_many),
        SUMS_TEST(test_cancelling_on_the_way),
        SUMS_TEST(test_a_lost_connection_is_told),
        SUMS_TEST(test_two_services_and_the_same_rows),
        SUMS_TEST(test_two_services_and_the_same_keys),
    };
    return cmocka_run_group_tests_name("api: shared commits", tests, world_begin, group_teardown);
}
