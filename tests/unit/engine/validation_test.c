/*
 * Validation of contacts: background rounds, stored verdicts, charges, and saving with
 * validation, with the workers and a DNS server of the test.
 */
#include "fixtures/own_fail.h"

#include "fixtures/engine_fixture.h"
#include "fixtures/fake_dns_server.h"

#include "engine/ledger/ledger.h"
#include "engine/ledger/plans.h"
#include "engine/sends/sends.h"
#include "engine/validation/validated_save.h"
#include "net/dns.h"

#include <pthread.h>

static const struct dns_row rows[] = {
    { "plain.test", TYPE_MX, .ttl_s = 300, .preference = 10, .data = "mx.plain.test" },
    { "null.test", TYPE_MX, .ttl_s = 300, .data = "" },
    { "broken.test", 0, .rcode = RCODE_SERVFAIL },
};

static struct dns *dns;

static int group_begin(void **state)
{
    struct error err = { .code = ERR_NONE };
    dns_server_start(rows, ARRAY_COUNT(rows));
    return dns_new(dns_server_place(), &dns, &err) ? world_begin(state) : -1;
}

static int group_end(void **state)
{
    world_end(state);
    dns_free(dns);
    dns_server_stop();
    return 0;
}

static int reset(void **state)
{
    int status = world_reset(state);
    run_sql("delete from validations; delete from credit_usage; update organizations set bonus_credits = 0");
    return status;
}

#define VALIDATION_TEST(function) cmocka_unit_test_setup_teardown(function, reset, world_leave)

/* ---- In few words ---- */

static void make_contacts(const char *domain, int count)
{
    run_sql("insert into contacts (brand_id, email, email_key, source, subscribed, created_at, updated_at)"
            "select %lld, 'p' || n || '@%s', 'p' || n || '@%s', 'API', true, now(), now() from generate_series(1, %d) n",
            (long long)work.brand_id, domain, domain, count);
}

/* A validation of all contacts, as an import makes it. */
static int64_t validate_all(int64_t *ret_job_id)
{
    struct error err;
    int64_t id;
    assert_ok(validation_open(&work, &id, &err), &err);
    run_sql("insert into validation_targets (brand_id, validation_id, contact_id) select brand_id, %lld, id from contacts"
            " on conflict do nothing",
            (long long)id);
    assert_ok(validation_start(&work, id, 0, ret_job_id, &err), &err);
    return id;
}

static void run_workers_until(const char *sql, int64_t wanted)
{
    run_until((struct job_services){ .dns = dns }, sql, wanted);
}

static void run_to_the_end(void)
{
    run_workers_until(nothing_to_do, 0);
}

static int64_t used(void)
{
    return number_of("select coalesce(sum(used), 0)::bigint from credit_usage");
}

/* ---- In the background ---- */

/* verdicts are kept with the contacts, and each address that was checked costs two credits. */
static void verdicts_are_kept_and_charged(void **state)
{
    (void)state;
    make_contacts("plain.test", 3);
    make_contacts("null.test", 2);
    make_contacts("absent.test", 1);
    make_contacts("broken.test", 4);
    run_sql("insert into contacts (brand_id, email, email_key, source, subscribed, created_at, updated_at) values"
            " (%lld, 'info@plain.test', 'info@plain.test', 'API', true, now(), now())",
            (long long)work.brand_id);
    int64_t job_id;
    validate_all(&job_id);
    run_to_the_end();

    assert_int_equal(number_of("select count(*) from contact_validations"), 7);
    assert_int_equal(number_of("select count(*) from contact_validations where status = 'valid' and reason is null"), 3);
    assert_int_equal(number_of("select count(*) from contact_validations where status = 'invalid' and reason = 'no_mail'"), 2);
    assert_int_equal(number_of("select count(*) from contact_validations where status = 'invalid' and reason = 'no_such_domain'"),
                     1);
    assert_int_equal(number_of("select count(*) from contact_validations where status = 'risky' and reason = 'role'"), 1);
    assert_int_equal(used(), 14);
    assert_int_equal(number_of("select count(*) from validation_targets"), 0);
    assert_int_equal(number_of("select count(*) from jobs where state = 'done' and result_body::jsonb ="
                               " '{\"total\":11,\"valid\":3,\"risky\":1,\"invalid\":3,\"unchecked\":4,\"credits\":14}'"),
                     1);
}

