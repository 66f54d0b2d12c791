/* Domain check: the effect of DNS answers on a sending domain, and deleted domains. */
#include "fixtures/engine_fixture.h"

#include "engine/domains/check.h"
#include "engine/domains/signing.h"
#include "engine/operator/operator.h"

#include <pthread.h>

static const char name[] = "shop.example";

static int64_t connect(void)
{
    struct error err;
    int64_t id;
    assert_ok(operator_create_domain(&work, work.brand_id, work.organization_id, name, "marketing", &id, &err), &err);
    return id;
}

static struct domain_check begin(int64_t id)
{
    struct error err;
    struct domain_check check;
    assert_ok(domain_check_begin(&work, id, &check, &err), &err);
    return check;
}

static void answer(struct domain_query *look, const char *text)
{
    const char **items = arena_array(arena, 1, sizeof(*items));
    items[0] = text;
    look->answer = DOMAIN_ANSWER_GIVEN;
    look->found = (struct text_list){ items, text != NULL };
}

/* Publishes every expected record, except those of keys in this state. */
static void answer_but(struct domain_check *check, int state)
{
    for (size_t i = 0; i < check->count; i++)
        answer(&check->queries[i], (int)check->queries[i].record->state == state ? NULL : check->queries[i].record->value);
}

static bool settle(const struct domain_check *check, struct domain_row **ret_domain, struct error *err)
{
    *err = (struct error){ .code = ERR_NONE };
    DB_TX tx;
    return db_tx_begin(work.conn, &tx, err) && domain_check_settle(&work, check, ret_domain, err) && db_tx_commit(&tx, err);
}

static struct domain_row *settled(const struct domain_check *check)
{
    struct error err;
    struct domain_row *domain;
    bool ok = settle(check, &domain, &err);
    assert_ok(ok, &err);
    return domain;
}

static struct domain_row *verified(int64_t id)
{
    struct domain_check check = begin(id);
    answer_but(&check, -1);
    struct domain_row *domain = settled(&check);
    assert_string_equal(domain->status, "verified");
    return domain;
}

static struct domain_row *now_is(int64_t id)
{
    struct error err;
    struct domain_row *domain;
    assert_ok(domain_get(&work, id, &domain, &err), &err);
    return domain;
}

static void rotate(bool is_published)
{
    struct error err;
    assert_ok(operator_rotate_domain(&work, work.brand_id, name, is_published, &err), &err);
}

/* ---- Verified, pending ---- */

static void test_published_keys_verify(void **state)
{
    (void)state;
    int64_t id = connect();
    struct domain_check check = begin(id);
    assert_int_equal(check.count, 6);
    answer_but(&check, DOMAIN_RECORD_SUGGESTED); /* only the keys decide */
    struct domain_row *domain = settled(&check);
    assert_string_equal(domain->status, "verified");
    assert_true(domain->verified_at.set && domain->verified_at.value == work.now_us);
    assert_int_equal(domain->published.count, 2);
    struct domain_records records = domain_records_of(arena, domain);
    for (size_t i = 0; i < records.count; i++)
        assert_int_equal(records.items[i].is_published, i < 2);

    work.now_us += US_PER_S;
    domain = verified(id);
    assert_int_equal(domain->published.count, 6);
    assert_true(domain->verified_at.value == work.now_us - US_PER_S && domain->updated_at == work.now_us);
    work.now_us += US_PER_S;
    assert_true(verified(id)->updated_at == work.now_us - US_PER_S); /* nothing new */
}

static void test_one_key_is_not_enough(void **state)
{
    (void)state;
    int64_t id = connect();
    for (size_t missing = 0; missing < 2; missing++) {
        struct domain_check check = begin(id);
        answer_but(&check, -1);
        answer(&check.queries[missing], check.queries[1 - missing].record->value);
        struct domain_row *domain = settled(&check);
        assert_string_equal(domain->status, "pending");
        assert_false(domain->verified_at.set);
        assert_int_equal(domain->published.count, 5);
    }
}

/* The record of the click host is optional, and only a process that knows the public host judges it. */
static void test_the_click_host(void **state)
{
    (void)state;
    int64_t id = connect();
    work.engine->public_url = "https://Mail.example:8443/ph";
    struct domain_check check = begin(id);
    assert_int_equal(check.count, 7);
    const struct domain_record *click = check.queries[6].record;
    assert_string_equal(click->purpose, "click");
    assert_string_equal(click->type, "CNAME");
    assert_string_equal(click->name, "click.shop.example");
    assert_string_equal(click->value, "mail.example");
    answer_but(&check, -1);
    answer(&check.queries[6], "other.example");
    struct domain_row *domain = settled(&check);
    assert_string_equal(domain->status, "verified");
    assert_int_equal(domain->published.count, 6);
    answer(&check.queries[6], "MAIL.example");
    domain = settled(&check);
    assert_int_equal(domain->published.count, 7);
    assert_true(domain_records_with_click(&work, domain).items[6].is_published);

    work.engine->public_url = NULL; /* another process */
    domain = verified(id);
    assert_int_equal(domain->published.count, 7);
    work.engine->public_url = "http://127.0.0.1:8420";
    assert_int_equal(domain_records_with_click(&work, domain).count, 6); /* no name */

    work.engine->public_url = "https://mail.example";
    check = begin(id);
    answer_but(&check, -1);
    answer(&check.queries[6], NULL);
    assert_int_equal(settled(&check)->published.count, 6);
    work.engine->public_url = NULL;
}

