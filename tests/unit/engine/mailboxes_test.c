/*
 * Stored mailboxes: their passwords are sealed for one address, sealed anew with a new master key, and in no output. One process at
 * a time polls a mailbox.
 */
#include "fixtures/engine_fixture.h"

#include "engine/operator/operator.h"
#include "engine/operator/operator_mailboxes.h"
#include "engine/reports/mailboxes.h"
#include "engine/secrets/mailbox_passwords.h"

#include <unistd.h>

static const char address[] = "imaps://reports@mail.example/INBOX";
static const char password[] = "pass-the-word";

static int begin(void **state)
{
    int failed = world_reset(state);
    run_sql("delete from report_mailboxes; delete from sealing_keys; delete from domain_keys; delete from audit_log");
    unlink(work.engine->key_file);
    return failed;
}

static struct json_writer *writer(void)
{
    struct json_writer *json = arena_alloc(arena, sizeof(*json));
    json_writer_init(json, buf_in_arena(arena, 1024 * 1024));
    return json;
}

static int64_t add(const char *at)
{
    struct error err;
    assert_ok(operator_add_mailbox(&work, at, password, writer(), &err), &err);
    return number_of("select max(id) from report_mailboxes");
}

static struct mailbox_claim *claim(void)
{
    struct mailbox_claim *claimed;
    struct error err;
    assert_ok(mailbox_claim(&work, &claimed, &err), &err);
    return claimed;
}

static const char *opened(const struct mailbox_claim *claimed)
{
    const char *text;
    struct error err;
    assert_ok(mailbox_password(&work, arena, claimed, &text, &err), &err);
    return text;
}

static void assert_refused(const char *at, const char *secret, const char *param)
{
    struct error err = { .code = ERR_NONE };
    assert_false(operator_add_mailbox(&work, at, secret, writer(), &err));
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    assert_string_equal(err.param, param);
}

static const char *number(int64_t id)
{
    return arena_printf(arena, "%lld", (long long)id);
}

/* D-118: the password is readable in no row and no output, and opens only for its own address. */
static void test_passwords_are_sealed(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct json_writer *json = writer();
    const char *text;
    add(address);
    assert_int_equal(number_of("select count(*) from report_mailboxes where position('pass-the-word'::bytea in password) > 0"), 0);
    assert_int_equal(number_of("select count(*) from audit_log where operation = 'admin.mailbox.add'"), 1);
    assert_ok(mailboxes_write(&work, json, &err), &err);
    assert_non_null(strstr(buf_text(json->out), address));
    assert_null(strstr(buf_text(json->out), "pass"));
    struct mailbox_claim *claimed = claim();
    assert_string_equal(opened(claimed), password);
    claimed->address = "imaps://reports@other.example/INBOX";
    assert_false(mailbox_password(&work, arena, claimed, &text, &err));
}

static void test_passwords_are_sealed_anew(void **state)
{
    (void)state;
    struct error err;
    int64_t count;
    int key;
    for (int i = 0; i < 3; i++)
        add(arena_printf(arena, "imaps://reports@mail%d.example/INBOX", i));
    assert_ok(operator_add_master_key(&work, &key, &err), &err);
    assert_ok(operator_rewrap(&work, &count, &err), &err);
    assert_int_equal(count, 3);
    assert_int_equal(number_of("select count(*) from report_mailboxes where get_byte(password, 1) <> 2"), 0);
    assert_string_equal(opened(claim()), password);
    assert_ok(operator_rewrap(&work, &count, &err), &err);
    assert_int_equal(count, 0);
}