static void many_go_in_rounds(void **state)
{
    (void)state;
    enum { COUNT = 2 * VALIDATION_ROUND_TARGETS + 7 };
    make_contacts("plain.test", COUNT);
    int64_t job_id;
    validate_all(&job_id);
    run_to_the_end();
    assert_int_equal(number_of("select count(*) from contact_validations where status = 'valid'"), COUNT);
    assert_int_equal(number_of("select valid from validations where ended_at is not null"), COUNT);
    assert_int_equal(used(), COUNT * CREDITS_CONTACT_VALIDATION);
}

/* The trial has 100 credits: fifty addresses, and the rest stays unchecked. */
static void credits_run_out(void **state)
{
    (void)state;
    make_contacts("plain.test", 80);
    run_sql("update organizations set plan = 'trial'");
    int64_t job_id;
    validate_all(&job_id);
    run_to_the_end();
    assert_int_equal(used(), 100);
    assert_int_equal(number_of("select count(*) from contact_validations"), 50);
    assert_int_equal(number_of("select unchecked from validations where ended_at is not null"), 30);
    assert_int_equal(number_of("select count(*) from validation_targets"), 0);

    struct error err = { .code = ERR_NONE };
    assert_false(validation_check_credits(&work, 1, &err));
    assert_int_equal(err.code, ERR_INSUFFICIENT_CREDITS);
}

static const char held[] = "select coalesce(sum(credits), 0)::bigint from credit_holds";

/* When no domain can be asked the round waits for better times: nothing is kept, charged or passed over. */
static void dns_is_away(void **state)
{
    (void)state;
    run_sql("update organizations set plan = 'trial'");
    make_contacts("broken.test", 5);
    int64_t job_id;
    validate_all(&job_id);
    run_workers_until("select count(*) from jobs where state = 'queued' and attempts >= 1", 1);
    assert_int_equal(number_of("select count(*) from contact_validations"), 0);
    assert_int_equal(used(), 0);
    assert_int_equal(number_of("select count(*) from validation_targets"), 5);
    assert_int_equal(number_of(held), 10); /* until it is tried again */

    /* It was the last try. */
    run_sql("update jobs set attempts = 40, run_after = now()");
    run_workers_until("select count(*) from jobs where state = 'failed' and result_status = 503", 1);
    assert_int_equal(number_of("select unchecked from validations where ended_at is not null"), 5);
    assert_int_equal(number_of("select count(*) from validation_targets"), 0);
    assert_int_equal(number_of(held), 0);
}

/* A round that a crash repeats is settled once. */
static void a_round_is_settled_once(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    make_contacts("plain.test", 3);
    int64_t job_id;
    int64_t id = validate_all(&job_id);
    struct validation_round round;
    run_sql("update organizations set plan = 'trial'");
    assert_ok(validation_round_open(&work, 1, id, &round, &err), &err);
    assert_int_equal(round.list.count, 3);
    assert_int_equal(number_of(held), 6); /* no more than the round can cost */
    const enum mail_domain answers[] = { MAIL_DOMAIN_ACCEPTS };
    address_list_judge(arena, &round.list, answers);
    struct validation_totals_row *totals;
    assert_ok(validation_round_settle(&work, &round, &totals, &err), &err);
    assert_null(totals);
    assert_false(validation_round_settle(&work, &round, &totals, &err));
    assert_int_equal(used(), 6);
    assert_int_equal(number_of(held), 0);
}

static void deleted_contacts_are_passed_over(void **state)
{
    (void)state;
    make_contacts("plain.test", 4);
    int64_t job_id;
    validate_all(&job_id);
    run_sql("delete from contacts where email = 'p2@plain.test'");
    run_to_the_end();
    assert_int_equal(number_of("select count(*) from contact_validations"), 3);
    assert_int_equal(used(), 6);
    /* The verdict about an address is deleted with its contact. */
    run_sql("delete from contacts where email = 'p1@plain.test'");
    assert_int_equal(number_of("select count(*) from contact_validations"), 2);
}

