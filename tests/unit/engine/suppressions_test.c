/*
 * Suppressions: which one replaces which, the end of one that expires in every
 * query that reads them, and the operator's commands.
 */
#include "fixtures/engine_fixture.h"

#include "base/text.h"
#include "engine/account/account.h"
#include "engine/operator/operator_suppressions.h"
#include "engine/sends/explain.h"
#include "engine/subscriptions/subscriptions.h"
#include "engine/suppressions/suppress.h"
#include "sql/contacts.h"
#include "sql/delivery.h"
#include "sql/imports.h"
#include "sql/sends.h"
#include "sql/suppress.h"

static const int64_t day_us = INT64_C(86400) * US_PER_S;
static unsigned char ada_hash[SECRET_HASH_BYTES];
static char ada_hex[2 * SECRET_HASH_BYTES + 1];
static const char *ada_hashes[] = { ada_hex };
static const char *ada_keys[] = { "ada@example.com" };

static int begin(void **state)
{
    int failed = world_reset(state);
    address_hash(work.engine->address_key, ada_keys[0], ada_hash);
    hex_encode(ada_hash, sizeof(ada_hash), ada_hex);
    run_sql("delete from audit_log");
    return failed;
}

static void add(const char *reason, const char *evidence, struct opt_int expires_us)
{
    struct error err;
    struct suppression suppression = {
        .address_hash = ada_hash, .reason = reason, .source = "report", .evidence = evidence, .expires_us = expires_us
    };
    assert_ok(suppression_add(&work, &suppression, &err), &err);
}

static struct opt_int in_days(int64_t days)
{
    return (struct opt_int){ true, work.now_us + days * day_us };
}

static const struct opt_int lasting = { 0 };

/* ---- Which one stays ---- */

static void test_first_reason_stays(void **state)
{
    (void)state;
    add("bounce", "550 first", lasting);
    add("bounce", "550 second", lasting);
    add("operator", NULL, lasting);
    add("bounce", "452 full", in_days(14));
    assert_int_equal(number_of("select count(*) from suppressions where reason = 'bounce' and evidence = '550 first'"
                               " and source = 'report' and expires_at is null and unsubscribe_reason is null"),
                     1);
}

static void test_complaint_replaces(void **state)
{
    (void)state;
    add("unsubscribe", NULL, lasting);
    add("complaint", "ARF", lasting);
    add("complaint", "again", lasting);
    assert_int_equal(number_of("select count(*) from suppressions where reason = 'complaint' and evidence = 'ARF'"
                               " and unsubscribe_reason = 'unsubscribe' and unsubscribed_at is not null"),
                     1);
}

static void test_longer_replaces(void **state)
{
    (void)state;
    add("bounce", "452 full", in_days(14));
    add("bounce", "452 sooner", in_days(7));
    assert_int_equal(number_of("select count(*) from suppressions where evidence = '452 full'"), 1);
    add("bounce", "452 later", in_days(20));
    assert_int_equal(number_of("select count(*) from suppressions where evidence = '452 later'"), 1);
    add("unsubscribed", NULL, lasting);
    assert_int_equal(number_of("select count(*) from suppressions where reason = 'unsubscribed' and expires_at is null"
                               " and unsubscribe_reason is null"),
                     1);
    add("unsubscribe", NULL, lasting);
    assert_int_equal(number_of("select count(*) from suppressions where reason = 'unsubscribe'"), 1);
}

static void test_expired_is_replaced(void **state)
{
    (void)state;
    add("bounce", "452 full", in_days(14));
    work.now_us += 15 * day_us;
    add("bounce", "452 again", in_days(-1)); /* an old report */
    assert_int_equal(number_of("select count(*) from suppressions where evidence = '452 again'"), 1);
}

