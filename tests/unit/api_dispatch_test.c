/* The checks of every call in their order, reads and their pipelines, overload and cancelling. */
#include "api_world.h"

/* ---- Hand-made operations ---- */

static const struct arg_shape no_args = { NULL, 0, 0 };
static _Atomic int handled;

static bool answer_place(struct request *rq, const void *args, struct reply *reply, struct error *err)
{
    (void)args;
    (void)err;
    handled++;
    json_object_begin(&reply->json);
    json_member_int(&reply->json, "organization", rq->work.organization_id);
    json_member_int(&reply->json, "brand", rq->work.brand_id);
    json_object_end(&reply->json);
    return true;
}

#define OPERATION(operation_mode, operation_reach)                                                                                 \
    .id = "test.op", .index = -1, .mode = (operation_mode), .reach = (operation_reach), .status = 200, .query_budget = 5,          \
    .built = true, .args = &no_args, .handler = answer_place

static const struct operation public_op = { OPERATION(OP_MEMORY, REACH_PUBLIC) };
static const struct operation memory_op = { OPERATION(OP_MEMORY, REACH_ORGANIZATION) };
static const struct operation organization_op = { OPERATION(OP_READ, REACH_ORGANIZATION) };
static const struct operation brand_op = { OPERATION(OP_READ, REACH_BRAND) };

static const struct rate_policy two_a_minute = { .name = "test", .index = 1000, .limit = 2, .window_s = 60 };

/* Fails at every check at once, so that the one reported is the first. */
static const struct operation strict_op = {
    OPERATION(OP_READ, REACH_BRAND),
    .policy = &two_a_minute,
    .scopes = SCOPE_ALL | SCOPE_SENDS | SCOPE_EMAILS,
    .scope = "sends",
};

/* ---- Who calls ---- */

static void test_public_operations_need_nothing(void **state)
{
    (void)state;
    struct visit *visit = visit_new(&public_op, NULL);
    visit->call.credentials.kind = CREDENTIAL_NONE;
    assert_true(api_is_immediate(api, &visit->call));
    start(visit);
    /* Answered where it arrived: no thread, no database. */
    assert_int_equal(visit->answers, 1);
    assert_true(pthread_equal(visit->answered_by, pthread_self()));
    assert_answer(visit, 200, "{\"organization\":0,\"brand\":0}");
    assert_false(installation_is_open(api_installation(api)));
}

static void test_the_local_owner(void **state)
{
    (void)state;
    assert_answer(visit_run(visit_new(&organization_op, NULL)), 200, "{\"organization\":1,\"brand\":0}");
    assert_answer(visit_run(visit_new(&brand_op, NULL)), 200, "{\"organization\":1,\"brand\":1}");
    struct visit *visit = visit_new(&memory_op, NULL);
    assert_true(api_is_immediate(api, &visit->call));
    assert_answer(visit_run(visit), 200, "{\"organization\":1,\"brand\":0}");
}

/* */
static void test_credentials(void **state)
{
    (void)state;
    struct visit *visit = visit_new(&organization_op, NULL);
    visit->call.credentials.kind = CREDENTIAL_NONE;
    assert_refusal(visit_run(visit), ERR_AUTHENTICATION_REQUIRED, "", "No credential");
    visit = visit_new(&memory_op, NULL);
    visit->call.credentials.kind = CREDENTIAL_NONE;
    assert_true(api_is_immediate(api, &visit->call));
    assert_refusal(visit_run(visit), ERR_AUTHENTICATION_REQUIRED, "", "No credential");
    visit = visit_new(&organization_op, NULL);
    visit->call.credentials.kind = CREDENTIAL_SESSION;
    visit->call.credentials.secret = "session";
    assert_refusal(visit_run(visit), ERR_AUTHENTICATION_REQUIRED, "", "sessions");
    assert_refusal(visit_run(with_key(visit_new(&organization_op, NULL), "nonsense")), ERR_INVALID_API_KEY, "", "not an API key");
    assert_refusal(visit_run(with_key(visit_new(&organization_op, NULL), api_key_new(arena))), ERR_INVALID_API_KEY, "", "No such");

    const char *key = key_new(1, 0, SCOPE_ALL, 1);
    assert_answer(visit_run(with_key(visit_new(&organization_op, NULL), key)), 200, "{\"organization\":1,\"brand\":0}");
    run_sql("update api_keys set revoked_at = now()");
    /* Believed for a second elsewhere, at once where it was revoked. */
    api_forget_credentials(api);
    assert_refusal(visit_run(with_key(visit_new(&organization_op, NULL), key)), ERR_API_KEY_REVOKED, "", "revoked");
    run_sql("update api_keys set revoked_at = null");
    assert_answer(visit_run(with_key(visit_new(&organization_op, NULL), key)), 200, "{\"organization\":1,\"brand\":0}");
}

