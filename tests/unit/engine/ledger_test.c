/* Ledger without a call: claims, their rows, the balance, and an entry that a job row carries. */
#include "fixtures/api_fixture.h"

#include "engine/account/account.h"
#include "engine/ledger/ledger.h"
#include "engine/sends/sends.h"
#include "sql/ledger.h"

static struct work work;
static struct error err;
static unsigned char key_hash[SECRET_HASH_BYTES];
static unsigned char fingerprint[SECRET_HASH_BYTES];
static struct ledger_entry entry;

static int ledger_setup(void **state)
{
    if (world_setup(state) != 0)
        return -1;
    open_service();
    work = (struct work){ .engine = installation_engine(api_installation(api)),
                          .arena = arena,
                          .conn = conn,
                          .organization_id = 1,
                          .brand_id = 1,
                          .now_us = clock_now_us() };
    memset(key_hash, 3, sizeof(key_hash));
    memset(fingerprint, 4, sizeof(fingerprint));
    entry = (struct ledger_entry){ .operation = "x.do",
                                   .transport = "rest",
                                   .request_id = "req_1",
                                   .credit_cost = -1,
                                   .writes_audit = true,
                                   .idempotency_key = key_hash,
                                   .fingerprint = fingerprint };
    return 0;
}

static enum ledger_claim claimed(struct ledger_replay *ret_replay)
{
    enum ledger_claim claim;
    assert_ok(ledger_claim(&work, &entry, &claim, ret_replay, &err), &err);
    return claim;
}

static void assert_claim_fails(enum error_code code)
{
    enum ledger_claim claim;
    struct ledger_replay replay;
    error_clear(&err);
    assert_false(ledger_claim(&work, &entry, &claim, &replay, &err));
    assert_int_equal(err.code, code);
}

static void test_a_claim_and_its_answer(void **state)
{
    (void)state;
    struct ledger_replay replay;
    {
        DB_TX tx;
        assert_ok(db_tx_begin(conn, &tx, &err), &err);
        assert_int_equal(claimed(&replay), LEDGER_FRESH);
        entry.credits = 4;
        entry.credit_cost = 4;
        assert_ok(ledger_settle(&work, &entry, 201, "{\"a\":1}", &tx, &err), &err);
        assert_false(db_in_transaction(conn));
    }
    assert_int_equal(claimed(&replay), LEDGER_REPLAY);
    assert_int_equal(replay.status, 201);
    assert_string_equal(replay.body, "{\"a\":1}");
    assert_int_equal(replay.credit_cost, 4);
    fingerprint[31] ^= 1;
    assert_claim_fails(ERR_IDEMPOTENCY_CONFLICT);
}

static void test_settling_without_committing(void **state)
{
    (void)state;
    {
        DB_TX tx;
        struct ledger_replay replay;
        assert_ok(db_tx_begin(conn, &tx, &err), &err);
        assert_int_equal(claimed(&replay), LEDGER_FRESH);
        entry.credits = 4;
        assert_ok(ledger_settle(&work, &entry, 201, "{}", NULL, &err), &err);
        assert_true(db_in_transaction(conn));
    }
    assert_int_equal(number_of("select count(*) from audit_log"), 0);
    assert_int_equal(number_of("select count(*) from credit_usage"), 0);
    assert_int_equal(number_of("select count(*) from idempotency_keys"), 0);
}

static void test_a_free_answer_has_no_cost(void **state)
{
    (void)state;
    struct ledger_replay replay;
    assert_int_equal(claimed(&replay), LEDGER_FRESH);
    assert_ok(ledger_settle(&work, &entry, 200, "{}", NULL, &err), &err);
    assert_int_equal(claimed(&replay), LEDGER_REPLAY);
    assert_int_equal(replay.credit_cost, -1);
    /* A cost of 0 is one. */
    key_hash[0] ^= 2;
    entry.credit_cost = 0;
    assert_int_equal(claimed(&replay), LEDGER_FRESH);
    assert_ok(ledger_settle(&work, &entry, 200, "{}", NULL, &err), &err);
    assert_int_equal(claimed(&replay), LEDGER_REPLAY);
    assert_int_equal(replay.credit_cost, 0);
    /* No body keeps no answer, and a job's settling may write no audit row. */
    key_hash[0] ^= 1;
    assert_int_equal(claimed(&replay), LEDGER_FRESH);
    entry.writes_audit = false;
    assert_ok(ledger_settle(&work, &entry, 200, NULL, NULL, &err), &err);
    assert_claim_fails(ERR_IDEMPOTENCY_IN_PROGRESS);
    assert_int_equal(number_of("select count(*) from audit_log"), 2);
}

