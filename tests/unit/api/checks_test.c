/* Checks before the work of a call: each check alone, and their order. */
#include "fixtures/api_fixture.h"

static const struct rate_policy two_a_minute = { .name = "test", .index = 1000, .limit = 2, .window_s = 60 };

/* Fails at every check at once, so that the one reported is the first. */
static const struct operation strict_op = {
    OPERATION(OP_READ, REACH_BRAND),
    .policy = &two_a_minute,
    .scopes = SCOPE_ALL | SCOPE_SENDS | SCOPE_EMAILS,
    .scope = "sends",
};

static const struct operation session_op = { OPERATION(OP_READ, REACH_SESSION) };
/* It concerns more than a brand. */
static const struct operation whole_organization_op = { OPERATION(OP_READ, REACH_ORGANIZATION), .organization_key = true };

/* ---- Callers ---- */

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
    assert_refusal(visit_run(visit), ERR_AUTHENTICATION_REQUIRED, "", "session");
    assert_refusal(visit_run(with_key(visit_new(&organization_op, NULL), "nonsense")), ERR_INVALID_API_KEY, "",
                   "not a valid API key");
    assert_refusal(visit_run(with_key(visit_new(&organization_op, NULL), api_key_new(arena))), ERR_INVALID_API_KEY, "", "No such");

    const char *key = key_new(1, 0, SCOPE_ALL, 1);
    assert_answer(visit_run(with_key(visit_new(&organization_op, NULL), key)), 200, "{\"organization\":1,\"brand\":0}");
    run_sql("update api_keys set revoked_at = now()");
    /* The process that revoked it sees this at once; other processes cache the key for a second. */
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
    int64_t asked_us = revoked_us;
    /* What counts is when the call began, not when it ended. */
    for (; visit_run(with_key(visit_new(&organization_op, NULL), key))->call.ok; asked_us = clock_monotonic_us())
        assert_true(asked_us - revoked_us <= US_PER_S);
}

static void test_a_key_notes_its_use(void **state)
{
    (void)state;
    const char *key = key_new(1, 0, SCOPE_ALL, 1);
    assert_int_equal(number_of("select count(*) from api_keys where last_used_at is not null"), 0);
    visit_run(with_key(visit_new(&organization_op, NULL), key));
    assert_int_equal(number_of("select count(*) from api_keys where last_used_at > now() - interval '1 minute'"), 1);
}

/* The principal of a cached key needs no database. */
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

struct distant_store {
    struct limit_store base;
    _Atomic bool counted_by_caller; /* by the thread that submitted the call */
    pthread_t caller;
};

static bool distant_count(struct limit_store *store, const struct limit_window *window, int64_t limit, int64_t now_us,
                          struct limit_count *ret_count)
{
    (void)window;
    struct distant_store *distant = (struct distant_store *)store;
    distant->counted_by_caller = distant->counted_by_caller || pthread_equal(distant->caller, pthread_self());
    *ret_count = (struct limit_count){ .admitted = true, .counted = 1, .reset_s = now_us / US_PER_S + limit };
    return true;
}

static bool distant_answers(const struct limit_store *store)
{
    (void)store;
    return true;
}

static void distant_close(struct limit_store *store)
{
    (void)store;
}

/* a store that another machine keeps is asked by the threads of calls only, because an I/O thread serves many clients. */
static void test_a_distant_store_is_not_asked_where_the_call_arrives(void **state)
{
    (void)state;
    static const struct limit_store_operations kind = { distant_count, distant_answers, distant_close, .may_wait = true };
    static const struct operation counted_op = { OPERATION(OP_MEMORY, REACH_ORGANIZATION), .policy = &two_a_minute };
    struct distant_store distant = { .base = { &kind }, .caller = pthread_self() };
    struct api *usual = api;
    api = service_new((struct api_config){ .quick_threads = 1, .limit_store = &distant.base });
    const char *key = key_new(1, 0, SCOPE_ALL, 1);
    assert_answer(visit_run(with_key(visit_new(&counted_op, NULL), key)), 200, "{\"organization\":1,\"brand\":0}");
    struct visit *visit = with_key(visit_new(&counted_op, NULL), key); /* its caller is known */
    assert_false(api_is_immediate(api, &visit->call));
    assert_answer(visit_run(visit), 200, "{\"organization\":1,\"brand\":0}");
    assert_false(distant.counted_by_caller);
    assert_true(api_is_immediate(api, &visit_new(&public_op, NULL)->call));
    api_free(api, 1000);
    api = usual;
}