static void test_a_revoked_key_is_believed_for_a_second(void **state)
{
    (void)state;
    const char *key = key_new(1, 0, SCOPE_ALL, 1);
    assert_answer(visit_run(with_key(visit_new(&organization_op, NULL), key)), 200, "{\"organization\":1,\"brand\":0}");
    run_sql("update api_keys set revoked_at = now()");
    int64_t revoked_us = clock_monotonic_us();
    while (visit_run(with_key(visit_new(&organization_op, NULL), key))->call.ok)
        assert_true(clock_monotonic_us() - revoked_us < 1500 * US_PER_MS);
}

static void test_a_key_notes_its_use(void **state)
{
    (void)state;
    const char *key = key_new(1, 0, SCOPE_ALL, 1);
    assert_int_equal(number_of("select count(*) from api_keys where last_used_at is not null"), 0);
    visit_run(with_key(visit_new(&organization_op, NULL), key));
    assert_int_equal(number_of("select count(*) from api_keys where last_used_at > now() - interval '1 minute'"), 1);
}

/* Who calls is told of a cached key without the database. */
static void test_a_cached_key_is_immediate(void **state)
{
    (void)state;
    const char *key = key_new(1, 0, SCOPE_ALL, 1);
    struct visit *first = with_key(visit_new(&memory_op, NULL), key);
    assert_false(api_is_immediate(api, &first->call));
    assert_answer(visit_run(first), 200, "{\"organization\":1,\"brand\":0}");
    struct visit *second = with_key(visit_new(&memory_op, NULL), key);
    assert_true(api_is_immediate(api, &second->call));
    start(second);
    assert_int_equal(second->answers, 1);
    assert_answer(second, 200, "{\"organization\":1,\"brand\":0}");
    assert_int_equal(second->call.who.key_id, first->call.who.key_id);
}

static void test_a_connection_check_answers_who(void **state)
{
    (void)state;
    const char *key = key_new(1, 1, SCOPE_CONTACTS, 1);
    struct visit *visit = with_key(visit_new(&memory_op, NULL), key);
    visit->call.candidates = api_connection_check;
    assert_answer(visit_run(visit), 200, "{}");
    assert_int_equal(visit->call.who.bound_brand_id, 1);
    assert_int_equal(visit->call.who.scopes, SCOPE_CONTACTS);
}

/* ---- Brands ---- */

static struct visit *in_brand(const char *key, const char *brand)
{
    struct visit *visit = visit_new(&brand_op, NULL);
    if (key != NULL)
        with_key(visit, key);
    visit->call.credentials.brand = brand;
    return visit_run(visit);
}