static void targets_are_contacts_of_the_brand(void **state)
{
    (void)state;
    struct error err;
    make_contacts("plain.test", 2);
    int64_t id;
    int64_t job_id;
    static const char *const keys[] = { "p1@plain.test", "p1@plain.test", "nobody@plain.test" };
    assert_ok(validation_open(&work, &id, &err), &err);
    assert_ok(validation_add(&work, id, (struct text_list){ keys, ARRAY_COUNT(keys) }, &err), &err);
    assert_int_equal(number_of("select count(*) from validation_targets"), 1);
    struct work other = work;
    other.brand_id++;
    assert_ok(validation_add(&other, id, (struct text_list){ keys, ARRAY_COUNT(keys) }, &err), &err);
    assert_int_equal(number_of("select count(*) from validation_targets"), 1);
    assert_ok(validation_start(&work, id, 0, &job_id, &err), &err);
    assert_true(job_id > 0);
    /* Too late. */
    static const char *const later[] = { "p2@plain.test" };
    assert_ok(validation_add(&work, id, (struct text_list){ later, 1 }, &err), &err);
    assert_int_equal(number_of("select count(*) from validation_targets"), 1);
}

static void nothing_to_do_leaves_nothing(void **state)
{
    (void)state;
    struct error err;
    int64_t id;
    int64_t job_id;
    assert_ok(validation_open(&work, &id, &err), &err);
    assert_ok(validation_start(&work, id, 0, &job_id, &err), &err);
    assert_int_equal(job_id, 0);
    make_contacts("plain.test", 1);
    assert_ok(validation_open(&work, &id, &err), &err);
    run_sql("insert into validation_targets select brand_id, %lld, id from contacts", (long long)id);
    assert_ok(validation_drop(&work, id, &err), &err);
    assert_int_equal(number_of("select (select count(*) from validations) + (select count(*) from validation_targets)"
                               " + (select count(*) from jobs)"),
                     0);
}

/* ---- Saving ---- */

static const json_t *read_json(const char *json_text)
{
    struct error err;
    const json_t *json;
    assert_ok(json_read(arena, json_text, strlen(json_text), (struct json_bounds){ .max_bytes = 1 << 20 }, &json, &err), &err);
    return json;
}

/* Encodes the payload of the job and decodes it again. */
static void save_through_the_job(const struct contact_change *changes, size_t count, struct validated_save *ret_save)
{
    struct error err;
    const struct save_validated_payload *payload;
    struct new_job job = validated_save_job(arena, changes, count, false);
    assert_ok(save_validated_payload_decode(arena, job.payload, &payload, &err), &err);
    validated_save_read(arena, payload, ret_save);
}

/* A change survives the job row with every member, and with what it leaves out. */
static void changes_survive_the_job(void **state)
{
    (void)state;
    struct contact_change changes[] = {
        {
            .email = "ada@plain.test",
            .first_name = { true, "Ada" },
            .last_name = { true, NULL },
            .source = "shop",
            .subscribed = { true, false },
            .subscription_groups = read_json("{\"news\":true}"),
            .custom_fields = read_json("{\"plan\":\"pro\",\"gone\":null}"),
            .has_proof = true,
            .proof = { "form", { true, 1700000000000000 }, "v1", "ticked" },
        },
        { .user_id = { true, "7" }, .subscribed = { false, false } },
    };
    struct validated_save save;
    save_through_the_job(changes, ARRAY_COUNT(changes), &save);
    assert_false(save.is_single);
    assert_int_equal(save.count, 2);
    const struct contact_change *first = &save.changes[0];
    assert_string_equal(first->email, "ada@plain.test");
    assert_true(first->first_name.set && strcmp(first->first_name.value, "Ada") == 0);
    assert_true(first->last_name.set && first->last_name.value == NULL);
    assert_false(first->user_id.set);
    assert_string_equal(first->source, "shop");
    assert_true(first->subscribed.set && !first->subscribed.value);
    assert_string_equal(json_compact(arena, first->subscription_groups), "{\"news\":true}");
    assert_true(json_equal(json_for_iteration(first->custom_fields), json_for_iteration(changes[0].custom_fields)));
    assert_true(first->has_proof && first->proof.captured_at.set);
    assert_int_equal(first->proof.captured_at.value, 1700000000000000);
    assert_string_equal(first->proof.source, "form");
    assert_string_equal(first->proof.policy_version, "v1");
    assert_string_equal(first->proof.evidence, "ticked");
    const struct contact_change *second = &save.changes[1];
    assert_null(second->email);
    assert_string_equal(second->user_id.value, "7");
    assert_false(second->subscribed.set || second->first_name.set || second->has_proof);
    assert_null(second->source);
    assert_null(second->custom_fields);
}