/* A claimed mailbox is due again after its poll; a failure stays readable until a poll succeeds. */
static void test_one_process_polls(void **state)
{
    (void)state;
    struct error err;
    int64_t first = add(address);
    int64_t second = add("imaps://other@mail.example/INBOX");
    assert_int_equal(claim()->id, first);
    assert_int_equal(claim()->id, second);
    assert_null(claim());
    assert_ok(mailbox_polled(&work, first, "Login denied", 0, &err), &err);
    assert_ok(mailbox_polled(&work, second, NULL, 3600 * INT64_C(1000000), &err), &err);
    assert_int_equal(number_of("select count(*) from report_mailboxes where problem = 'Login denied' and polled_at is not null"),
                     1);
    assert_int_equal(claim()->id, first);
    assert_null(claim());
    assert_ok(operator_rotate_mailbox(&work, number(second), "another", writer(), &err), &err);
    struct mailbox_claim *rotated = claim();
    assert_int_equal(rotated->id, second);
    assert_string_equal(opened(rotated), "another");
    assert_ok(mailbox_polled(&work, first, NULL, 0, &err), &err);
    assert_int_equal(number_of("select count(*) from report_mailboxes where problem is not null"), 0);
}

/* The seconds until the next poll of a mailbox that was polled `ago` seconds before. */
static int64_t pause_after(int64_t id, int64_t ago, const char *problem)
{
    struct error err;
    run_sql("update report_mailboxes set polled_at = clock_timestamp() - interval '%lld s'", (long long)ago);
    assert_ok(mailbox_polled(&work, id, problem, 60 * INT64_C(1000000), &err), &err);
    return number_of("select round(extract(epoch from due_at - polled_at))::bigint from report_mailboxes");
}

/* The pause doubles while polls fail, up to a bound. */
static void test_pauses_after_failures(void **state)
{
    (void)state;
    int64_t id = add(address);
    assert_int_equal(pause_after(id, 100, NULL), 60);
    assert_int_equal(pause_after(id, 100, "Timeout was reached"), 60);
    assert_in_range(pause_after(id, 100, "Timeout was reached"), 200, 300);
    assert_int_equal(pause_after(id, 10, "Timeout was reached"), 60);
    assert_int_equal(pause_after(id, 5000, "Timeout was reached"), MAILBOX_PAUSE_MAX_S);
    assert_int_equal(pause_after(id, 5000, NULL), 60);
    assert_int_equal(pause_after(id, 5000, "Timeout was reached"), 60);
}

static void test_bounds(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    char *longest = arena_alloc(arena, MAILBOX_PASSWORD_MAX_BYTES + 2);
    memset(longest, 'x', MAILBOX_PASSWORD_MAX_BYTES + 1);
    longest[MAILBOX_PASSWORD_MAX_BYTES + 1] = '\0';
    assert_refused(address, longest, "secret");
    assert_refused(address, "", "secret");
    assert_refused(address, "a\rb", "secret");
    assert_refused("imaps://a@b/\xff", password, "address");
    int64_t id = add(address);
    assert_refused(address, password, "address");
    assert_false(operator_rotate_mailbox(&work, "0", password, writer(), &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_false(operator_remove_mailbox(&work, "one", writer(), &err));
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    run_sql("insert into report_mailboxes (organization_id, address, password, created_at, due_at)"
            " select 0, 'imaps://a@b/' || i, '', now(), now() from generate_series(1, %d) i",
            MAILBOXES_MAX - 1);
    assert_refused("imaps://a@b/one-too-many", password, "address");
    assert_ok(operator_remove_mailbox(&work, number(id), writer(), &err), &err);
    assert_int_equal(number_of("select count(*) from report_mailboxes"), MAILBOXES_MAX - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_passwords_are_sealed, begin, world_leave),
        cmocka_unit_test_setup_teardown(test_passwords_are_sealed_anew, begin, world_leave),
        cmocka_unit_test_setup_teardown(test_one_process_polls, begin, world_leave),
        cmocka_unit_test_setup_teardown(test_pauses_after_failures, begin, world_leave),
        cmocka_unit_test_setup_teardown(test_bounds, begin, world_leave),
    };
    return cmocka_run_group_tests(tests, world_begin, world_end);
}
