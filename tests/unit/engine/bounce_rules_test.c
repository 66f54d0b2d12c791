/*
 * Bounce rules of the operator: the first one whose pattern is in the diagnostic of a report decides the class of the bounce.
 */
#include "fixtures/engine_fixture.h"

#include "engine/operator/operator_bounce_rules.h"
#include "engine/reports/receive.h"

static int64_t send_id;

/* A send that was delivered to several recipients. */
static int begin(void **state)
{
    int failed = world_reset(state);
    run_sql("delete from recipient_events; delete from report_counts; delete from suppressions; delete from bounce_rules;"
            "delete from audit_log; delete from unmatched_reports");
    int64_t email_id = design_of("<p>Hi</p>", "Hi\n");
    run_sql(
        "insert into sends (brand_id, kind, message_class, email_id, email_version_id, status, subject, subject_code, from_address,"
        "                   domain_id, target, target_hash, created_at, updated_at)"
        "select %lld, 'campaign', 'marketing', %lld, 1, 'completed', 'Hi', '', 'a@b.example', 1, 'all', '', now(), now()",
        (long long)work.brand_id, (long long)email_id);
    send_id = number_of("select max(id) from sends");
    run_sql(
        "insert into send_stats (brand_id, send_id, delivered) values (%1$lld, %2$lld, 9);"
        "insert into send_recipients (brand_id, send_id, ordinal, email, email_key)"
        " select %1$lld, %2$lld, i, 'reader' || i || '@one.example', 'reader' || i || '@one.example' from generate_series(1, 9) i",
        (long long)work.brand_id, (long long)send_id);
    return failed;
}

static void report_of(enum report_kind kind, int64_t ordinal, enum bounce_class bounce, const char *diagnostic)
{
    const struct report report = {
        .kind = kind,
        .bounce = bounce,
        .is_matched = true,
        .origin = { work.brand_id, send_id, ordinal },
        .source = "lmtp",
        .diagnostic = diagnostic,
        .at_us = work.now_us,
    };
    enum report_outcome outcome;
    struct error err;
    DB_TX tx;
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    assert_ok(report_record(&work, &report, &outcome, &err), &err);
    assert_ok(db_tx_commit(&tx, &err), &err);
    assert_int_equal(outcome, REPORT_APPLIED);
}

static struct json_writer *writer(void)
{
    struct json_writer *json = arena_alloc(arena, sizeof(*json));
    json_writer_init(json, buf_in_arena(arena, 1024 * 1024));
    return json;
}

static void add(const char *pattern, const char *class_name)
{
    struct error err;
    assert_ok(operator_add_bounce_rule(&work, pattern, class_name, writer(), &err), &err);
}

static void assert_refused(const char *pattern, const char *class_name, const char *param)
{
    struct error err = { .code = ERR_NONE };
    assert_false(operator_add_bounce_rule(&work, pattern, class_name, writer(), &err));
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    assert_string_equal(err.param, param);
}

/* The statement of number_of is a literal. */
#define suppressed(condition) number_of("select count(*) from suppressions where " condition)

/* D-118: without a match the class stays. A match replaces it, whatever the case of letters; the oldest rule decides. */
static void test_first_match_decides(void **state)
{
    (void)state;
    report_of(REPORT_BOUNCE, 1, BOUNCE_HARD, "550 Content Policy, code 77");
    assert_int_equal(suppressed("expires_at is null"), 1);
    add("Content POLICY", "block");
    add("code 77", "hard");
    add("100% over", "mailbox_full");
    report_of(REPORT_BOUNCE, 2, BOUNCE_HARD, "550 content pOLICY, code 77");
    assert_int_equal(suppressed("true"), 1);
    report_of(REPORT_BOUNCE, 3, BOUNCE_REFUSED, "550 Code 77");
    assert_int_equal(suppressed("expires_at is null"), 2);
    report_of(REPORT_BOUNCE, 4, BOUNCE_REFUSED, "mailbox 100% over its size");
    assert_int_equal(suppressed("expires_at is not null"), 1);
    report_of(REPORT_BOUNCE, 5, BOUNCE_REFUSED, "mailbox 100 and over");
    report_of(REPORT_BOUNCE, 6, BOUNCE_REFUSED, NULL);
    assert_int_equal(suppressed("true"), 3);
    /* A complaint has no class. */
    report_of(REPORT_COMPLAINT, 7, BOUNCE_HARD, "content policy");
    assert_int_equal(suppressed("reason = 'complaint' and expires_at is null"), 1);
}

static void test_removed_rules_do_not_decide(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    add("content policy", "block");
    const char *id = arena_printf(arena, "%lld", (long long)number_of("select id from bounce_rules"));
    assert_false(operator_remove_bounce_rule(&work, "0", writer(), &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_false(operator_remove_bounce_rule(&work, "first", writer(), &err));
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    assert_ok(operator_remove_bounce_rule(&work, id, writer(), &err), &err);
    report_of(REPORT_BOUNCE, 1, BOUNCE_HARD, "550 content policy");
    assert_int_equal(suppressed("expires_at is null"), 1);
    assert_int_equal(number_of("select count(*) from audit_log where operation like 'admin.bounce-rule.%'"), 2);
}

static void test_bounds(void **state)
{
    (void)state;
    char longest[BOUNCE_PATTERN_MAX_CHARS + 2];
    memset(longest, 'x', sizeof(longest));
    longest[sizeof(longest) - 1] = '\0';
    assert_refused(longest, "hard", "pattern");
    longest[sizeof(longest) - 2] = '\0';
    add(longest, "hard");
    assert_refused("abc", "hard", "pattern");
    assert_refused("  a    ", "hard", "pattern");
    assert_refused("\xff\xff\xff\xff", "hard", "pattern");
    assert_refused("content policy", "soft", "class");
    add("content policy", "hard");
    assert_refused("Content Policy", "block", "pattern");
    run_sql("insert into bounce_rules (organization_id, pattern, class, created_at)"
            " select 0, 'pattern ' || i, 'hard', now() from generate_series(1, %d) i",
            BOUNCE_RULES_MAX - 2);
    assert_refused("one too many", "hard", "pattern");
    assert_int_equal(number_of("select count(*) from bounce_rules"), BOUNCE_RULES_MAX);
    struct json_writer *json = writer();
    struct error err;
    assert_ok(bounce_rules_write(&work, json, &err), &err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_first_match_decides, begin, world_leave),
        cmocka_unit_test_setup_teardown(test_removed_rules_do_not_decide, begin, world_leave),
        cmocka_unit_test_setup_teardown(test_bounds, begin, world_leave),
    };
    return cmocka_run_group_tests(tests, world_begin, world_end);
}