static void test_releasing(void **state)
{
    (void)state;
    struct ledger_replay replay;
    assert_int_equal(claimed(&replay), LEDGER_FRESH);
    assert_claim_fails(ERR_IDEMPOTENCY_IN_PROGRESS);
    assert_ok(ledger_release(&work, &entry, &err), &err);
    assert_int_equal(claimed(&replay), LEDGER_FRESH);
    entry.idempotency_key = NULL;
    assert_ok(ledger_release(&work, &entry, &err), &err);
    assert_int_equal(number_of("select count(*) from idempotency_keys"), 1);
}

/* */
static void test_the_day_of_a_claim(void **state)
{
    (void)state;
    struct ledger_replay replay;
    assert_int_equal(claimed(&replay), LEDGER_FRESH);
    assert_ok(ledger_settle(&work, &entry, 200, "{}", NULL, &err), &err);
    work.organization_id = 2;
    assert_int_equal(claimed(&replay), LEDGER_FRESH);
    work.organization_id = 1;
    work.now_us += 24 * INT64_C(3600) * US_PER_S;
    assert_int_equal(claimed(&replay), LEDGER_REPLAY);
    work.now_us += 1;
    assert_int_equal(claimed(&replay), LEDGER_FRESH);
}

static void test_joining_a_job(void **state)
{
    (void)state;
    struct ledger_replay replay;
    int64_t job_id = 0;
    assert_int_equal(claimed(&replay), LEDGER_FRESH);
    static const struct job_declaration type = { .name = "kind", .pool = "work" };
    struct new_job job = { &type, "{\"p\":1}" };
    assert_ok(ledger_enqueue(&work, job, work.now_us + US_PER_S, &entry, &job_id, &err), &err);
    assert_int_equal(number_of("select id from jobs"), job_id);
    assert_int_equal(claimed(&replay), LEDGER_JOIN);
    assert_int_equal(replay.job_id, job_id);
    assert_int_equal(
        number_of("select count(*) from jobs where run_after > created_at and payload = '{\"p\":1}' and call is not null"), 1);
    /* Once it has settled, the answer is found instead. */
    assert_ok(ledger_settle(&work, &entry, 202, "{\"j\":1}", NULL, &err), &err);
    assert_int_equal(claimed(&replay), LEDGER_REPLAY);
    assert_int_equal(replay.status, 202);
}

/* ---- Credits ---- */

static void assert_balance(int64_t credits, bool enough)
{
    error_clear(&err);
    bool ok = ledger_check_credits(&work, credits, &err);
    assert_int_equal(ok, enough);
    assert_int_equal(err.code, enough ? ERR_NONE : ERR_INSUFFICIENT_CREDITS);
}

/* */
static void test_the_balance(void **state)
{
    (void)state;
    assert_balance(INT64_MAX, true);
    run_sql("update organizations set plan = 'trial'");
    assert_balance(100, true);
    assert_balance(101, false);
    entry.credits = 60;
    assert_ok(ledger_settle(&work, &entry, 200, NULL, NULL, &err), &err);
    assert_ok(ledger_settle(&work, &entry, 200, NULL, NULL, &err), &err);
    assert_int_equal(number_of("select used from credit_usage"), 120);
    assert_balance(1, false);
    assert_balance(0, true);
    run_sql("update organizations set bonus_credits = 50");
    assert_balance(30, true);
    assert_balance(31, false);
    work.now_us += 32 * INT64_C(86400) * US_PER_S;
    assert_balance(150, true);
    assert_balance(151, false);
    work.organization_id = 99;
    error_clear(&err);
    assert_false(ledger_check_credits(&work, 1, &err));
    assert_int_equal(err.code, ERR_INTERNAL_ERROR);
}

static int64_t credits_left(void)
{
    struct opt_int left;
    assert_ok(ledger_credits_left(&work, &left, &err), &err);
    assert_true(left.set);
    return left.value;
}

static int64_t enqueue_with_hold(int64_t credits)
{
    static const struct job_declaration type = { .name = "kind", .pool = "work" };
    struct new_job job = { &type, "{}" };
    int64_t job_id;
    entry.credits = entry.hold = credits;
    entry.idempotency_key = NULL;
    assert_ok(ledger_enqueue(&work, job, work.now_us, &entry, &job_id, &err), &err);
    return job_id;
}