static void test_records_gone_make_it_pending(void **state)
{
    (void)state;
    int64_t id = connect();
    verified(id);
    struct domain_check check = begin(id);
    answer_but(&check, DOMAIN_RECORD_USED);
    struct domain_row *domain = settled(&check);
    assert_string_equal(domain->status, "pending");
    assert_false(domain->verified_at.set);
    assert_int_equal(domain->published.count, 4);
}

static void test_the_operators_word_stands(void **state)
{
    (void)state;
    struct error err;
    int64_t id = connect();
    assert_ok(operator_trust_domain(&work, work.brand_id, name, &id, &err), &err);
    struct domain_check check = begin(id);
    answer_but(&check, DOMAIN_RECORD_USED);
    struct domain_row *domain = settled(&check);
    assert_string_equal(domain->status, "verified");
    assert_true(domain->verified_at.set);
    assert_false(domain_records_of(arena, domain).items[0].is_published);
}

/* ---- No answer ---- */

static void test_silence_changes_nothing(void **state)
{
    (void)state;
    struct error err;
    int64_t id = connect();
    struct domain_row *before = verified(id);
    for (size_t silent = 0; silent < 2; silent++) {
        struct domain_check check = begin(id);
        struct domain_row *domain;
        answer_but(&check, DOMAIN_RECORD_USED);
        check.queries[silent].answer = DOMAIN_ANSWER_NONE;
        assert_false(settle(&check, &domain, &err));
        assert_int_equal(err.code, ERR_SERVICE_UNAVAILABLE);
        assert_true(err.retry_after_s > 0);
        domain = now_is(id);
        assert_string_equal(domain->status, "verified");
        assert_int_equal(domain->published.count, before->published.count);
    }
}

static void test_silence_about_advice_leaves_it(void **state)
{
    (void)state;
    int64_t id = connect();
    verified(id);
    struct domain_check check = begin(id);
    answer_but(&check, -1);
    check.queries[2].answer = DOMAIN_ANSWER_NONE;
    answer(&check.queries[3], NULL);
    struct domain_records records = domain_records_of(arena, settled(&check));
    assert_true(records.items[2].is_published);
    assert_false(records.items[3].is_published);
}

/* ---- New keys ---- */

static void test_waiting_keys_are_taken_into_use(void **state)
{
    (void)state;
    int64_t id = connect();
    const char *old = verified(id)->selectors.items[0];
    rotate(false);
    struct domain_check check = begin(id);
    assert_int_equal(check.count, 8);
    answer_but(&check, DOMAIN_RECORD_WAITING);
    assert_string_equal(settled(&check)->selectors.items[0], old);

    /* One of the pair is not enough. */
    check = begin(id);
    answer_but(&check, -1);
    answer(&check.queries[3], NULL);
    assert_string_equal(settled(&check)->selectors.items[0], old);

    /* The new ones are there: the old ones need not be any more. */
    check = begin(id);
    answer_but(&check, DOMAIN_RECORD_USED);
    struct domain_row *domain = settled(&check);
    assert_string_equal(domain->status, "verified");
    assert_int_equal(domain->selectors.count, 2);
    assert_true(domain->used.items[0] && strcmp(domain->selectors.items[0], old) != 0);
    assert_true(domain_records_of(arena, domain).items[0].is_published);
}

/* The keys are replaced during a check: its result is about the old pair, so it is refused. */
static void test_keys_exchanged_meanwhile(void **state)
{
    (void)state;
    struct error err;
    int64_t id = connect();
    struct domain_check check = begin(id);
    struct domain_row *domain;
    answer_but(&check, -1);
    rotate(false);
    rotate(true);
    assert_false(settle(&check, &domain, &err));
    assert_int_equal(err.code, ERR_SERVICE_UNAVAILABLE);
    assert_string_equal(now_is(id)->status, "pending");
}

static void test_a_domain_without_keys_gets_them(void **state)
{
    (void)state;
    int64_t id = connect();
    run_sql("delete from domain_keys where domain_id = %lld", (long long)id);
    verified(id);
}

/* ---- Others ---- */