/* the person's own unsubscribe is kept behind a bounce, whichever came first. */
static void test_unsubscribe_behind(void **state)
{
    (void)state;
    add("bounce", "550", lasting);
    add("unsubscribed", NULL, lasting);
    assert_int_equal(number_of("select count(*) from suppressions where reason = 'bounce' and unsubscribe_reason = 'unsubscribed'"),
                     1);
    add("unsubscribe", NULL, lasting);
    add("unsubscribed", NULL, lasting);
    assert_int_equal(number_of("select count(*) from suppressions where evidence = '550' and unsubscribe_reason = 'unsubscribe'"),
                     1);
}

/* ---- The end of an expiring one, in every reader ---- */

static bool new_contact_is_subscribed(void)
{
    struct error err;
    const char *texts[] = { NULL };
    const char *objects[] = { "{}" };
    const bool unset[] = { false };
    struct contacts_save_params params = {
        .brand_id = work.brand_id,
        .emails = { ada_keys, 1 },
        .email_keys = { ada_keys, 1 },
        .address_hashes = { ada_hashes, 1 },
        .sets_first_name = { unset, 1 },
        .first_names = { texts, 1 },
        .sets_last_name = { unset, 1 },
        .last_names = { texts, 1 },
        .sets_user_id = { unset, 1 },
        .user_ids = { texts, 1 },
        .sources = { texts, 1 },
        .subscribed = { texts, 1 },
        .subscription_groups = { objects, 1 },
        .custom_fields = { objects, 1 },
        .consents = { texts, 1 },
        .max_ids = 1,
        .now = work.now_us,
    };
    struct contacts_save_row *row;
    run_sql("delete from contacts");
    assert_ok(sql_contacts_save(conn, arena, &params, &row, &err), &err);
    return number_of("select count(*) from contacts where subscribed") == 1;
}

static bool saved_contact_is_subscribed(void)
{
    struct error err;
    const char *texts[] = { NULL };
    const char *objects[] = { "{}" };
    const bool unset[] = { false };
    struct contact_save_params params = {
        .brand_id = work.brand_id,
        .emails = { ada_keys, 1 },
        .email_keys = { ada_keys, 1 },
        .address_hashes = { ada_hashes, 1 },
        .sets_first_name = { unset, 1 },
        .first_names = { texts, 1 },
        .sets_last_name = { unset, 1 },
        .last_names = { texts, 1 },
        .sets_user_id = { unset, 1 },
        .user_ids = { texts, 1 },
        .sources = { texts, 1 },
        .subscribed = { texts, 1 },
        .subscription_groups = { objects, 1 },
        .custom_fields = { objects, 1 },
        .consents = { texts, 1 },
        .now = work.now_us,
    };
    struct contact_row *rows;
    size_t count;
    run_sql("delete from contacts");
    assert_ok(sql_contact_save(conn, arena, &params, &rows, &count, &err), &err);
    assert_int_equal(count, 1);
    return rows[0].subscribed;
}

/* The readers that count an address as suppressed now. */
static int suppressing_readers(void)
{
    struct error err;
    size_t delivery;
    size_t imports;
    size_t inlined;
    struct delivery_suppressed_row *delivery_rows;
    struct import_suppressed_row *import_rows;
    struct send_inline_special_row *inline_rows;
    struct import_suppressions_any_row *any;
    struct send_test_suppression_row *test;
    struct text_list hashes = { ada_hashes, 1 };
    assert_ok(sql_delivery_suppressed(conn, arena, &(struct delivery_suppressed_params){ work.brand_id, hashes, true, work.now_us },
                                      &delivery_rows, &delivery, &err),
              &err);
    assert_ok(sql_import_suppressed(conn, arena, &(struct import_suppressed_params){ work.brand_id, hashes, work.now_us },
                                    &import_rows, &imports, &err),
              &err);
    assert_ok(sql_import_suppressions_any(conn, arena, &(struct import_suppressions_any_params){ work.brand_id, work.now_us }, &any,
                                          &err),
              &err);
    assert_ok(sql_send_test_suppression(
                  conn, arena, &(struct send_test_suppression_params){ work.brand_id, { ada_hash, sizeof(ada_hash) }, work.now_us },
                  &test, &err),
              &err);
    struct send_inline_special_params listed = { work.brand_id, { ada_keys, 1 }, hashes, work.now_us };
    assert_ok(sql_send_inline_special(conn, arena, &listed, &inline_rows, &inlined, &err), &err);
    assert_int_equal(inlined, 1); /* else as unknown */
    return (int)delivery + (int)imports + any->any + (test != NULL) + text_equal(inline_rows[0].reason, "suppressed");
}

