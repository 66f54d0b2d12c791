/*
 * Reports that came as mail: the message is found by what this installation sealed, in any case of letters; forged reports change
 * nothing; the reports without a message are kept up to their bound.
 */
#include "fixtures/engine_fixture.h"

#include "base/text.h"
#include "engine/compose/return_path.h"
#include "engine/reports/receive.h"
#include "engine/subscriptions/link.h"

#include <ctype.h>

static int begin(void **state)
{
    int failed = world_reset(state);
    run_sql("delete from recipient_events; delete from report_counts; delete from suppressions; delete from unmatched_reports");
    return failed;
}

/* A send that was delivered to ada. */
static struct message_origin make_send(void)
{
    int64_t email_id = design_of("<p>Hi</p>", "Hi\n");
    run_sql(
        "insert into sends (brand_id, kind, message_class, email_id, email_version_id, status, subject, subject_code, from_address,"
        "                   domain_id, target, target_hash, created_at, updated_at)"
        "select %lld, 'campaign', 'marketing', %lld, 1, 'completed', 'Hi', '', 'a@b.example', 1, 'all', '', now(), now()",
        (long long)work.brand_id, (long long)email_id);
    int64_t send_id = number_of("select max(id) from sends");
    run_sql("insert into send_stats (brand_id, send_id, delivered) values (%1$lld, %2$lld, 1);"
            "insert into send_recipients (brand_id, send_id, ordinal, email, email_key) values"
            " (%1$lld, %2$lld, 1, 'ada@one.example', 'ada@one.example')",
            (long long)work.brand_id, (long long)send_id);
    return (struct message_origin){ work.brand_id, send_id, 1 };
}

static struct received_outcome receive(struct received_report received)
{
    struct received_outcome outcome;
    struct error err;
    DB_TX tx;
    received.source = "lmtp";
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    assert_ok(report_receive(&work, &received, &outcome, &err), &err);
    assert_ok(db_tx_commit(&tx, &err), &err);
    return outcome;
}

static char *upper(const char *text)
{
    char *copy = arena_dup(work.arena, text);
    for (char *at = copy; *at != '\0'; at++)
        *at = (char)toupper((unsigned char)*at);
    return copy;
}

/* RFC 5321 §4.5.3.1.1: 64 octets. The token is read in any case, and no other bit pattern is accepted. */
static void test_return_paths(void **state)
{
    (void)state;
    const struct message_origin origin = { INT64_C(1) << 40, INT64_C(1) << 47, INT64_C(1) << 39 };
    struct message_origin found;
    const char *address = return_path_address(work.engine, work.arena, RETURN_PATH_BOUNCE, &origin, "letters.example");
    assert_true(strcspn(address, "@") <= 64);
    assert_string_equal(text_lower(work.arena, address), address);
    assert_string_equal(strchr(address, '@'), "@bounce.letters.example");
    assert_int_equal(return_path_open(work.engine, work.arena, upper(address), &found), RETURN_PATH_BOUNCE);
    assert_memory_equal(&found, &origin, sizeof(origin));
    assert_int_equal(return_path_open(work.engine, work.arena, arena_printf(work.arena, "<%s>", address), &found),
                     RETURN_PATH_BOUNCE);
    for (size_t i = 0; i < RETURN_PATH_LOCAL_CHARS; i++) {
        char *forged = arena_dup(work.arena, address);
        forged[i] = forged[i] == 'a' ? 'b' : 'a';
        if (forged[i] != address[i])
            assert_int_equal(return_path_open(work.engine, work.arena, forged, &found), RETURN_PATH_NONE);
    }
    /* The address of unsubscribing is no return path with another letter. */
    char *other = arena_dup(work.arena, address);
    other[0] = 'u';
    assert_int_equal(return_path_open(work.engine, work.arena, other, &found), RETURN_PATH_NONE);
    assert_int_equal(return_path_open(work.engine, work.arena, "b", &found), RETURN_PATH_NONE);
    assert_int_equal(return_path_open(work.engine, work.arena, "", &found), RETURN_PATH_NONE);
}