/* ---- Sessions ---- */

/* The number of a fresh session is kept in `ret_id`. */
static const char *session_new(const char *role, int64_t *ret_id)
{
    const char *token = session_token_new(arena);
    unsigned char hash[SECRET_HASH_BYTES];
    char hex[2 * SECRET_HASH_BYTES + 1];
    secret_hash(token, hash);
    hex_encode(hash, sizeof(hash), hex);
    run_sql("insert into sessions (organization_id, user_name, role, secret_hash, created_at, expires_at)"
            " values (1, 'Mia', '%s', '\\x%s', now(), now() + interval '1 hour')",
            role, hex);
    *ret_id = number_of("select max(id) from sessions");
    return token;
}

static struct visit *with_session(struct visit *visit, const char *token)
{
    visit->call.credentials.kind = CREDENTIAL_SESSION;
    visit->call.credentials.secret = token;
    return visit;
}

static enum error_code session_verdict(const struct operation *op, const char *token)
{
    struct visit *visit = visit_run(with_session(visit_new(op, NULL), token));
    return visit->call.ok ? ERR_NONE : visit->call.error.code;
}

/* the token alone identifies a signed-in person, until the session has ended. */
static void test_sessions(void **state)
{
    (void)state;
    int64_t admin_id;
    int64_t member_id;
    const char *admin = session_new("org:admin", &admin_id);
    const char *member = session_new("org:member", &member_id);
    struct visit *visit = visit_run(with_session(visit_new(&organization_op, NULL), admin));
    assert_answer(visit, 200, "{\"organization\":1,\"brand\":0}");
    assert_true(visit->call.who.administrator);
    assert_int_equal(visit->call.who.session_id, admin_id);
    assert_int_equal(visit->call.who.key_id, 0);
    assert_int_equal(session_verdict(&organization_op, member), ERR_NONE);
    assert_int_equal(session_verdict(&session_op, admin), ERR_NONE);
    assert_int_equal(session_verdict(&session_op, member), ERR_INSUFFICIENT_ROLE);

    assert_int_equal(session_verdict(&organization_op, session_token_new(arena)), ERR_AUTHENTICATION_REQUIRED);
    assert_refusal(visit_run(with_key(visit_new(&organization_op, NULL), admin)), ERR_INVALID_API_KEY, "", "not a valid API key");
    run_sql("update sessions set ended_at = now() where id = %lld", (long long)admin_id);
    run_sql("update sessions set expires_at = now() where id = %lld", (long long)member_id);
    api_forget_credentials(api);
    assert_int_equal(session_verdict(&organization_op, admin), ERR_AUTHENTICATION_REQUIRED);
    assert_int_equal(session_verdict(&organization_op, member), ERR_AUTHENTICATION_REQUIRED);
}

/* a person works in the brands that the role opens; what is not the organization's does not exist for anybody. */
static void test_a_member_reaches_some_brands(void **state)
{
    (void)state;
    open_service();
    int64_t id;
    const char *member = session_new("org:member", &id);
    int64_t own = brand_new(1);
    int64_t other = brand_new(1);
    int64_t foreign = brand_new(organization_new("trial"));
    run_sql("insert into session_brands values (%lld, %lld)", (long long)id, (long long)own);
    const struct {
        int64_t brand_id;
        enum error_code code;
    } expected[] = { { own, ERR_NONE }, { other, ERR_INSUFFICIENT_ROLE }, { foreign, ERR_BRAND_NOT_FOUND }, { own, ERR_NONE } };
    for (size_t i = 0; i < ARRAY_COUNT(expected); i++) {
        struct visit *visit = with_session(visit_new(&brand_op, NULL), member);
        visit->call.credentials.brand = brand_wire_id(expected[i].brand_id);
        visit_run(visit);
        assert_int_equal(visit->call.ok ? ERR_NONE : visit->call.error.code, expected[i].code);
        if (expected[i].code == ERR_INSUFFICIENT_ROLE)
            assert_string_equal(visit->call.error.param, "member");
    }
    assert_int_equal(session_verdict(&brand_op, member), ERR_BRAND_ID_REQUIRED);
    assert_int_equal(session_verdict(&whole_organization_op, member), ERR_INSUFFICIENT_ROLE);
}

