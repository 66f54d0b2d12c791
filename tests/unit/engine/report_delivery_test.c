/*
 * Notifications of providers with many events: they are recorded by few statements, and have the outcomes of events that are
 * recorded one after the other.
 */
#include "fixtures/engine_fixture.h"

#include "engine/compose/message_id.h"
#include "engine/provider_reports/receive.h"

enum { RECIPIENTS = 1200, MANY = 3000 };

static int64_t send_id;
static int64_t connection_id;

static int begin(void **state)
{
    int failed = world_reset(state);
    run_sql("delete from recipient_events; delete from report_counts; delete from suppressions; delete from report_events_seen;"
            "delete from contacts; delete from report_connections");
    return failed;
}

/* A send that was delivered to many recipients. */
static void make_send(void)
{
    int64_t email_id = design_of("<p>Hi</p>", "Hi\n");
    run_sql(
        "insert into sends (brand_id, kind, message_class, email_id, email_version_id, status, subject, subject_code, from_address,"
        "                   domain_id, target, target_hash, created_at, updated_at)"
        "select %lld, 'campaign', 'marketing', %lld, 1, 'completed', 'Hi', '', 'a@b.example', 1, 'all', '', now(), now()",
        (long long)work.brand_id, (long long)email_id);
    send_id = number_of("select max(id) from sends");
    run_sql("insert into send_stats (brand_id, send_id, delivered) values (%1$lld, %2$lld, %3$d);"
            "insert into send_recipients (brand_id, send_id, ordinal, email, email_key)"
            " select %1$lld, %2$lld, i, 'r' || i || '@one.example', 'r' || i || '@one.example' from generate_series(1, %3$d) i;"
            "insert into report_connections (organization_id, provider, name, verifier, created_at)"
            " values (%4$lld, 'sendgrid', 'x', '', now())",
            (long long)work.brand_id, (long long)send_id, RECIPIENTS, (long long)work.organization_id);
    connection_id = number_of("select max(id) from report_connections");
}

static struct provider_event event_of(enum report_kind kind, enum bounce_class bounce, int64_t ordinal, int number)
{
    const struct message_origin origin = { work.brand_id, send_id, ordinal };
    return (struct provider_event){
        .kind = kind,
        .bounce = bounce,
        .message_id = message_id_token(work.engine, work.arena, &origin),
        .diagnostic = "550 no",
        .id = arena_printf(work.arena, "event %d", number),
        .at_us = work.now_us,
    };
}

/* Records a notification; returns its round trips. */
static uint64_t apply(struct provider_event *events, size_t count, struct report_delivery_counts *ret_counts)
{
    struct report_delivery delivery = {
        .provider = "sendgrid",
        .connection_id = connection_id,
        .organization_id = work.organization_id,
        .events = { events, count },
    };
    struct error err;
    DB_TX tx;
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    uint64_t before = db_round_trips(conn);
    assert_ok(report_delivery_apply(&work, &delivery, ret_counts, &err), &err);
    uint64_t trips = db_round_trips(conn) - before;
    assert_ok(db_tx_commit(&tx, &err), &err);
    return trips;
}

static void assert_counts(const struct report_delivery_counts *counts, int64_t applied, int64_t repeated, int64_t noted,
                          int64_t unknown)
{
    assert_int_equal(counts->applied, applied);
    assert_int_equal(counts->repeated, repeated);
    assert_int_equal(counts->noted, noted);
    assert_int_equal(counts->unknown, unknown);
}