/* The return path, the Message-ID, the link or the address of unsubscribing; each alone is enough. */
static void test_finds_the_message(void **state)
{
    (void)state;
    const struct message_origin origin = make_send();
    const char *token = message_id_token(work.engine, work.arena, &origin);
    const struct unsubscribe_link link = { .brand_id = origin.brand_id, .send_id = origin.send_id, .ordinal = 1 };
    const char *const ids[] = { "<other@b.example>", arena_printf(work.arena, "<%s@b.example>", token) };
    const char *url = arena_printf(work.arena, "<https://mail.example/u/%s>", unsubscribe_token(work.engine, work.arena, &link));
    const char *mailto = arena_printf(work.arena, "<https://x.example/>, <mailto:%s?subject=x>",
                                      return_path_address(work.engine, work.arena, RETURN_PATH_UNSUBSCRIBE, &origin, "b.example"));
    const struct received_report reports[] = {
        { .kind = REPORT_BOUNCE, .bounce = BOUNCE_HARD, .message_ids = { ids, ARRAY_COUNT(ids) } },
        { .kind = REPORT_BOUNCE, .bounce = BOUNCE_HARD, .list_unsubscribe = url },
        { .kind = REPORT_BOUNCE, .bounce = BOUNCE_HARD, .list_unsubscribe = mailto },
        { .kind = REPORT_BOUNCE,
          .bounce = BOUNCE_HARD,
          .return_path = return_path_address(work.engine, work.arena, RETURN_PATH_BOUNCE, &origin, "b.example") },
    };
    for (size_t i = 0; i < ARRAY_COUNT(reports); i++) {
        struct received_outcome outcome = receive(reports[i]);
        assert_int_equal(outcome.outcome, i == 0 ? REPORT_APPLIED : REPORT_REPEATED);
        assert_int_equal(outcome.organization_id, work.organization_id);
        assert_memory_equal(&outcome.origin, &origin, sizeof(origin));
    }
    assert_int_equal(number_of("select count(*) from unmatched_reports"), 0);
    assert_int_equal(number_of("select count(*) from suppressions"), 1);
}

/* D-124: a message to the address of unsubscribing unsubscribes; the answer of a machine to it does not. */
static void test_unsubscribes_by_mail(void **state)
{
    (void)state;
    const struct message_origin origin = make_send();
    const char *address = return_path_address(work.engine, work.arena, RETURN_PATH_UNSUBSCRIBE, &origin, "b.example");
    assert_int_equal(receive((struct received_report){ .kind = REPORT_AUTO_REPLY, .return_path = address }).outcome, REPORT_NOTED);
    assert_int_equal(number_of("select count(*) from suppressions"), 0);
    struct received_outcome outcome = receive((struct received_report){ .kind = REPORT_OTHER, .return_path = address });
    assert_int_equal(outcome.kind, REPORT_UNSUBSCRIBE);
    assert_int_equal(outcome.outcome, REPORT_APPLIED);
    assert_int_equal(number_of("select count(*) from suppressions where reason = 'unsubscribe'"), 1);
    const char *bounce = return_path_address(work.engine, work.arena, RETURN_PATH_BOUNCE, &origin, "b.example");
    assert_int_equal(receive((struct received_report){ .kind = REPORT_OTHER, .return_path = bounce }).outcome, REPORT_NOTED);
}

static void test_keeps_the_newest_without_a_message(void **state)
{
    (void)state;
    const struct received_report unknown = { .kind = REPORT_BOUNCE,
                                             .bounce = BOUNCE_HARD,
                                             .return_path = "bforged@bounce.b.example",
                                             .diagnostic = "550 no",
                                             .excerpt = "From:" };
    run_sql("insert into unmatched_reports (received_at, source, kind, excerpt)"
            " select now(), 'lmtp', 'other', i::text from generate_series(1, %d) i",
            UNMATCHED_REPORTS_MAX);
    assert_int_equal(receive(unknown).outcome, REPORT_UNKNOWN);
    assert_int_equal(number_of("select count(*) from unmatched_reports"), UNMATCHED_REPORTS_MAX);
    assert_int_equal(number_of("select count(*) from unmatched_reports where excerpt = '1'"), 0);
    assert_int_equal(number_of("select count(*) from unmatched_reports where bounce = 'hard' and diagnostic = '550 no'"), 1);
    assert_int_equal(number_of("select count(*) from suppressions"), 0);
    assert_int_equal(receive((struct received_report){ .kind = REPORT_AUTO_REPLY }).outcome, REPORT_UNKNOWN);
    assert_int_equal(number_of("select count(*) from unmatched_reports where kind = 'auto_reply'"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_return_paths, begin, world_leave),
        cmocka_unit_test_setup_teardown(test_finds_the_message, begin, world_leave),
        cmocka_unit_test_setup_teardown(test_unsubscribes_by_mail, begin, world_leave),
        cmocka_unit_test_setup_teardown(test_keeps_the_newest_without_a_message, begin, world_leave),
    };
    return cmocka_run_group_tests(tests, world_begin, world_end);
}