/* rows that were not saved cost nothing, and an address that comes twice costs once. */
static void a_batch_is_charged_by_address(void **state)
{
    (void)state;
    struct error err;
    struct contact_change changes[] = {
        { .email = "ada@plain.test", .custom_fields = read_json("{\"age\":7}") },
        { .email = "bob@null.test", .custom_fields = read_json("{\"age\":\"old\"}") },
        { .email = "ADA@plain.test" },
        { .email = "bob@null.test" },
        { .email = "not an address" },
        { .email = NULL },
        { .email = "eve@broken.test" },
    };
    struct validated_save save;
    save_through_the_job(changes, ARRAY_COUNT(changes), &save);
    const enum mail_domain answers[] = { MAIL_DOMAIN_ACCEPTS, MAIL_DOMAIN_REFUSES, MAIL_DOMAIN_UNKNOWN };
    assert_int_equal(save.list.domain_count, ARRAY_COUNT(answers));
    address_list_judge(arena, &save.list, answers);
    struct validated_saved saved;
    struct buf *out = buf_in_arena(arena, 65536);
    struct json_writer json;
    json_writer_init(&json, out);
    assert_ok(validated_save_settle(&work, &save, &saved, &json, &err), &err);
    assert_int_equal(saved.checked, 2);

    const json_t *answer = read_json(buf_text(out));
    assert_int_equal(json_array_size(json_object_get(answer, "errors")), 3);
    const json_t *warnings = json_object_get(answer, "warnings");
    assert_int_equal(json_array_size(warnings), 2);
    assert_string_equal(json_get_text(json_array_get(warnings, 0), "code"), "ADDRESS_INVALID");
    assert_string_equal(json_get_text(json_array_get(warnings, 0), "original"), "bob@null.test");
    assert_string_equal(json_get_text(json_array_get(warnings, 1), "code"), "ADDRESS_UNCHECKED");
    assert_int_equal(number_of("select count(*) from contacts"), 3);
    assert_int_equal(number_of("select count(*) from contact_validations where status = 'invalid'"), 1);
    assert_int_equal(number_of("select count(*) from contact_validations"), 2);
}

/* more than a hundred are saved at once; the job that is named checks them. */
static void many_are_saved_first(void **state)
{
    (void)state;
    enum { COUNT = VALIDATION_MAX_WAITED_FOR + 1 };
    struct error err;
    struct contact_change changes[COUNT + 1];
    for (int i = 0; i < COUNT; i++)
        changes[i] = (struct contact_change){ .email = arena_printf(arena, "p%d@%s", i, i % 2 == 0 ? "plain.test" : "null.test") };
    changes[COUNT] = (struct contact_change){ .email = "no address" };
    struct int_list ids;
    struct buf *out = buf_in_arena(arena, 65536);
    struct json_writer json;
    json_writer_init(&json, out);
    assert_ok(validated_save_many(&work, changes, COUNT + 1, &ids, &json, &err), &err);
    assert_int_equal(number_of("select count(*) from contacts"), COUNT);
    assert_int_equal(number_of("select count(*) from contact_validations"), 0);
    const char *job = json_get_text(read_json(buf_text(out)), "validationJobId");
    assert_non_null(job);
    assert_int_equal(id_decode(&work.engine->ids, ID_JOB, job), number_of("select id from jobs"));

    run_to_the_end();
    assert_int_equal(number_of("select count(*) from contact_validations where status = 'valid'"), 51);
    assert_int_equal(number_of("select count(*) from contact_validations where status = 'invalid'"), 50);
    assert_int_equal(used(), COUNT * CREDITS_CONTACT_VALIDATION);
}

static void *keep_verdict(void *data)
{
    struct error *err = data;
    ARENA_SCOPE of_thread = arena_new(0);
    DB_CONN_SCOPE other_conn = NULL;
    if (!installation_connect(installation, &other_conn, err))
        return NULL;
    struct work other = work;
    other.arena = of_thread;
    other.conn = other_conn;
    static const char *const emails[] = { "p1@plain.test", "p2@plain.test" };
    static const enum mail_domain accepts[] = { MAIL_DOMAIN_ACCEPTS };
    struct address_list list;
    address_list_read(of_thread, (struct text_list){ emails, ARRAY_COUNT(emails) }, &list);
    address_list_judge(of_thread, &list, accepts);
    return validation_keep(&other, &list, err) ? data : NULL;
}

