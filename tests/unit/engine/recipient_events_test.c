/*
 * Events after the delivery, and reports about it: each counts once for a
 * recipient and a send, and all figures agree with the events.
 */
#include "fixtures/engine_fixture.h"

#include "base/clock.h"
#include "engine/events/recipient_events.h"
#include "engine/reports/reports.h"

static const int64_t at_us = INT64_C(1767225600) * US_PER_S; /* 2026-01-01 */

/* A send that was delivered to ada and bob, and refused for cyd. Returns its id. */
static int64_t make_send(void)
{
    int64_t email_id = design_of("<p>Hi</p>", "Hi\n");
    run_sql(
        "insert into sends (brand_id, kind, message_class, email_id, email_version_id, status, subject, subject_code, from_address,"
        "                   domain_id, target, target_hash, created_at, updated_at)"
        "select %lld, 'campaign', 'marketing', %lld, 1, 'completed', 'Hi', '', 'a@b.example', 1, 'all', '', now(), now()",
        (long long)work.brand_id, (long long)email_id);
    int64_t send_id = number_of("select max(id) from sends");
    run_sql("insert into send_stats (brand_id, send_id, accepted, sent, delivered, bounced) values (%1$lld, %2$lld, 2, 2, 2, 1);"
            "insert into send_recipients (brand_id, send_id, ordinal, email, email_key) values"
            " (%1$lld, %2$lld, 1, 'Ada@one.example', 'ada@one.example'), (%1$lld, %2$lld, 2, 'bob@two.example', 'bob@two.example'),"
            " (%1$lld, %2$lld, 3, 'cyd@two.example', 'cyd@two.example');"
            "insert into send_results (brand_id, send_id, ordinal, outcome, occurred_at) values"
            " (%1$lld, %2$lld, 1, 'delivered', '2026-01-01'), (%1$lld, %2$lld, 2, 'delivered', '2026-01-01'),"
            " (%1$lld, %2$lld, 3, 'bounced', '2026-01-01')",
            (long long)work.brand_id, (long long)send_id);
    return send_id;
}

static int begin(void **state)
{
    int failed = world_reset(state);
    run_sql("delete from recipient_events; delete from contact_activity; delete from event_rollups; delete from report_counts;"
            "delete from suppressions");
    return failed;
}

static void record(const struct recipient_event *events, size_t count, bool *ret_new)
{
    struct error err;
    DB_TX tx;
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    assert_ok(recipient_events_record(&work, events, count, ret_new, &err), &err);
    assert_ok(db_tx_commit(&tx, &err), &err);
}

/* R-288, D-116: one event a recipient and send, whatever is listed twice or recorded again, and equal figures. */
static void test_counts_once(void **state)
{
    (void)state;
    int64_t send_id = make_send();
    const struct recipient_event events[] = {
        { .send_id = send_id,
          .ordinal = 1,
          .type = "clicked",
          .at_us = at_us + 5,
          .url = "https://two.example/",
          .actor = "human" },
        { .send_id = send_id, .ordinal = 1, .type = "clicked", .at_us = at_us, .url = "https://one.example/", .actor = "human" },
        { .send_id = send_id, .ordinal = 2, .type = "opened", .at_us = at_us, .actor = "human" },
        { .send_id = send_id, .ordinal = 9, .type = "opened", .at_us = at_us, .actor = "human" },
        { .send_id = send_id, .ordinal = 3, .type = "bounced", .at_us = at_us },
    };
    bool is_new[ARRAY_COUNT(events)];
    record(events, ARRAY_COUNT(events), is_new);
    assert_false(is_new[0]);
    assert_true(is_new[1] && is_new[2]);
    assert_false(is_new[3] || is_new[4]);
    record(events, ARRAY_COUNT(events), is_new);
    assert_false(is_new[1] || is_new[2]);
    assert_int_equal(number_of("select count(*) from events"), 2);
    assert_int_equal(number_of("select count(*) from events where event_type = 'clicked' and url = 'https://one.example/'"
                               " and actor = 'human' and recipient_email = 'Ada@one.example'"),
                     1);
    assert_int_equal(number_of("select clicked * 100 + opened * 10 + bounced from send_stats"), 111);
    assert_int_equal(number_of("select sum(count)::bigint from event_counts where event_type in ('clicked', 'opened')"), 2);
    assert_int_equal(number_of("select sum(count)::bigint from contact_activity"), 2);
    assert_int_equal(number_of("select count from event_rollups where event_type = 'opened' and receiving_domain = 'two.example'"),
                     1);
}

static enum report_outcome report_of(enum report_kind kind, enum bounce_class bounce, int64_t send_id, int64_t ordinal,
                                     int64_t when_us)
{
    struct report report = {
        .kind = kind,
        .bounce = bounce,
        .is_matched = true,
        .origin = { .brand_id = work.brand_id, .send_id = send_id, .ordinal = ordinal },
        .source = "command",
        .diagnostic = "550 no",
        .at_us = when_us,
    };
    enum report_outcome outcome;
    struct error err;
    DB_TX tx;
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    assert_ok(report_record(&work, &report, &outcome, &err), &err);
    assert_ok(db_tx_commit(&tx, &err), &err);
    return outcome;
}