/* */
static void test_a_brand_key_reaches_one_brand(void **state)
{
    (void)state;
    open_service();
    int64_t second = brand_new(1);
    const char *key = key_new(1, second, SCOPE_ALL, 1);
    const char *own = arena_printf(arena, "{\"organization\":1,\"brand\":%lld}", (long long)second);
    assert_answer(in_brand(key, NULL), 200, own);
    assert_answer(in_brand(key, brand_wire_id(second)), 200, own);
    assert_refusal(in_brand(key, brand_wire_id(1)), ERR_BRAND_SCOPE_MISMATCH, "", "another brand");
    assert_refusal(in_brand(key, brand_wire_id(99999)), ERR_BRAND_SCOPE_MISMATCH, "", "another brand");
    assert_refusal(in_brand(key, "nonsense"), ERR_BRAND_SCOPE_MISMATCH, "", "another brand");
    assert_refusal(in_brand(key, ""), ERR_BRAND_SCOPE_MISMATCH, "", "another brand");
}

/* */
static void test_an_organization_key_names_its_brand(void **state)
{
    (void)state;
    open_service();
    int64_t second = brand_new(1);
    int64_t foreign = brand_new(organization_new("self_hosted"));
    const char *key = key_new(1, 0, SCOPE_ALL, 1);
    assert_refusal(in_brand(key, NULL), ERR_BRAND_ID_REQUIRED, "", "X-Brand-Id");
    assert_answer(in_brand(key, brand_wire_id(second)), 200, arena_printf(arena, "{\"organization\":1,\"brand\":%lld}", (long long)second));
    assert_refusal(in_brand(key, brand_wire_id(foreign)), ERR_BRAND_NOT_FOUND, "", "No brand");
    assert_refusal(in_brand(key, brand_wire_id(99999)), ERR_BRAND_NOT_FOUND, "", "No brand");
    assert_refusal(in_brand(key, "nonsense"), ERR_BRAND_NOT_FOUND, "", "No brand");
    run_sql("update brands set status = 'deleting' where id = %lld", (long long)second);
    api_forget_credentials(api);
    assert_refusal(in_brand(key, brand_wire_id(second)), ERR_BRAND_NOT_FOUND, "", "No brand");
    /* an operation of the organization needs none. */
    assert_answer(visit_run(with_key(visit_new(&organization_op, NULL), key)), 200, "{\"organization\":1,\"brand\":0}");
}

static void test_the_local_owner_works_in_a_brand(void **state)
{
    (void)state;
    open_service();
    int64_t second = brand_new(1);
    const char *wire_id = brand_wire_id(second);
    const char *there = arena_printf(arena, "{\"organization\":1,\"brand\":%lld}", (long long)second);
    assert_answer(in_brand(NULL, wire_id), 200, there);
    assert_refusal(in_brand(NULL, "nonsense"), ERR_BRAND_NOT_FOUND, "", "No brand");
    /* The brand of the process, unless a call names one. */
    api_free(api, 1000);
    api = service_new((struct api_config){ .quick_threads = 1, .fixed_brand = wire_id });
    open_service();
    assert_answer(in_brand(NULL, NULL), 200, there);
    assert_answer(in_brand(NULL, brand_wire_id(1)), 200, "{\"organization\":1,\"brand\":1}");
}

/* ---- Reach and scope ---- */

/* */
static void test_session_operations(void **state)
{
    (void)state;
    static const struct operation session_op = { OPERATION(OP_READ, REACH_SESSION) };
    assert_refusal(visit_run(visit_new(&session_op, NULL)), ERR_INSUFFICIENT_ROLE, "org_admin", "administrator");
    const char *key = key_new(1, 0, SCOPE_ALL, 1);
    assert_refusal(visit_run(with_key(visit_new(&session_op, NULL), key)), ERR_INSUFFICIENT_ROLE, "org_admin", "administrator");
}

/* `all` does not lift the binding; a reading operation is open to every key. */
static void test_organization_operations(void **state)
{
    (void)state;
    static const struct operation billing_op = { OPERATION(OP_READ, REACH_ORGANIZATION), .organization_key = true };
    const char *bound = key_new(1, 1, SCOPE_ALL, 1);
    const char *wide = key_new(1, 0, SCOPE_ALL, 1);
    assert_refusal(visit_run(with_key(visit_new(&billing_op, NULL), bound)), ERR_ORG_SCOPE_REQUIRED, "", "organization key");
    assert_answer(visit_run(with_key(visit_new(&billing_op, NULL), wide)), 200, "{\"organization\":1,\"brand\":0}");
    assert_answer(visit_run(with_key(visit_new(&organization_op, NULL), bound)), 200, "{\"organization\":1,\"brand\":0}");
}

