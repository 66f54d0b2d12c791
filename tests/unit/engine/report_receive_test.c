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

/* Records reports together, as a group commit does; they are in the order of their brands. */
static void receive_all(struct receiving *const *receiving, size_t count)
{
    struct report_record **records = arena_array(work.arena, count, sizeof(struct report_record *));
    struct db_batch *batch = db_batch_new(conn, work.arena);
    struct error err;
    DB_TX tx;
    for (size_t i = 0; i < count; i++) {
        receiving[i]->received.source = "lmtp";
        report_identify(&work, receiving[i]);
        records[i] = &receiving[i]->record;
    }
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    report_records_ask(&work, records, count, batch);
    if (db_batch_count(batch) > 0)
        assert_ok(db_batch_run(batch, &err), &err);
    assert_ok(report_receive_all(&work, receiving, count, batch, &err), &err);
    assert_ok(db_tx_commit(&tx, &err), &err);
}

static struct report_record receive(struct received_report received)
{
    struct receiving receiving = { .received = received };
    receive_all((struct receiving *const[]){ &receiving }, 1);
    return receiving.record;
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
        struct report_record outcome = receive(reports[i]);
        assert_int_equal(outcome.outcome, i == 0 ? REPORT_APPLIED : REPORT_REPEATED);
        assert_int_equal(outcome.organization_id, work.organization_id);
        assert_memory_equal(&outcome.report.origin, &origin, sizeof(origin));
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
    struct report_record outcome = receive((struct received_report){ .kind = REPORT_OTHER, .return_path = address });
    assert_int_equal(outcome.report.kind, REPORT_UNSUBSCRIBE);
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

static struct receiving bounce_of(const struct message_origin *origin, int64_t ordinal, enum report_kind kind,
                                  enum bounce_class bounce)
{
    const struct message_origin message = { origin->brand_id, origin->send_id, ordinal };
    return (struct receiving){ .received = {
                                   .kind = kind,
                                   .bounce = bounce,
                                   .return_path =
                                       return_path_address(work.engine, work.arena, RETURN_PATH_BOUNCE, &message, "b.example"),
                                   .diagnostic = "452 later",
                               } };
}

/* Reports that share a transaction have the outcomes of reports that follow each other. */
static void test_reports_are_recorded_together(void **state)
{
    (void)state;
    const struct message_origin origin = make_send();
    run_sql("insert into send_recipients (brand_id, send_id, ordinal, email, email_key)"
            " select %lld, %lld, i, 'r' || i || '@one.example', 'r' || i || '@one.example' from generate_series(2, 5) i",
            (long long)origin.brand_id, (long long)origin.send_id);
    struct receiving unknown = { .received = { .kind = REPORT_BOUNCE, .bounce = BOUNCE_HARD, .diagnostic = "550 no" } };
    struct receiving reports[] = {
        unknown,
        bounce_of(&origin, 1, REPORT_BOUNCE, BOUNCE_HARD),
        bounce_of(&origin, 2, REPORT_BOUNCE, BOUNCE_MAILBOX_FULL),
        bounce_of(&origin, 3, REPORT_COMPLAINT, BOUNCE_REFUSED),
        bounce_of(&origin, 4, REPORT_DELAY, BOUNCE_REFUSED),
        bounce_of(&origin, 5, REPORT_BOUNCE, BOUNCE_BLOCK),
        bounce_of(&origin, 9, REPORT_BOUNCE, BOUNCE_HARD), /* no such recipient */
    };
    const enum report_outcome expected[] = { REPORT_UNKNOWN, REPORT_APPLIED, REPORT_APPLIED, REPORT_APPLIED,
                                             REPORT_NOTED,   REPORT_APPLIED, REPORT_UNKNOWN };
    struct receiving *all[ARRAY_COUNT(reports)];
    for (size_t i = 0; i < ARRAY_COUNT(reports); i++)
        all[i] = &reports[i];
    receive_all(all, ARRAY_COUNT(all));
    for (size_t i = 0; i < ARRAY_COUNT(reports); i++)
        assert_int_equal(reports[i].record.outcome, expected[i]);
    assert_int_equal(number_of("select count(*) from suppressions"), 3);
    assert_int_equal(number_of("select count(*) from suppressions where expires_at is null"), 2);
    assert_int_equal(number_of("select bounced * 10 + complained from send_stats"), 31);
    assert_int_equal(number_of("select sum(count)::bigint from report_counts where outcome = 'applied'"), 4);
    assert_int_equal(number_of("select sum(count)::bigint from report_counts where outcome = 'unknown' and brand_id = 0"), 2);
    assert_int_equal(number_of("select count(*) from unmatched_reports"), 2);
    receive_all(&all[1], 1);
    assert_int_equal(reports[1].record.outcome, REPORT_REPEATED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_return_paths, begin, world_leave),
        cmocka_unit_test_setup_teardown(test_finds_the_message, begin, world_leave),
        cmocka_unit_test_setup_teardown(test_unsubscribes_by_mail, begin, world_leave),
        cmocka_unit_test_setup_teardown(test_reports_are_recorded_together, begin, world_leave),
        cmocka_unit_test_setup_teardown(test_keeps_the_newest_without_a_message, begin, world_leave),
    };
    return cmocka_run_group_tests(tests, world_begin, world_end);
}