/* D-117, D-118: a later bounce suppresses by its class and leaves the delivered count; a repetition changes nothing. */
static void test_reports(void **state)
{
    (void)state;
    int64_t send_id = make_send();
    assert_int_equal(report_of(REPORT_BOUNCE, BOUNCE_BLOCK, send_id, 1, at_us), REPORT_APPLIED);
    assert_int_equal(number_of("select count(*) from suppressions"), 0);
    assert_int_equal(report_of(REPORT_BOUNCE, BOUNCE_BLOCK, send_id, 1, at_us), REPORT_REPEATED);
    assert_int_equal(number_of("select delivered * 100 + bounced * 10 + bounced_later from send_stats"), 221);
    assert_int_equal(report_of(REPORT_BOUNCE, BOUNCE_MAILBOX_FULL, send_id, 2, at_us), REPORT_APPLIED);
    assert_int_equal(number_of("select count(*) from suppressions where expires_at = '2026-01-15'"), 1);
    assert_int_equal(report_of(REPORT_COMPLAINT, BOUNCE_HARD, send_id, 2, at_us), REPORT_APPLIED);
    assert_int_equal(number_of("select count(*) from suppressions where reason = 'complaint' and expires_at is null"), 1);
    assert_int_equal(report_of(REPORT_AUTO_REPLY, BOUNCE_HARD, send_id, 2, at_us), REPORT_NOTED);
    assert_int_equal(report_of(REPORT_BOUNCE, BOUNCE_HARD, send_id, 9, at_us), REPORT_UNKNOWN);
    assert_int_equal(report_of(REPORT_BOUNCE, BOUNCE_HARD, send_id, 3, at_us + INT64_C(31) * 86400 * US_PER_S), REPORT_LATE);
    assert_int_equal(number_of("select count(*) from suppressions"), 1);
    run_sql("delete from suppressions");
    assert_int_equal(report_of(REPORT_COMPLAINT, BOUNCE_HARD, send_id, 2, at_us), REPORT_REPEATED);
    assert_int_equal(number_of("select count(*) from suppressions"), 0);
    assert_int_equal(report_of(REPORT_UNSUBSCRIBE, BOUNCE_HARD, send_id, 1, at_us + INT64_C(90) * 86400 * US_PER_S),
                     REPORT_APPLIED);
    assert_int_equal(number_of("select count(*) from suppressions where reason = 'unsubscribe'"), 1);
    assert_int_equal(number_of("select sum(count)::bigint from report_counts"), 9);
    assert_int_equal(number_of("select count from report_counts where brand_id = 0 and outcome = 'unknown'"), 1);
}

/* a report repeats the refusal at the delivery, so it does not suppress an address that was released since. */
static void test_a_report_of_a_refused_message(void **state)
{
    (void)state;
    int64_t send_id = make_send();
    assert_int_equal(report_of(REPORT_BOUNCE, BOUNCE_HARD, send_id, 3, at_us), REPORT_REPEATED);
    assert_int_equal(number_of("select count(*) from suppressions"), 0);
    assert_int_equal(report_of(REPORT_COMPLAINT, BOUNCE_HARD, send_id, 3, at_us), REPORT_APPLIED);
    assert_int_equal(number_of("select count(*) from suppressions where reason = 'complaint'"), 1);
    assert_int_equal(number_of("select bounced * 10 + bounced_later from send_stats"), 10);
}

/* D-117: the newest delay of a recipient is kept beside the result; a result that is missing gets none. */
static void test_delays_are_kept(void **state)
{
    (void)state;
    int64_t send_id = make_send();
    run_sql("delete from send_results; insert into send_results (brand_id, send_id, ordinal, outcome, occurred_at)"
            " values (%1$lld, %2$lld, 1, 'delivered', now()), (%1$lld, %2$lld, 2, 'delivered', now())",
            (long long)work.brand_id, (long long)send_id);
    assert_int_equal(report_of(REPORT_DELAY, BOUNCE_HARD, send_id, 1, at_us), REPORT_NOTED);
    assert_int_equal(report_of(REPORT_DELAY, BOUNCE_HARD, send_id, 1, at_us - US_PER_S), REPORT_NOTED);
    assert_int_equal(report_of(REPORT_DELAY, BOUNCE_HARD, send_id, 3, at_us), REPORT_NOTED);
    assert_int_equal(report_of(REPORT_AUTO_REPLY, BOUNCE_HARD, send_id, 2, at_us), REPORT_NOTED);
    assert_int_equal(number_of("select count(*) from send_results where delayed_at is not null"), 1);
    assert_int_equal(
        number_of("select (extract(epoch from delayed_at) * 1000000)::bigint from send_results where delay = '550 no'"), at_us);

    /* Several of one message: the newest, wherever it stands. */
    const struct message_origin origin = { work.brand_id, send_id, 1 };
    const struct reported_delay delays[] = { { origin, "old", at_us + 1 },
                                             { origin, NULL, at_us + 3 },
                                             { origin, "older", at_us + 2 } };
    struct error err;
    assert_ok(report_delays_keep(&work, delays, ARRAY_COUNT(delays), &err), &err);
    assert_int_equal(number_of("select (extract(epoch from delayed_at) * 1000000)::bigint from send_results where ordinal = 1"),
                     at_us + 3);
    assert_int_equal(number_of("select count(*) from send_results where delay is not null"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_counts_once, begin, world_leave),
        cmocka_unit_test_setup_teardown(test_reports, begin, world_leave),
        cmocka_unit_test_setup_teardown(test_a_report_of_a_refused_message, begin, world_leave),
        cmocka_unit_test_setup_teardown(test_delays_are_kept, begin, world_leave),
    };
    return cmocka_run_group_tests(tests, world_begin, world_end);
}