/* */
static void test_scopes(void **state)
{
    (void)state;
    static const struct {
        uint32_t held;
        bool enough;
    } cases[] = { { SCOPE_ALL, true },      { SCOPE_SENDS, true },  { SCOPE_EMAILS, true }, { SCOPE_SENDS | SCOPE_BRANDS, true },
                  { SCOPE_CONTACTS, false }, { SCOPE_BRANDS, false }, { 0, false } };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        const char *key = key_new(1, 1, cases[i].held, 100);
        struct visit *visit = visit_run(with_key(visit_new(&strict_op, NULL), key));
        if (cases[i].enough)
            assert_answer(visit, 200, "{\"organization\":1,\"brand\":1}");
        else
            assert_refusal(visit, ERR_INSUFFICIENT_PERMISSIONS, "sends", "scope sends");
    }
}

/* ---- Rates ---- */

/* */
static void test_rates(void **state)
{
    (void)state;
    const char *key = key_new(1, 1, SCOPE_ALL, 1);
    const char *other = key_new(1, 1, SCOPE_ALL, 1);
    struct visit *visit = visit_run(with_key(visit_new(&strict_op, NULL), key));
    assert_true(visit->call.ok);
    assert_int_equal(visit->call.rate.limit, 2);
    assert_int_equal(visit->call.rate.remaining, 1);
    visit = visit_run(with_key(visit_new(&strict_op, NULL), key));
    assert_int_equal(visit->call.rate.remaining, 0);
    handled = 0;
    visit = visit_run(with_key(visit_new(&strict_op, NULL), key));
    assert_refusal(visit, ERR_RATE_LIMITED, "", "More than 2 calls in 60 seconds");
    assert_int_equal(handled, 0);
    assert_true(visit->call.error.retry_after_s >= 1 && visit->call.error.retry_after_s <= 61);
    assert_int_equal(visit->call.rate.remaining, 0);
    assert_true(visit_run(with_key(visit_new(&strict_op, NULL), other))->call.ok);
    /* Whoever waits as told is let in. */
    clock_set_offset_us(visit->call.error.retry_after_s * US_PER_S);
    assert_true(visit_run(with_key(visit_new(&strict_op, NULL), key))->call.ok);
    /* The owner of the machine is not limited. */
    for (int i = 0; i < 5; i++) {
        visit = visit_run(visit_new(&strict_op, NULL));
        assert_true(visit->call.ok);
        assert_int_equal(visit->call.rate.remaining, 2);
    }
}

/* ---- The order of the checks (A-27) ---- */

static struct visit *fails_everywhere(const char *key)
{
    struct visit *visit = with_key(visit_new(&strict_op, "{\"unknown\":1}"), key);
    visit->call.credentials.brand = "nonsense";
    fail(&visit->call.input.refusal, ERR_INVALID_REQUEST, "body", "The body is not JSON.");
    return visit_run(visit);
}