/* the credits of an open job are neither used nor left. Its end charges or releases them, once. */
static void test_a_job_holds_its_credits(void **state)
{
    (void)state;
    run_sql("delete from credit_holds; update organizations set plan = 'trial'");
    int64_t first = enqueue_with_hold(60);
    int64_t second = enqueue_with_hold(30);
    assert_int_equal(credits_left(), 10);
    assert_balance(10, true);
    assert_balance(11, false);
    entry.job_id = first;
    entry.credits = 40; /* less than it holds */
    assert_ok(ledger_settle(&work, &entry, 200, "{}", NULL, &err), &err);
    assert_int_equal(credits_left(), 30);
    entry.job_id = second;
    assert_ok(ledger_release(&work, &entry, &err), &err);
    assert_int_equal(credits_left(), 60);
    assert_ok(ledger_release(&work, &entry, &err), &err);
    assert_int_equal(credits_left(), 60);
    assert_int_equal(number_of("select count(*) from credit_holds"), 0);
    struct usage_row *usage;
    enqueue_with_hold(25);
    assert_ok(account_usage(&work, &usage, &err), &err);
    assert_int_equal(usage->credits_used, 40);
    assert_int_equal(usage->credits_reserved, 25);
    run_sql("delete from credit_holds");
}

/* A round of a job holds what can be paid, and the next round what is left then. */
static void test_a_round_holds_what_can_be_paid(void **state)
{
    (void)state;
    int64_t items;
    run_sql("delete from credit_holds");
    assert_ok(ledger_hold_items(&work, 5, 2, 300, &items, &err), &err);
    assert_int_equal(items, 300);
    assert_int_equal(number_of("select count(*) from credit_holds"), 0);
    run_sql("update organizations set plan = 'trial'");
    assert_ok(ledger_hold_items(&work, 5, 2, 30, &items, &err), &err);
    assert_int_equal(items, 30);
    assert_int_equal(credits_left(), 40);
    assert_ok(ledger_hold_items(&work, 6, 2, 30, &items, &err), &err);
    assert_int_equal(items, 20);
    assert_int_equal(credits_left(), 0);
    assert_ok(ledger_hold_items(&work, 7, 2, 30, &items, &err), &err);
    assert_int_equal(items, 0);
    assert_ok(ledger_hold_items(&work, 5, 2, 10, &items, &err), &err);
    assert_int_equal(credits_left(), 40);
    assert_ok(ledger_release_hold(&work, 6, &err), &err);
    assert_ok(ledger_release_hold(&work, 5, &err), &err);
    assert_int_equal(credits_left(), 100);
}

/* A month begins at midnight UTC. */
static void test_the_period_is_the_month(void **state)
{
    (void)state;
    static const struct {
        const char *now;
        const char *period;
    } times[] = {
        { "2026-01-31T23:59:59Z", "2026-01-01" },
        { "2026-02-01T00:00:00Z", "2026-02-01" },
        { "2024-02-29T23:59:59.999Z", "2024-02-01" },
        { "2026-12-31T23:30:00-01:00", "2027-01-01" },
    };
    entry.credits = 1;
    for (size_t i = 0; i < ARRAY_COUNT(times); i++) {
        run_sql("delete from credit_usage");
        assert_true(clock_parse_iso(times[i].now, &work.now_us));
        assert_ok(ledger_settle(&work, &entry, 200, NULL, NULL, &err), &err);
        assert_string_equal(text_of("select period_start::text from credit_usage"), times[i].period);
    }
}