static void test_a_name_is_proven_once(void **state)
{
    (void)state;
    struct error err;
    int64_t other_brand;
    int64_t other_id;
    struct domain_row *domain;
    int64_t id = connect();
    struct domain_check check = begin(id);
    answer_but(&check, -1);

    assert_ok(operator_create_brand(&work, work.organization_id, "Other", &other_brand, &err), &err);
    assert_ok(operator_create_domain(&work, other_brand, work.organization_id, name, "marketing", &other_id, &err), &err);
    struct work mine = work;
    work.brand_id = other_brand;
    verified(other_id);
    work = mine;

    assert_false(settle(&check, &domain, &err));
    assert_int_equal(err.code, ERR_DOMAIN_OTHER_BRAND);
    assert_string_equal(now_is(id)->status, "pending");
    run_sql("delete from domains where brand_id = %lld; delete from brands where id = %lld", (long long)other_brand,
            (long long)other_brand);
    assert_string_equal(settled(&check)->status, "verified");
}

struct rival {
    struct work work;
    const struct domain_check *check;
    bool ok;
    struct error err;
};

static void *settle_as_rival(void *data)
{
    struct rival *rival = data;
    DB_CONN_SCOPE mine = NULL;
    ARENA_SCOPE scratch = arena_new(0);
    struct domain_row *domain;
    DB_TX tx;
    rival->work.arena = scratch;
    rival->ok = installation_connect(installation, &mine, &rival->err);
    rival->work.conn = mine;
    rival->ok = rival->ok && db_tx_begin(mine, &tx, &rival->err) &&
                domain_check_settle(&rival->work, rival->check, &domain, &rival->err) && db_tx_commit(&tx, &rival->err);
    return NULL;
}

/* Of two brands that are told at once that the name is theirs, the second is told whose it is. */
static void test_a_name_is_proven_at_once(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    int64_t other_brand;
    int64_t other_id;
    struct domain_row *domain;
    pthread_t thread;
    DB_CONN_SCOPE watching = NULL;
    struct db_conn *own = conn;
    struct domain_check check = begin(connect());
    answer_but(&check, -1);
    assert_ok(installation_connect(installation, &watching, &err), &err);
    assert_ok(operator_create_brand(&work, work.organization_id, "Other", &other_brand, &err), &err);
    assert_ok(operator_create_domain(&work, other_brand, work.organization_id, name, "marketing", &other_id, &err), &err);
    struct work mine = work;
    work.brand_id = other_brand;
    struct domain_check others = begin(other_id);
    answer_but(&others, -1);
    struct rival rival = { .work = work, .check = &others, .err = { .code = ERR_NONE } };
    work = mine;
    {
        DB_TX tx;
        assert_ok(db_tx_begin(own, &tx, &err), &err);
        assert_ok(domain_check_settle(&work, &check, &domain, &err), &err);
        assert_int_equal(pthread_create(&thread, NULL, settle_as_rival, &rival), 0);
        conn = watching;
        int waited_ms = 0;
        while (number_of("select count(*) from pg_stat_activity where wait_event_type = 'Lock'") == 0 && waited_ms++ < 10000)
            usleep(1000);
        conn = own;
        assert_ok(db_tx_commit(&tx, &err), &err);
    }
    pthread_join(thread, NULL);
    assert_false(rival.ok);
    assert_int_equal(rival.err.code, ERR_DOMAIN_OTHER_BRAND);
    run_sql("delete from domains where brand_id = %lld; delete from brands where id = %lld", (long long)other_brand,
            (long long)other_brand);
}

static void test_a_deleted_domain_still_signs(void **state)
{
    (void)state;
    struct error err;
    struct dkim_key_list keys;
    struct domain_row *domain;
    bool deleted;
    int64_t id = connect();
    verified(id);
    struct domain_check check = begin(id);
    answer_but(&check, -1);
    assert_ok(domain_delete(&work, id, &deleted, &err), &err);
    assert_true(deleted);
    assert_ok(domain_delete(&work, id, &deleted, &err), &err);
    assert_false(deleted);
    assert_false(settle(&check, &domain, &err));
    assert_int_equal(err.code, ERR_DOMAIN_NOT_FOUND);
    assert_ok(domain_signing_keys(&work, id, arena, &keys, &err), &err);
    assert_int_equal(keys.count, 2);
    verified(connect());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_published_keys_verify),           TEST(test_one_key_is_not_enough),    TEST(test_the_click_host),
        TEST(test_published_keys_verify),           TEST(test_one_key_is_not_enough),    TEST(test_records_gone_make_it_pending),
        TEST(test_the_operators_word_stands),       TEST(test_silence_changes_nothing),  TEST(test_silence_about_advice_leaves_it),
        TEST(test_waiting_keys_are_taken_into_use), TEST(test_keys_exchanged_meanwhile), TEST(test_a_domain_without_keys_gets_them),
        TEST(test_a_name_is_proven_once),           TEST(test_a_name_is_proven_at_once), TEST(test_a_deleted_domain_still_signs),
    };
    return cmocka_run_group_tests_name("engine: checking domains", tests, world_begin, world_end);
}