static void test_the_order_of_checks(void **state)
{
    (void)state;
    open_service();
    handled = 0;
    assert_refusal(fails_everywhere(api_key_new(arena)), ERR_INVALID_API_KEY, "", "");
    /* The rate comes before the brand, and counts what the brand refuses. */
    const char *key = key_new(1, 1, SCOPE_CONTACTS, 1);
    assert_refusal(fails_everywhere(key), ERR_BRAND_SCOPE_MISMATCH, "", "");
    assert_refusal(fails_everywhere(key), ERR_BRAND_SCOPE_MISMATCH, "", "");
    assert_refusal(fails_everywhere(key), ERR_RATE_LIMITED, "", "");

    /* The scope comes before what is wrong with the input (R-074: and nothing was run). */
    key = key_new(1, 1, SCOPE_CONTACTS, 100);
    struct visit *visit = with_key(visit_new(&strict_op, "{\"unknown\":1}"), key);
    fail(&visit->call.input.refusal, ERR_INVALID_REQUEST, "body", "The body is not JSON.");
    assert_refusal(visit_run(visit), ERR_INSUFFICIENT_PERMISSIONS, "sends", "");
    /* A fault of reading comes before unknown keys, which come last. */
    key = key_new(1, 1, SCOPE_SENDS, 100);
    visit = with_key(visit_new(&strict_op, "{\"unknown\":1}"), key);
    fail(&visit->call.input.refusal, ERR_INVALID_REQUEST, "body", "The body is not JSON.");
    assert_refusal(visit_run(visit), ERR_INVALID_REQUEST, "body", "not JSON");
    assert_refusal(visit_run(with_key(visit_new(&strict_op, "{\"unknown\":1}"), key)), ERR_INVALID_REQUEST, "unknown", "not a known key");
    assert_int_equal(handled, 0);

    /* The rules of the organization come after the rate, before the brand. */
    static const struct operation billing_op = { OPERATION(OP_READ, REACH_ORGANIZATION), .organization_key = true, .policy = &two_a_minute,
                                                 .scopes = SCOPE_SENDS, .scope = "sends" };
    key = key_new(1, 1, SCOPE_CONTACTS, 1);
    for (int i = 0; i < 2; i++)
        assert_refusal(visit_run(with_key(visit_new(&billing_op, NULL), key)), ERR_ORG_SCOPE_REQUIRED, "", "");
    assert_refusal(visit_run(with_key(visit_new(&billing_op, NULL), key)), ERR_RATE_LIMITED, "", "");
}

/* known, checked like any other, and not there yet. */
static void test_what_is_not_built(void **state)
{
    (void)state;
    static const struct operation unbuilt_op = { .id = "test.unbuilt", .index = -1, .mode = OP_WRITE, .reach = REACH_BRAND, .status = 201,
                                                 .args = &no_args, .scopes = SCOPE_SENDS, .scope = "sends" };
    assert_refusal(visit_run(with_key(visit_new(&unbuilt_op, NULL), key_new(1, 1, SCOPE_CONTACTS, 1))), ERR_INSUFFICIENT_PERMISSIONS, "sends", "");
    assert_refusal(visit_run(with_key(visit_new(&unbuilt_op, NULL), key_new(1, 1, SCOPE_SENDS, 1))), ERR_NOT_IMPLEMENTED, "", "test.unbuilt");
}

/* ---- Which operation ---- */

static bool answer_other(struct request *rq, const void *args, struct reply *reply, struct error *err)
{
    (void)args;
    (void)err;
    json_raw(&reply->json, "{\"other\":true}");
    reply->status = 202;
    request_subject(rq, "ignored");
    return true;
}

static void test_conditions_choose_the_operation(void **state)
{
    (void)state;
    static const struct arg_field field = { .name = "rows", .kind = ARG_JSON, .place = ARG_IN_BODY, .json_type = JSON_ARRAY, .max_size = 9 };
    static const struct arg_shape rows_args = { &field, 1, sizeof(void *) };
    static const struct operation batch_op = { .id = "test.batch", .index = -1, .mode = OP_READ, .reach = REACH_BRAND, .status = 200,
                                               .built = true, .args = &rows_args, .handler = answer_other,
                                               .when = { WHEN_PRESENT, "rows", NULL } };
    static const struct operation *const both[] = { &batch_op, &brand_op, NULL };
    struct visit *visit = visit_new(&brand_op, "{\"rows\":[]}");
    visit->call.candidates = both;
    assert_answer(visit_run(visit), 202, "{\"other\":true}");
    assert_ptr_equal(visit->call.op, &batch_op);
    visit = visit_new(&brand_op, "{}");
    visit->call.candidates = both;
    assert_answer(visit_run(visit), 200, "{\"organization\":1,\"brand\":1}");
    assert_ptr_equal(visit->call.op, &brand_op);
}