/* A contact that is deleted while verdicts are stored gets none; the other contacts get theirs. */
static void a_deletion_meets_the_keeping(void **state)
{
    (void)state;
    struct error err;
    struct error of_thread = { .code = ERR_NONE };
    make_contacts("plain.test", 2);
    pthread_t thread;
    void *kept;
    bool waited = false;
    DB_TX tx;
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    run_sql("delete from contacts where email_key = 'p1@plain.test'");
    assert_int_equal(pthread_create(&thread, NULL, keep_verdict, &of_thread), 0);
    for (int64_t until_us = clock_monotonic_us() + 60 * US_PER_S; !waited && clock_monotonic_us() < until_us;)
        waited = number_of("select count(*) from pg_locks where not granted") > 0;
    assert_ok(db_tx_commit(&tx, &err), &err);
    assert_int_equal(pthread_join(thread, &kept), 0);
    assert_true(waited);
    assert_ok(kept != NULL, &of_thread);
    assert_int_equal(number_of("select count(*) from contact_validations"), 1);
}

/* ---- Sending ---- */

/* A campaign skips the undeliverable contacts and no others. */
static void campaigns_pass_over_invalid_addresses(void **state)
{
    (void)state;
    struct error err;
    struct address_list list;
    static const char *const emails[] = { "p1@null.test", "p1@plain.test", "info@plain.test" };
    make_contacts("plain.test", 2);
    make_contacts("null.test", 1);
    run_sql("insert into contacts (brand_id, email, email_key, source, subscribed, created_at, updated_at) values"
            " (%lld, 'info@plain.test', 'info@plain.test', 'API', true, now(), now())",
            (long long)work.brand_id);
    address_list_read(arena, (struct text_list){ emails, ARRAY_COUNT(emails) }, &list);
    const enum mail_domain answers[] = { MAIL_DOMAIN_REFUSES, MAIL_DOMAIN_ACCEPTS };
    address_list_judge(arena, &list, answers);
    assert_ok(validation_keep(&work, &list, &err), &err);

    struct send_request order = {
        .email_id = design_of("<html><body><a href=\"{{ unsubscribeUrl }}\">Leave</a></body></html>", "Hello\n"),
        .domain_id = number_of("select min(id) from domains where kind = 'sandbox'"),
        .audience = "all",
        .subject = "News",
    };
    struct send_accepted accepted;
    assert_ok(send_create(&work, &order, &accepted, &err), &err);
    int64_t job_id;
    struct campaign_payload payload = { .send_id = accepted.id };
    assert_ok(ledger_enqueue(&work, campaign_job(arena, &payload), work.now_us, NULL, &job_id, &err), &err);
    assert_ok(send_set_job(&work, accepted.id, job_id, &err), &err);
    run_to_the_end();
    assert_int_equal(number_of("select count(*) from send_results where outcome = 'delivered'"), 3);
    assert_int_equal(number_of("select count(*) from send_results r join send_recipients p using (brand_id, send_id, ordinal)"
                               " where r.outcome = 'skipped' and r.reason = 'invalid address' and p.email = 'p1@null.test'"),
                     1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VALIDATION_TEST(verdicts_are_kept_and_charged),
        VALIDATION_TEST(many_go_in_rounds),
        VALIDATION_TEST(credits_run_out),
        VALIDATION_TEST(dns_is_away),
        VALIDATION_TEST(a_round_is_settled_once),
        VALIDATION_TEST(deleted_contacts_are_passed_over),
        VALIDATION_TEST(targets_are_contacts_of_the_brand),
        VALIDATION_TEST(nothing_to_do_leaves_nothing),
        VALIDATION_TEST(changes_survive_the_job),
        VALIDATION_TEST(a_batch_is_charged_by_address),
        VALIDATION_TEST(many_are_saved_first),
        VALIDATION_TEST(a_deletion_meets_the_keeping),
        VALIDATION_TEST(campaigns_pass_over_invalid_addresses),
    };
    return cmocka_run_group_tests_name("engine/validation", tests, group_begin, group_end);
}