/* one window for all that a session does, and none of a key. */
static void test_a_session_has_one_window(void **state)
{
    (void)state;
    int64_t id;
    const char *first = session_new("org:admin", &id);
    const char *second = session_new("org:admin", &id);
    static const struct rate_policy other_policy = { .name = "other", .index = 1001, .limit = 5, .window_s = 60 };
    static const struct operation policied[] = {
        { OPERATION(OP_READ, REACH_ORGANIZATION), .policy = &two_a_minute },
        { OPERATION(OP_READ, REACH_ORGANIZATION), .policy = &other_policy },
    };
    for (int64_t left = 299; left >= 0; left--) {
        struct visit *visit = visit_run(with_session(visit_new(&policied[left % 2], NULL), first));
        assert_true(visit->call.ok);
        assert_int_equal(visit->call.rate.limit, 300);
        assert_int_equal(visit->call.rate.remaining, left);
    }
    for (size_t i = 0; i < ARRAY_COUNT(policied); i++)
        assert_int_equal(session_verdict(&policied[i], first), ERR_RATE_LIMITED);
    assert_int_equal(session_verdict(&policied[0], second), ERR_NONE);
    const char *key = key_new(1, 0, SCOPE_ALL, 1);
    assert_true(visit_run(with_key(visit_new(&policied[0], NULL), key))->call.ok);
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

static struct visit *begin_session(const char *key)
{
    struct visit *visit = with_key(visit_new(&memory_op, NULL), key);
    visit->call.candidates = api_session_check;
    return visit_run(visit);
}

static void test_the_begin_of_a_session_is_counted(void **state)
{
    (void)state;
    const char *key = key_new(1, 1, SCOPE_CONTACTS, 1);
    for (int64_t left = rate_policies[RATE_CAPABILITIES_READ].limit; left-- > 0;)
        assert_int_equal(begin_session(key)->call.rate.remaining, left);
    assert_refusal(begin_session(key), ERR_RATE_LIMITED, "", "");
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
    assert_refusal(in_brand(key, brand_wire_id(1)), ERR_BRAND_SCOPE_MISMATCH, "", "a brand other than");
    assert_refusal(in_brand(key, brand_wire_id(99999)), ERR_BRAND_SCOPE_MISMATCH, "", "a brand other than");
    assert_refusal(in_brand(key, "nonsense"), ERR_BRAND_SCOPE_MISMATCH, "", "a brand other than");
    assert_refusal(in_brand(key, ""), ERR_BRAND_SCOPE_MISMATCH, "", "a brand other than");
}

/* callers can read a brand in extraction but not write to it; a deleted brand is not found. */
static void test_a_brand_that_is_not_ready(void **state)
{
    (void)state;
    open_service();
    static const struct operation brand_write_op = { OPERATION(OP_WRITE, REACH_BRAND) };
    int64_t second = brand_new(1);
    const char *own = arena_printf(arena, "{\"organization\":1,\"brand\":%lld}", (long long)second);
    const char *const keys[] = { key_new(1, second, SCOPE_ALL, 1), key_new(1, 0, SCOPE_ALL, 1) };
    static const struct {
        const char *status;
        enum error_code reading;
        enum error_code writing;
    } states[] = {
        { "extracting", ERR_NONE, ERR_BRAND_NOT_READY },
        { "failed", ERR_NONE, ERR_BRAND_NOT_READY },
        { "completed", ERR_NONE, ERR_NONE },
        { "deleting", ERR_BRAND_NOT_FOUND, ERR_BRAND_NOT_FOUND },
    };
    for (size_t i = 0; i < ARRAY_COUNT(states); i++) {
        run_sql("update brands set status = '%s' where id = %lld", states[i].status, (long long)second);
        api_forget_credentials(api);
        /* The second round is answered from the cache of the first. */
        for (size_t at = 0; at < 2 * ARRAY_COUNT(keys); at++) {
            struct visit *reading = visit_new(&brand_op, NULL);
            struct visit *writing = visit_new(&brand_write_op, NULL);
            with_key(reading, keys[at / 2])->call.credentials.brand = brand_wire_id(second);
            with_key(writing, keys[at / 2])->call.credentials.brand = brand_wire_id(second);
            visit_run(reading);
            visit_run(writing);
            assert_int_equal(reading->call.error.code, states[i].reading);
            assert_int_equal(writing->call.error.code, states[i].writing);
            if (states[i].reading == ERR_NONE)
                assert_answer(reading, 200, own);
        }
    }
}

/* */
static void test_an_organization_key_names_its_brand(void **state)
{
    (void)state;
    open_service();
    int64_t second = brand_new(1);
    int64_t foreign = brand_new(organization_new("self_hosted"));
    const char *key = key_new(1, 0, SCOPE_ALL, 1);
    assert_refusal(in_brand(key, NULL), ERR_BRAND_ID_REQUIRED, "", "the call names none");
    assert_answer(in_brand(key, brand_wire_id(second)), 200,
                  arena_printf(arena, "{\"organization\":1,\"brand\":%lld}", (long long)second));
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
    assert_refusal(visit_run(visit_new(&session_op, NULL)), ERR_INSUFFICIENT_ROLE, "org_admin", "administrator");
    const char *key = key_new(1, 0, SCOPE_ALL, 1);
    assert_refusal(visit_run(with_key(visit_new(&session_op, NULL), key)), ERR_INSUFFICIENT_ROLE, "org_admin", "administrator");
}

/* `all` does not lift the binding; a reading operation is open to every key. */
static void test_organization_operations(void **state)
{
    (void)state;
    const char *bound = key_new(1, 1, SCOPE_ALL, 1);
    const char *wide = key_new(1, 0, SCOPE_ALL, 1);
    assert_refusal(visit_run(with_key(visit_new(&whole_organization_op, NULL), bound)), ERR_ORG_SCOPE_REQUIRED, "",
                   "organization key");
    assert_answer(visit_run(with_key(visit_new(&whole_organization_op, NULL), wide)), 200, "{\"organization\":1,\"brand\":0}");
    assert_answer(visit_run(with_key(visit_new(&organization_op, NULL), bound)), 200, "{\"organization\":1,\"brand\":0}");
}

/* */
static void test_scopes(void **state)
{
    (void)state;
    static const struct {
        uint32_t held;
        bool enough;
    } cases[] = { { SCOPE_ALL, true },
                  { SCOPE_SENDS, true },
                  { SCOPE_EMAILS, true },
                  { SCOPE_SENDS | SCOPE_BRANDS, true },
                  { SCOPE_CONTACTS, false },
                  { SCOPE_BRANDS, false },
                  { 0, false } };
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
    assert_in_range(visit->call.rate.wait_s, 1, 61);
    assert_in_range(visit->call.error.retry_after_s, 1, 60);
    assert_int_equal(visit->call.rate.remaining, 0);
    assert_true(visit_run(with_key(visit_new(&strict_op, NULL), other))->call.ok);
    /* A caller that waits for the reset is let in. */
    clock_set_offset_us(visit->call.rate.wait_s * US_PER_S);
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

    /* The scope is checked before the input (R-074: and nothing was run). */
    key = key_new(1, 1, SCOPE_CONTACTS, 100);
    struct visit *visit = with_key(visit_new(&strict_op, "{\"unknown\":1}"), key);
    fail(&visit->call.input.refusal, ERR_INVALID_REQUEST, "body", "The body is not JSON.");
    assert_refusal(visit_run(visit), ERR_INSUFFICIENT_PERMISSIONS, "sends", "");
    /* A fault of reading comes before unknown keys, which come last. */
    key = key_new(1, 1, SCOPE_SENDS, 100);
    visit = with_key(visit_new(&strict_op, "{\"unknown\":1}"), key);
    fail(&visit->call.input.refusal, ERR_INVALID_REQUEST, "body", "The body is not JSON.");
    assert_refusal(visit_run(visit), ERR_INVALID_REQUEST, "body", "not JSON");
    assert_refusal(visit_run(with_key(visit_new(&strict_op, "{\"unknown\":1}"), key)), ERR_INVALID_REQUEST, "unknown",
                   "not a known key");
    assert_int_equal(handled, 0);

    /* The rules of the organization come after the rate, before the brand. */
    static const struct operation billing_op = { OPERATION(OP_READ, REACH_ORGANIZATION), .organization_key = true,
                                                 .policy = &two_a_minute, .scopes = SCOPE_SENDS, .scope = "sends" };
    key = key_new(1, 1, SCOPE_CONTACTS, 1);
    for (int i = 0; i < 2; i++)
        assert_refusal(visit_run(with_key(visit_new(&billing_op, NULL), key)), ERR_ORG_SCOPE_REQUIRED, "", "");
    assert_refusal(visit_run(with_key(visit_new(&billing_op, NULL), key)), ERR_RATE_LIMITED, "", "");
}

/* known, checked like any other, and not there yet. */
static void test_what_is_not_built(void **state)
{
    (void)state;
    static const struct operation unbuilt_op = { .id = "test.unbuilt",
                                                 .index = -1,
                                                 .mode = OP_WRITE,
                                                 .reach = REACH_BRAND,
                                                 .status = 201,
                                                 .args = &no_args,
                                                 .scopes = SCOPE_SENDS,
                                                 .scope = "sends" };
    assert_refusal(visit_run(with_key(visit_new(&unbuilt_op, NULL), key_new(1, 1, SCOPE_CONTACTS, 1))),
                   ERR_INSUFFICIENT_PERMISSIONS, "sends", "");
    assert_refusal(visit_run(with_key(visit_new(&unbuilt_op, NULL), key_new(1, 1, SCOPE_SENDS, 1))), ERR_NOT_IMPLEMENTED, "",
                   "test.unbuilt");
}

/* ---- Which operation ---- */

static bool answer_other(struct op_context *ctx, const void *args, struct reply *reply, struct error *err)
{
    (void)args;
    (void)err;
    json_raw(&reply->json, "{\"other\":true}");
    reply->status = 202;
    op_context_subject(ctx, "ignored");
    return true;
}

static void test_conditions_choose_the_operation(void **state)
{
    (void)state;
    static const struct arg_field field = {
        .name = "rows", .kind = ARG_JSON, .place = ARG_IN_BODY, .json_type = JSON_ARRAY, .max_size = 9
    };
    static const struct arg_shape rows_args = { .fields = &field, .count = 1, .size = sizeof(void *) };
    static const struct operation batch_op = { .id = "test.batch",
                                               .index = -1,
                                               .mode = OP_READ,
                                               .reach = REACH_BRAND,
                                               .status = 200,
                                               .built = true,
                                               .args = &rows_args,
                                               .handler = answer_other,
                                               .when = { WHEN_PRESENT, "rows", NULL, NULL } };
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_public_operations_need_nothing),
        WORLD_TEST(test_the_local_owner),
        WORLD_TEST(test_credentials),
        WORLD_TEST(test_a_revoked_key_is_believed_for_a_second),
        WORLD_TEST(test_a_key_notes_its_use),
        WORLD_TEST(test_a_cached_key_is_immediate),
        WORLD_TEST(test_a_distant_store_is_not_asked_where_the_call_arrives),
        WORLD_TEST(test_sessions),
        WORLD_TEST(test_a_member_reaches_some_brands),
        WORLD_TEST(test_a_session_has_one_window),
        WORLD_TEST(test_a_connection_check_answers_who),
        WORLD_TEST(test_the_begin_of_a_session_is_counted),
        WORLD_TEST(test_a_brand_key_reaches_one_brand),
        WORLD_TEST(test_a_brand_that_is_not_ready),
        WORLD_TEST(test_an_organization_key_names_its_brand),
        WORLD_TEST(test_the_local_owner_works_in_a_brand),
        WORLD_TEST(test_session_operations),
        WORLD_TEST(test_organization_operations),
        WORLD_TEST(test_scopes),
        WORLD_TEST(test_rates),
        WORLD_TEST(test_the_order_of_checks),
        WORLD_TEST(test_what_is_not_built),
        WORLD_TEST(test_conditions_choose_the_operation),
    };
    return cmocka_run_group_tests_name("api: checks", tests, world_begin, group_teardown);
}