/* shown and allowed amounts belong to the current month, for credits and for sends. */
static void test_usage_belongs_to_the_month(void **state)
{
    (void)state;
    static const struct {
        const char *now;
        int64_t used;
        int64_t sent;
        const char *period;
    } moments[] = {
        { "2026-01-31T23:59:59.999999Z", 60, 400, "2026-01-01T00:00:00.000Z 2026-02-01T00:00:00.000Z" },
        { "2026-02-01T00:00:00Z", 0, 0, "2026-02-01T00:00:00.000Z 2026-03-01T00:00:00.000Z" },
        { "2025-12-31T23:59:59Z", 0, 0, "2025-12-01T00:00:00.000Z 2026-01-01T00:00:00.000Z" },
    };
    run_sql("update organizations set plan = 'trial'");
    run_sql("insert into credit_usage values (1, '2026-01-01', 60); insert into email_usage values (1, '2026-01-01', 400)");
    for (size_t i = 0; i < ARRAY_COUNT(moments); i++) {
        assert_true(clock_parse_iso(moments[i].now, &work.now_us));
        struct usage_row *usage;
        assert_ok(account_usage(&work, &usage, &err), &err);
        assert_int_equal(usage->credits_used, moments[i].used);
        assert_int_equal(usage->emails_sent, moments[i].sent);
        const char *period =
            arena_printf(arena, "%s %s", clock_iso(arena, usage->period_start), clock_iso(arena, usage->period_end));
        assert_string_equal(period, moments[i].period);
        struct opt_int credits_left;
        struct opt_int sends_left;
        assert_ok(ledger_credits_left(&work, &credits_left, &err) && send_allowance_left(&work, &sends_left, &err), &err);
        assert_int_equal(credits_left.value, 100 - moments[i].used);
        assert_int_equal(sends_left.value, 500 - moments[i].sent);
    }
    run_sql("delete from email_usage");
}

/* ---- Several calls in one transaction ---- */

enum { SHARING = 4 };

/* Calls 0 and 2 have keys, and call 3 has one whose response is not kept. */
static const struct ledger_call *sharing_calls(void)
{
    static const char *const subjects[] = { "con_1", "con_2" };
    struct ledger_call *calls = arena_array(arena, SHARING, sizeof(*calls));
    for (size_t i = 0; i < SHARING; i++) {
        struct ledger_entry *own = arena_alloc(arena, sizeof(*own));
        unsigned char *hash = arena_alloc(arena, SECRET_HASH_BYTES);
        memset(hash, (int)i + 1, SECRET_HASH_BYTES);
        *own = entry;
        own->idempotency_key = i == 1 ? NULL : hash;
        own->request_id = arena_printf(arena, "req_%zu", i);
        own->key_id = (int64_t)i;
        own->session_id = i == 2 ? 9 : 0;
        own->client = i == 0 ? NULL : "client/1";
        own->subjects = subjects;
        own->subject_count = i < 3 ? i : 0;
        calls[i] = (struct ledger_call){ &work, own, 200 + (int)i, i == 3 ? NULL : arena_printf(arena, "{\"call\":%zu}", i) };
    }
    return calls;
}

static bool settle_all(const struct ledger_call *calls)
{
    DB_TX tx;
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    error_clear(&err);
    return ledger_settle_all(arena, calls, SHARING, &tx, &err);
}

static void assert_used(const struct ledger_call *calls, const bool expected[SHARING])
{
    struct db_batch *batch = db_batch_new(conn, arena);
    size_t at = ledger_used_keys_ask(arena, calls, SHARING, batch);
    assert_ok(db_batch_run(batch, &err), &err);
    bool used[SHARING];
    bool any = ledger_used_keys_read(batch, at, calls, SHARING, used);
    bool wanted = false;
    for (size_t i = 0; i < SHARING; i++) {
        assert_int_equal(used[i], expected[i]);
        wanted = wanted || expected[i];
    }
    assert_int_equal(any, wanted);
}

static void test_several_calls_settle_as_each_alone(void **state)
{
    (void)state;
    const struct ledger_call *calls = sharing_calls();
    assert_used(calls, (bool[SHARING]){ false, false, false, false });
    assert_true(settle_all(calls));
    assert_string_equal(
        text_of("select string_agg(concat_ws('|', request_id, organization_id, brand_id, coalesce(key_id, -1), door,"
                " coalesce(client, '-'), operation, cardinality(subjects), array_to_string(subjects, '+')), ';' order by id)"
                " from audit_log"),
        "req_0|1|1|-1|rest|-|x.do|0|;req_1|1|1|1|rest|client/1|x.do|1|con_1;"
        "req_2|1|1|2|rest|client/1|x.do|2|con_1+con_2;req_3|1|1|3|rest|client/1|x.do|0|");
    assert_string_equal(
        text_of("select string_agg(concat_ws('|', status, body, operation, credit_cost is null), ';' order by key_hash)"
                " from idempotency_keys"),
        "200|{\"call\":0}|x.do|t;202|{\"call\":2}|x.do|t");
    assert_string_equal(text_of("select string_agg(coalesce(session_id, -1)::text, ';' order by id) from audit_log"), "-1;-1;9;-1");
    assert_used(calls, (bool[SHARING]){ true, false, true, false });
    /* The ordinary claim finds what was kept. */
    struct ledger_replay replay;
    entry.idempotency_key = calls[2].entry->idempotency_key;
    DB_TX tx;
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    assert_int_equal(claimed(&replay), LEDGER_REPLAY);
    assert_int_equal(replay.status, 202);
    assert_string_equal(replay.body, "{\"call\":2}");
}