/* ---- What handlers may not do ---- */

static bool answer_too_much(struct request *rq, const void *args, struct reply *reply, struct error *err)
{
    (void)args;
    (void)err;
    char *block = arena_alloc(rq->work.arena, 1 << 20);
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
    static const struct operation huge_op = { .id = "test.huge", .index = -1, .mode = OP_READ, .reach = REACH_BRAND, .status = 200,
                                              .built = true, .args = &no_args, .handler = answer_too_much };
    assert_refusal(visit_run(visit_new(&huge_op, NULL)), ERR_INTERNAL_ERROR, "", "too large");
}

NUMBER_QUERY(one_number, "select 7::bigint", 0);

static bool ask_three_times(struct request *rq, const void *args, struct reply *reply, struct error *err)
{
    (void)args;
    for (int i = 0; i < 3; i++)
        if (!db_run(rq->work.conn, rq->work.arena, &one_number, NULL, NULL, err))
            return false;
    json_raw(&reply->json, "{}");
    return true;
}

static bool leave_open(struct request *rq, const void *args, struct reply *reply, struct error *err)
{
    (void)args;
    struct db_tx forgotten;
    json_raw(&reply->json, "{}");
    return db_tx_begin(rq->work.conn, &forgotten, err);
}

static void test_promises_are_held_to(void **state)
{
    (void)state;
    struct operation asking_op = { .id = "test.asking", .index = -1, .mode = OP_READ, .reach = REACH_BRAND, .status = 200,
                                   .built = true, .args = &no_args, .handler = ask_three_times, .query_budget = 3 };
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
    { .name = "by", .kind = ARG_INTEGER, .place = ARG_IN_BODY, .offset = offsetof(struct divisor, by), .required = true, .minimum = -100, .maximum = 100 },
};
static const struct arg_shape divisor_args = { divisor_fields, 1, sizeof(struct divisor) };
NUMBER_QUERY(hundred_by, "select 100 / $1", 1);

static bool bind_divisor(struct request *rq, const void *args, void *params, struct error *err)
{
    const struct divisor *divisor = args;
    assert_int_equal(rq->work.brand_id, 1);
    if (divisor->by == 13)
        return fail(err, ERR_INVALID_REQUEST, "by", "13 is not bound.");
    *(struct number *)params = (struct number){ divisor->by };
    return true;
}