static const char *written(bool (*write)(struct json_writer *json, struct error *err))
{
    struct error err;
    struct json_writer json;
    struct buf *out = buf_in_arena(arena, 1024 * 1024);
    json_writer_init(&json, out);
    assert_ok(write(&json, &err), &err);
    return buf_text(out);
}

static bool write_why(struct json_writer *json, struct error *err)
{
    return send_why(&work, "Ada@example.com", 0, json, err);
}

static bool write_counts(struct json_writer *json, struct error *err)
{
    json_object_begin(json);
    bool ok = account_write_suppressions(&work, json, err);
    json_object_end(json);
    return ok;
}

static bool write_list(struct json_writer *json, struct error *err)
{
    return operator_write_suppressions(&work, NULL, json, err);
}

static bool link_has_left(void)
{
    struct error err;
    struct subscription subscription;
    struct unsubscribe_link link = { .brand_id = work.brand_id, .send_id = 1, .ordinal = 1 };
    memcpy(link.address_hash, ada_hash, sizeof(ada_hash));
    assert_ok(subscription_find(&work, &link, &subscription, &err), &err);
    return subscription.has_left;
}

static void test_expires_in_every_reader(void **state)
{
    (void)state;
    add("bounce", "452 4.2.2 Mailbox full", in_days(14));
    assert_int_equal(suppressing_readers(), 5);
    assert_non_null(strstr(written(write_counts), "\"reason\":\"bounce\",\"addresses\":1,\"expiring\":1"));
    assert_non_null(strstr(written(write_list), ada_hex));
    assert_false(new_contact_is_subscribed());
    assert_false(saved_contact_is_subscribed());
    run_sql("delete from contacts");
    const char *why = written(write_why);
    assert_non_null(strstr(why, "\"source\":\"report\""));
    assert_non_null(strstr(why, "\"evidence\":\"452 4.2.2 Mailbox full\""));
    assert_non_null(strstr(why, "\"expiresAt\""));
    assert_non_null(strstr(why, ", until "));

    work.now_us += 14 * day_us;
    assert_int_equal(suppressing_readers(), 0);
    assert_null(strstr(written(write_counts), "bounce"));
    assert_null(strstr(written(write_list), ada_hex));
    assert_true(new_contact_is_subscribed());
    assert_true(saved_contact_is_subscribed());
    assert_non_null(strstr(written(write_why), "\"suppression\":null"));
}

static void test_left_by_link(void **state)
{
    (void)state;
    add("bounce", "550", lasting);
    assert_false(link_has_left());
    add("unsubscribe", NULL, lasting);
    assert_true(link_has_left());
}

static void test_expired_rows_are_removed(void **state)
{
    (void)state;
    struct error err;
    struct suppressions_forget_params forget = { work.now_us + 14 * day_us, 10 };
    add("bounce", "452", in_days(14));
    forget.now--;
    assert_ok(sql_suppressions_forget(conn, arena, &forget, NULL, &err), &err);
    assert_int_equal(number_of("select count(*) from suppressions"), 1);
    forget.now++;
    assert_ok(sql_suppressions_forget(conn, arena, &forget, NULL, &err), &err);
    assert_int_equal(number_of("select count(*) from suppressions"), 0);
}