/* When another call claims a key between start and end, the whole batch fails, so that no work is done twice. */
static void test_a_key_claimed_meanwhile_fails_all(void **state)
{
    (void)state;
    const struct ledger_call *calls = sharing_calls();
    run_sql("insert into idempotency_keys (organization_id, key_hash, fingerprint, operation, created_at)"
            " values (1, decode(repeat('03', 32), 'hex'), '', 'x', now())");
    assert_false(settle_all(calls));
    assert_string_equal(err.sqlstate, "23505");
    assert_false(db_error_is_lost(&err));
    assert_int_equal(number_of("select count(*) from audit_log"), 0);
    assert_int_equal(number_of("select count(*) from idempotency_keys"), 1);
}

static void test_an_entry_through_a_job_row(void **state)
{
    (void)state;
    entry.client = "cl\"i\xc3\xa9nt";
    entry.key_id = INT64_MAX;
    entry.session_id = 7;
    entry.credits = 3;
    entry.credit_cost = 0;
    struct ledger_entry back;
    assert_true(ledger_entry_read(arena, ledger_entry_write(arena, &entry), &back));
    assert_string_equal(back.operation, "x.do");
    assert_string_equal(back.transport, "rest");
    assert_string_equal(back.client, entry.client);
    assert_string_equal(back.request_id, "req_1");
    assert_true(back.key_id == INT64_MAX);
    assert_int_equal(back.session_id, 7);
    assert_int_equal(back.credits, 3);
    assert_int_equal(back.credit_cost, 0);
    assert_true(back.writes_audit);
    assert_memory_equal(back.idempotency_key, key_hash, sizeof(key_hash));
    assert_memory_equal(back.fingerprint, fingerprint, sizeof(fingerprint));

    struct ledger_entry least = { .operation = "o", .transport = "d", .request_id = "r", .credit_cost = -1 };
    assert_true(ledger_entry_read(arena, ledger_entry_write(arena, &least), &back));
    assert_null(back.client);
    assert_null(back.idempotency_key);
    assert_int_equal(back.credit_cost, -1);
    assert_false(back.writes_audit);
    static const char *const broken[] = {
        "", "{}", "[]", "null", "{\"operation\":\"o\",\"door\":\"d\"}", "{\"operation\":5,\"door\":\"d\",\"requestId\":\"r\"}"
    };
    for (size_t i = 0; i < ARRAY_COUNT(broken); i++)
        assert_false(ledger_entry_read(arena, broken[i], &back));
    /* A hash of another size is none. */
    assert_true(
        ledger_entry_read(arena, "{\"operation\":\"o\",\"door\":\"d\",\"requestId\":\"r\",\"idempotencyKey\":\"AAAA\"}", &back));
    assert_null(back.idempotency_key);
}

#define LEDGER_TEST(function) cmocka_unit_test_setup_teardown(function, ledger_setup, world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LEDGER_TEST(test_a_claim_and_its_answer),
        LEDGER_TEST(test_settling_without_committing),
        LEDGER_TEST(test_a_free_answer_has_no_cost),
        LEDGER_TEST(test_releasing),
        LEDGER_TEST(test_the_day_of_a_claim),
        LEDGER_TEST(test_joining_a_job),
        LEDGER_TEST(test_the_balance),
        LEDGER_TEST(test_a_job_holds_its_credits),
        LEDGER_TEST(test_a_round_holds_what_can_be_paid),
        LEDGER_TEST(test_the_period_is_the_month),
        LEDGER_TEST(test_usage_belongs_to_the_month),
        LEDGER_TEST(test_several_calls_settle_as_each_alone),
        LEDGER_TEST(test_a_key_claimed_meanwhile_fails_all),
        LEDGER_TEST(test_an_entry_through_a_job_row),
    };
    return cmocka_run_group_tests_name("engine: ledger", tests, world_begin, group_teardown);
}