static bool reply_quotient(struct request *rq, const void *args, const void *rows, size_t count, struct reply *reply, struct error *err)
{
    const struct divisor *divisor = args;
    assert_int_equal(rq->work.brand_id, 1);
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
static const struct operation divide_op = { .id = "test.divide", .index = -1, .mode = OP_READ, .reach = REACH_BRAND, .status = 200,
                                            .query_budget = 1, .built = true, .args = &divisor_args, .single = &divide };

NUMBER_QUERY(sleep_a_little, "select 1::bigint from pg_sleep(0.3)", 0);

static bool sleep_then_answer(struct request *rq, const void *args, struct reply *reply, struct error *err)
{
    (void)args;
    json_raw(&reply->json, "{}");
    return db_run(rq->work.conn, rq->work.arena, &sleep_a_little, NULL, NULL, err);
}
static const struct operation sleeping_op = { .id = "test.sleeping", .index = -1, .mode = OP_READ, .reach = REACH_BRAND, .status = 200,
                                              .query_budget = 1, .built = true, .args = &no_args, .handler = sleep_then_answer };

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

/* Keeps the only reader busy, so that what follows is queued and taken together. */
static struct visit *busy_reader(void)
{
    struct visit *sleeping = visit_new(&sleeping_op, NULL);
    start(sleeping);
    await_number("select count(*) from pg_stat_activity where query like '%pg_sleep(0.3)%' and state = 'active' and pid <> pg_backend_pid()", 1);
    return sleeping;
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
    struct visit *sleeping = busy_reader();
    struct visit *visits[40];
    for (int i = 0; i < 40; i++) {
        visits[i] = division(i + 1);
        start(visits[i]);
    }
    finish(sleeping);
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
    struct visit *sleeping = busy_reader();
    struct visit *visits[20];
    for (int i = 0; i < 20; i++) {
        visits[i] = division(i % 5);
        start(visits[i]);
    }
    finish(sleeping);
    for (int i = 0; i < 20; i++) {
        finish(visits[i]);
        if (i % 5 == 0)
            assert_refusal(visits[i], ERR_INTERNAL_ERROR, "", "unexpected");
        else
            assert_quotient(visits[i], i % 5);
    }
}

static void test_all_singles_refused(void **state)
{
    (void)state;
    one_reader(100);
    struct visit *sleeping = busy_reader();
    struct visit *visits[5];
    for (int i = 0; i < 5; i++) {
        visits[i] = division(13);
        start(visits[i]);
    }
    finish(sleeping);
    for (int i = 0; i < 5; i++) {
        finish(visits[i]);
        assert_refusal(visits[i], ERR_INVALID_REQUEST, "by", "13");
    }
}

/* ---- Overload ---- */

/* */
static void test_overload(void **state)
{
    (void)state;
    one_reader(2);
    struct visit *sleeping = busy_reader();
    struct visit *queued[2] = { visit_new(&brand_op, NULL), visit_new(&brand_op, NULL) };
    start(queued[0]);
    start(queued[1]);
    struct visit *refused = visit_run(visit_new(&brand_op, NULL));
    assert_refusal(refused, ERR_SERVICE_UNAVAILABLE, "", "Too many calls");
    assert_int_equal(refused->call.error.retry_after_s, 1);
    /* What needs no database is answered all the same. */
    assert_true(visit_run(visit_new(&memory_op, NULL))->call.ok);
    /* And so is what has a lane of its own. */
    struct operation slow_op = brand_op;
    slow_op.lane = LANE_SLOW;
    assert_true(visit_run(visit_new(&slow_op, NULL))->call.ok);
    finish(sleeping);
    finish(queued[0]);
    finish(queued[1]);
    assert_true(queued[0]->call.ok && queued[1]->call.ok);
}

/* ---- Cancelling ---- */

NUMBER_QUERY(sleep_long, "select 1::bigint from pg_sleep(20)", 0);

static bool sleep_too_long(struct request *rq, const void *args, struct reply *reply, struct error *err)
{
    (void)args;
    json_raw(&reply->json, "{}");
    return db_run(rq->work.conn, rq->work.arena, &sleep_long, NULL, NULL, err);
}
static const struct operation endless_op = { .id = "test.endless", .index = -1, .mode = OP_READ, .reach = REACH_BRAND, .status = 200,
                                             .query_budget = 1, .built = true, .args = &no_args, .handler = sleep_too_long };

static const char sleepers[] = "select count(*) from pg_stat_activity where query like '%pg_sleep(20)%' and state = 'active'"
                               " and pid <> pg_backend_pid()";

static void test_a_running_statement_is_stopped(void **state)
{
    (void)state;
    int64_t start_us = clock_monotonic_us();
    struct visit *visit = visit_new(&endless_op, NULL);
    start(visit);
    await_number(sleepers, 1);
    assert_false(is_answered(visit));
    api_cancel(api, &visit->call);
    finish(visit);
    assert_refusal(visit, ERR_SERVICE_UNAVAILABLE, "", "stopped");
    assert_true(visit->call.error.retry_after_s > 0);
    assert_true(clock_monotonic_us() - start_us < 10 * US_PER_S);
    await_number(sleepers, 0);
    /* The connection is as good as before. */
    assert_true(visit_run(visit_new(&brand_op, NULL))->call.ok);
}

static void test_a_queued_call_is_dropped(void **state)
{
    (void)state;
    one_reader(100);
    struct visit *sleeping = busy_reader();
    handled = 0;
    struct visit *queued = visit_new(&brand_op, NULL);
    struct visit *single = division(5);
    struct visit *kept = division(4);
    start(queued);
    start(single);
    start(kept);
    api_cancel(api, &queued->call);
    api_cancel(api, &single->call);
    finish(sleeping);
    finish(queued);
    finish(single);
    finish(kept);
    assert_refusal(queued, ERR_SERVICE_UNAVAILABLE, "", "cancelled");
    assert_refusal(single, ERR_SERVICE_UNAVAILABLE, "", "cancelled");
    assert_quotient(kept, 4);
    assert_int_equal(handled, 0);
    assert_true(sleeping->call.ok);
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
NUMBER_QUERY(slow_hundred_by, "select 100 / $1 from pg_sleep(0.05)", 1);
static const struct op_single divide_slowly = { &slow_hundred_by, sizeof(struct number), bind_divisor, reply_quotient };

static void test_a_pipeline_is_not_stopped_for_one(void **state)
{
    (void)state;
    one_reader(100);
    struct operation slow_divide_op = divide_op;
    slow_divide_op.single = &divide_slowly;
    struct visit *sleeping = busy_reader();
    struct visit *visits[6];
    for (int i = 0; i < 6; i++) {
        visits[i] = visit_new(&slow_divide_op, arena_printf(arena, "{\"by\":%d}", i + 1));
        start(visits[i]);
    }
    finish(sleeping);
    await_number("select count(*) from pg_stat_activity where query like '%pg_sleep(0.05)%' and state = 'active' and pid <> pg_backend_pid()", 1);
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
        visit->call = (struct call){ .arena = own, .candidates = candidates, .credentials = { .kind = CREDENTIAL_LOCAL_OWNER },
                                     .request_id = "req", .done = visit_done, .door_data = visit };
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

/* ---- What a door asks besides ---- */

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
    assert_non_null(strstr(buf_text(out), arena_printf(arena, "posthorn_call_failures_total{operation=\"%s\"} 1\n", operations[0].id)));
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
        WORLD_TEST(test_public_operations_need_nothing),
        WORLD_TEST(test_the_local_owner),
        WORLD_TEST(test_credentials),
        WORLD_TEST(test_a_revoked_key_is_believed_for_a_second),
        WORLD_TEST(test_a_key_notes_its_use),
        WORLD_TEST(test_a_cached_key_is_immediate),
        WORLD_TEST(test_a_connection_check_answers_who),
        WORLD_TEST(test_a_brand_key_reaches_one_brand),
        WORLD_TEST(test_an_organization_key_names_its_brand),
        WORLD_TEST(test_the_local_owner_works_in_a_brand),
        WORLD_TEST(test_session_operations),
        WORLD_TEST(test_organization_operations),
        WORLD_TEST(test_scopes),
        WORLD_TEST(test_rates),
        WORLD_TEST(test_the_order_of_checks),
        WORLD_TEST(test_what_is_not_built),
        WORLD_TEST(test_conditions_choose_the_operation),
        WORLD_TEST(test_answers_are_bounded),
        WORLD_TEST(test_promises_are_held_to),
        WORLD_TEST(test_a_single_alone),
        WORLD_TEST(test_singles_answer_their_own_callers),
        WORLD_TEST(test_a_failing_single_fails_alone),
        WORLD_TEST(test_all_singles_refused),
        WORLD_TEST(test_overload),
        WORLD_TEST(test_a_running_statement_is_stopped),
        WORLD_TEST(test_a_queued_call_is_dropped),
        WORLD_TEST(test_cancelling_before_submitting),
        WORLD_TEST(test_a_pipeline_is_not_stopped_for_one),
        WORLD_TEST(test_many_callers),
        WORLD_TEST(test_request_ids),
        WORLD_TEST(test_error_envelopes),
        WORLD_TEST(test_metrics_count_calls),
        WORLD_TEST(test_the_database_is_away),
    };
    return cmocka_run_group_tests_name("api: dispatch", tests, world_begin, group_teardown);
}