/* The function is inlined: each address is found by the whole primary key. */
static void test_reads_by_key(void **state)
{
    (void)state;
    run_sql("create function pg_temp.plan(query text) returns setof text language plpgsql as"
            " 'begin return query execute ''explain '' || query; end'");
    assert_int_equal(
        number_of("select count(*) from pg_temp.plan($$ select 1 from (values ('\\x01'::bytea), ('\\x02')) as t (hash) cross join"
                  " lateral (select 1 from suppressions_at(7, now()) s where s.address_hash = t.hash limit 1) as known $$) as p"
                  " where p like '%Index Cond: ((brand_id = ''7''::bigint) AND (address_hash = %'"),
        1);
}

/* ---- The operator ---- */

static const char *release(bool unsubscribed, struct error *err)
{
    struct json_writer json;
    struct buf *out = buf_in_arena(arena, 1024 * 1024);
    json_writer_init(&json, out);
    *err = (struct error){ .code = ERR_NONE };
    if (operator_release_suppression(&work, " Ada@example.com ", unsubscribed, &json, err))
        return buf_text(out);
    if (db_in_transaction(conn))
        run_sql("rollback");
    return NULL;
}

static void test_release(void **state)
{
    (void)state;
    struct error err;
    assert_null(release(false, &err));
    assert_string_equal(err.param, "address");
    add("bounce", "550 no", lasting);
    const char *answer = release(false, &err);
    assert_ok(answer != NULL, &err);
    assert_non_null(strstr(answer, "\"reason\":\"bounce\",\"source\":\"report\",\"evidence\":\"550 no\""));
    assert_non_null(strstr(answer, "\"unsubscribed\":false"));
    assert_int_equal(number_of("select count(*) from suppressions"), 0);
    assert_int_equal(number_of("select count(*) from audit_log where operation = 'admin.suppression.release'"), 1);
}

/* an unsubscribe ends only on demand. */
static void test_release_keeps_unsubscribes(void **state)
{
    (void)state;
    struct error err;
    add("bounce", "550", lasting);
    add("unsubscribe", NULL, lasting);
    const char *answer = release(false, &err);
    assert_ok(answer != NULL, &err);
    assert_non_null(strstr(answer, "\"unsubscribed\":true"));
    assert_int_equal(number_of("select count(*) from suppressions where reason = 'unsubscribe' and unsubscribe_reason is null"), 1);
    assert_null(release(false, &err));
    assert_string_equal(err.param, "unsubscribed");
    assert_int_equal(number_of("select count(*) from suppressions"), 1);
    assert_false(new_contact_is_subscribed());
    assert_ok(release(true, &err) != NULL, &err);
    assert_int_equal(number_of("select count(*) from suppressions"), 0);
    assert_int_equal(number_of("select count(*) from contacts where subscribed"), 1);
}

static const char *import_of(const char *csv, const char *reason, struct error *err)
{
    struct json_writer json;
    struct buf *out = buf_in_arena(arena, 1024 * 1024);
    const char *path = arena_printf(arena, "%s/suppressed.csv", folder);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(csv, file) >= 0 && fclose(file) == 0);
    json_writer_init(&json, out);
    *err = (struct error){ .code = ERR_NONE };
    return operator_import_suppressions(&work, path, reason, &json, err) ? buf_text(out) : NULL;
}