static void test_events_about_one_message_are_recorded_together(void **state)
{
    (void)state;
    make_send();
    struct provider_event *events = arena_array(work.arena, MANY, sizeof(*events));
    struct report_delivery_counts counts;
    for (int i = 0; i < MANY; i++)
        events[i] = event_of(i % 3 == 0 ? REPORT_UNSUBSCRIBE : REPORT_BOUNCE, BOUNCE_HARD, 1, i);
    assert_true(apply(events, MANY, &counts) <= 20);
    assert_counts(&counts, 2, MANY - 2, 0, 0);
    assert_int_equal(number_of("select sum(count)::bigint from report_counts"), MANY);
    assert_int_equal(number_of("select bounced from send_stats order by send_id desc limit 1"), 1);
    assert_int_equal(number_of("select count(*) from suppressions"), 1);
    /* The same notification again. */
    assert_true(apply(events, MANY, &counts) <= 20);
    assert_counts(&counts, 0, MANY, 0, 0);
    assert_int_equal(number_of("select sum(count)::bigint from report_counts"), MANY);
}

static void test_events_about_many_messages_are_recorded_together(void **state)
{
    (void)state;
    make_send();
    struct provider_event *events = arena_array(work.arena, RECIPIENTS + 2, sizeof(*events));
    struct report_delivery_counts counts;
    for (int i = 0; i < RECIPIENTS; i++)
        events[i] = event_of(REPORT_BOUNCE, BOUNCE_HARD, RECIPIENTS - i, i);
    events[RECIPIENTS] = event_of(REPORT_OTHER, BOUNCE_REFUSED, 1, RECIPIENTS);
    events[RECIPIENTS + 1] = event_of(REPORT_BOUNCE, BOUNCE_HARD, RECIPIENTS + 1, RECIPIENTS + 1); /* no such recipient */
    assert_true(apply(events, RECIPIENTS + 2, &counts) <= 30);
    assert_counts(&counts, RECIPIENTS, 0, 1, 1);
    assert_int_equal(number_of("select count(*) from suppressions where reason = 'bounce'"), RECIPIENTS);
    assert_int_equal(number_of("select count(*) from recipient_events where event_type = 'bounced'"), RECIPIENTS);
    assert_int_equal(number_of("select count from report_counts where brand_id = 0 and kind = 'bounce'"), 1);
    assert_int_equal(number_of("select count from report_counts where outcome = 'noted'"), 1);
    /* Other events about the same messages. */
    for (int i = 0; i < RECIPIENTS; i++)
        events[i] = event_of(REPORT_BOUNCE, BOUNCE_HARD, RECIPIENTS - i, 2 * RECIPIENTS + i);
    assert_true(apply(events, RECIPIENTS, &counts) <= 30);
    assert_counts(&counts, 0, RECIPIENTS, 0, 0);
}

/* The first event of a kind about a recipient decides, in the order of the notification. */
static void test_events_keep_their_order(void **state)
{
    (void)state;
    make_send();
    struct report_delivery_counts counts;
    struct provider_event events[] = {
        event_of(REPORT_BOUNCE, BOUNCE_BLOCK, 1, 1),        event_of(REPORT_BOUNCE, BOUNCE_HARD, 2, 2),
        event_of(REPORT_BOUNCE, BOUNCE_HARD, 1, 3), /* a repetition, which suppresses nobody */
        event_of(REPORT_BOUNCE, BOUNCE_BLOCK, 2, 4),        event_of(REPORT_COMPLAINT, BOUNCE_REFUSED, 2, 5),
        event_of(REPORT_UNSUBSCRIBE, BOUNCE_REFUSED, 2, 6),
    };
    apply(events, ARRAY_COUNT(events), &counts);
    assert_counts(&counts, 4, 2, 0, 0);
    assert_int_equal(number_of("select count(*) from suppressions"), 1);
    assert_int_equal(
        number_of("select count(*) from suppressions where reason = 'complaint' and unsubscribe_reason = 'unsubscribe'"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_events_about_one_message_are_recorded_together, begin, world_leave),
        cmocka_unit_test_setup_teardown(test_events_about_many_messages_are_recorded_together, begin, world_leave),
        cmocka_unit_test_setup_teardown(test_events_keep_their_order, begin, world_leave),
    };
    return cmocka_run_group_tests(tests, world_begin, world_end);
}