static void test_import(void **state)
{
    (void)state;
    struct error err;
    const char *answer = import_of("\xEF\xBB\xBF"
                                   "email;Suppression Reason;Created At\r\n"
                                   "Ada@example.com;HardBounce;2025-01-02T03:04:05Z\r\n"
                                   "ada@example.com;hard bounce;\r\n"
                                   "bob@example.com;SpamComplaint;1735689600\r\n"
                                   "cyd@example.com;blocked;\r\n"
                                   "dan@example.com;550 5.1.1 no such user;\r\n"
                                   "no address;;\r\n"
                                   "\"open;;\r\n"
                                   "eve@example.com;Unsubscribed;2999-01-01T00:00:00Z\r\n",
                                   "operator", &err);
    assert_ok(answer != NULL, &err);
    assert_non_null(strstr(answer, "\"suppressed\":{\"bounce\":2,\"complaint\":1,\"unsubscribe\":1,\"operator\":1}"));
    assert_non_null(strstr(answer, "\"skipped\":1,\"refused\":2"));
    assert_non_null(strstr(answer, "\"line\":7"));
    assert_non_null(strstr(answer, "\"line\":8"));
    assert_int_equal(number_of("select count(*) from suppressions where source = 'import'"), 4);
    assert_int_equal(number_of("select count(*) from suppressions where reason = 'bounce'"), 1);
    assert_int_equal(number_of("select count(*) from suppressions where reason = 'complaint' and created_at = '2025-01-01'"), 1);
    assert_int_equal(number_of("select count(*) from suppressions where evidence = '550 5.1.1 no such user'"), 1);
    assert_int_equal(number_of("select count(*) from suppressions where created_at > now() + interval '1 minute'"), 0);

    assert_null(import_of("name,place\na,b\n", "bounce", &err));
    assert_string_equal(err.param, "file");
    assert_null(import_of("", "bounce", &err));
    assert_null(import_of("email\na@example.com\n", "never", &err));
    assert_string_equal(err.param, "reason");
}

/* More rows than one portion, and more than one block of the reader. */
static void test_large_import(void **state)
{
    (void)state;
    enum { ROWS = 25000 };
    struct error err;
    struct buf *csv = buf_in_arena(arena, 4 * 1024 * 1024);
    buf_add_text(csv, "address\n");
    for (int i = 0; i < ROWS; i++)
        buf_printf(csv, "reader%d@example.com\n", i);
    const char *answer = import_of(buf_text(csv), "bounce", &err);
    assert_ok(answer != NULL, &err);
    assert_non_null(strstr(answer, "\"bounce\":25000"));
    assert_int_equal(number_of("select count(*) from suppressions"), ROWS);
}

static void test_pages(void **state)
{
    (void)state;
    struct error err;
    struct json_writer json;
    struct buf *out = buf_in_arena(arena, 1024 * 1024);
    run_sql("insert into suppressions (brand_id, address_hash, reason, created_at)"
            "select %lld, sha256(i::text::bytea), 'bounce', now() from generate_series(1, %d) as i",
            (long long)work.brand_id, SUPPRESSIONS_OF_PAGE + 1);
    const char *first = written(write_list);
    const char *next = strstr(first, "\"next\":\"");
    assert_non_null(next);
    char *after = arena_dup_bytes(arena, next + strlen("\"next\":\""), 2 * SECRET_HASH_BYTES);
    json_writer_init(&json, out);
    assert_ok(operator_write_suppressions(&work, after, &json, &err), &err);
    assert_null(strstr(buf_text(out), "\"next\""));
    assert_null(strstr(buf_text(out), after));
    json_writer_init(&json, out);
    assert_false(operator_write_suppressions(&work, "zz", &json, &err));
}

#define SUPPRESSION_TEST(function) cmocka_unit_test_setup_teardown(function, begin, world_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SUPPRESSION_TEST(test_first_reason_stays),
        SUPPRESSION_TEST(test_complaint_replaces),
        SUPPRESSION_TEST(test_longer_replaces),
        SUPPRESSION_TEST(test_expired_is_replaced),
        SUPPRESSION_TEST(test_unsubscribe_behind),
        SUPPRESSION_TEST(test_expires_in_every_reader),
        SUPPRESSION_TEST(test_left_by_link),
        SUPPRESSION_TEST(test_expired_rows_are_removed),
        SUPPRESSION_TEST(test_reads_by_key),
        SUPPRESSION_TEST(test_release),
        SUPPRESSION_TEST(test_release_keeps_unsubscribes),
        SUPPRESSION_TEST(test_import),
        SUPPRESSION_TEST(test_large_import),
        SUPPRESSION_TEST(test_pages),
    };
    return cmocka_run_group_tests(tests, world_begin, world_end);
}
