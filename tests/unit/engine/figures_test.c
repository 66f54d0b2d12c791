/*
 * Statistics: after any sequence of results, the figures of a send equal its events,
 * results and retries, and the overview is the sum of the brand's events. The sequence
 * is random; its seed is printed, and POSTHORN_TEST_SEED repeats it.
 */
#include "fixtures/engine_fixture.h"

#include "base/text.h"
#include "engine/analytics/analytics.h"
#include "engine/core/short_tokens.h"
#include "engine/delivery/delivery.h"
#include "engine/events/recipient_events.h"
#include "engine/sends/sends.h"
#include "engine/subscriptions/subscriptions.h"

#include <inttypes.h>
#include <stdlib.h>

enum { CONTACTS = 620, SENDS = 3 };

static const char html[] = "<!DOCTYPE html><html><head><title>T</title></head><body><p>Hello</p></body></html>";
static const char *const event_types[] = { "sent", "delivered", "opened", "clicked", "bounced", "complained", "unsubscribed" };

static uint64_t random_state;

/* xorshift64*: the same course for the same seed on every machine. */
static unsigned draw(unsigned below)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (unsigned)((random_state * UINT64_C(2685821657736338717)) >> 33) % below;
}

static void choose_seed(void)
{
    const char *given = getenv("POSTHORN_TEST_SEED");
    random_state = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)clock_now_us();
    print_message("POSTHORN_TEST_SEED=%" PRIu64 "\n", random_state);
    random_state += random_state == 0;
}

/* ---- Reading as callers do ---- */

static const json_t *parsed(struct buf *out)
{
    struct error err;
    const json_t *json;
    struct json_bounds bounds = { .max_bytes = out->size };
    assert_ok(json_read(arena, buf_text(out), out->size, bounds, &json, &err), &err);
    return json;
}

static const json_t *read_send(int64_t send_id, bool with_events)
{
    struct error err;
    struct buf *out = buf_in_arena(arena, 1024 * 1024);
    struct json_writer writer;
    json_writer_init(&writer, out);
    assert_ok(send_get(&work, send_id, with_events, NULL, &writer, &err), &err);
    return parsed(out);
}

static const json_t *read_overview(void)
{
    struct error err;
    struct buf *out = buf_in_arena(arena, 1024 * 1024);
    struct json_writer writer;
    json_writer_init(&writer, out);
    struct window window = { .from_us = work.now_us - 24 * 3600 * US_PER_S, .to_us = work.now_us + 3600 * US_PER_S };
    assert_ok(analytics_overview(&work, window, &writer, &err), &err);
    return parsed(out);
}

/* Rows of the events feed, page by page. */
static int64_t count_feed(int64_t send_id, const char *event_type)
{
    struct error err;
    struct event_filter filter = {
        .send_id = send_id,
        .event_type = event_type,
        .window = { .from_us = work.now_us - 24 * 3600 * US_PER_S, .to_us = work.now_us + 3600 * US_PER_S },
    };
    const char *cursor = NULL;
    int64_t count = 0;
    do {
        struct buf *out = buf_in_arena(arena, 1024 * 1024);
        struct json_writer writer;
        json_writer_init(&writer, out);
        assert_ok(analytics_events(&work, &filter, 100, cursor, &writer, &err), &err);
        const json_t *page = parsed(out);
        count += (int64_t)json_array_size(json_object_get(page, "data"));
        cursor = json_get_text(json_object_get(page, "pagination"), "cursor");
    } while (cursor != NULL);
    return count;
}

static int64_t counted(const char *format, ...) PRINTF_LIKE(1, 2);
static int64_t counted(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *sql = arena_vprintf(arena, format, arguments);
    va_end(arguments);
    /* One statement for all texts: the text is a value of it. */
    run_sql("create or replace function pg_temp.counted() returns bigint language sql as 'select count(*) from %s'", sql);
    return number_of("select pg_temp.counted()");
}

static void assert_figure(const json_t *object, const char *name, int64_t wanted)
{
    int64_t value = json_get_int(object, name, -1);
    if (value != wanted)
        fail_msg("%s is %" PRId64 " instead of %" PRId64, name, value, wanted);
}

/* ---- What must always hold ---- */

static void assert_send_agrees(int64_t send_id)
{
    const json_t *send = read_send(send_id, false);
    const json_t *stats = json_object_get(send, "stats");
    const json_t *delivery = json_object_get(send, "delivery");
    long long id = (long long)send_id;
    for (size_t i = 0; i < ARRAY_COUNT(event_types); i++)
        assert_figure(stats, event_types[i], counted("events where send_id = %lld and event_type = ''%s''", id, event_types[i]));
    int64_t later = counted("recipient_events where send_id = %lld and event_type = ''bounced''", id);
    int64_t results = counted("send_results where send_id = %lld", id);
    assert_figure(delivery, "accepted", counted("send_results where send_id = %lld and outcome = ''delivered''", id));
    assert_figure(delivery, "delivered", counted("send_results where send_id = %lld and outcome = ''delivered''", id) - later);
    assert_figure(delivery, "bounced", counted("send_results where send_id = %lld and outcome = ''bounced''", id) + later);
    assert_figure(delivery, "delayed", counted("send_retries where send_id = %lld", id));
    assert_figure(delivery, "pending", json_get_int(send, "recipientCount", -1) - results);
}

/* The counts by receiving domain and source are those of the events. */
static void assert_rollups_agree(void)
{
    assert_int_equal(number_of("select count(*) from (select send_id, event_type, split_part(recipient_key, '@', 2) as domain,"
                               " (occurred_at at time zone 'UTC')::date as day, 'API' as source, count(*) as count from events"
                               " group by 1, 2, 3, 4) e full join event_rollups r on r.send_id = e.send_id"
                               " and r.event_type = e.event_type and r.receiving_domain = e.domain and r.day = e.day"
                               " and r.source = e.source where r.count is distinct from e.count"),
                     0);
}

static void assert_overview_agrees(void)
{
    const json_t *totals = json_object_get(read_overview(), "totals");
    for (size_t i = 0; i < ARRAY_COUNT(event_types); i++)
        assert_figure(totals, event_types[i], counted("events where event_type = ''%s''", event_types[i]));
}

/* ---- A course of events ---- */

static int64_t begin_send(void)
{
    struct error err;
    struct send_accepted accepted;
    bool begun;
    struct send_request order = {
        .email_id = design_of(html, "Hello"),
        .domain_id = number_of("select min(id) from domains where kind = 'sandbox'"),
        .audience = "all",
        .subject = "News",
    };
    assert_ok(send_create(&work, &order, &accepted, &err), &err);
    assert_ok(delivery_begin(&work, accepted.id, &begun, &err), &err);
    assert_true(begun);
    return accepted.id;
}

static void draw_result(struct delivery_result *result)
{
    static const char *const classes[] = { "hard", "block", "refused", "expired" };
    int64_t attempts = result->attempts + 1;
    unsigned fate = draw(100);
    if (fate < 50)
        *result = (struct delivery_result){ .outcome = DELIVERY_DELIVERED };
    else if (fate < 65)
        *result = (struct delivery_result){ .outcome = DELIVERY_BOUNCED, .reason = classes[draw(4)], .reply = "550 5.0.0 No" };
    else if (fate < 70)
        *result = (struct delivery_result){ .outcome = DELIVERY_SKIPPED, .reason = "suppressed" };
    else if (fate < 73)
        *result = (struct delivery_result){ .outcome = DELIVERY_FAILED, .reason = "The subject is too long." };
    else if (fate < 76)
        *result = (struct delivery_result){ .outcome = DELIVERY_HELD, .reason = "the final reply never came", .uncertain = true };
    else
        *result =
            (struct delivery_result){ .outcome = DELIVERY_LATER, .reply = "451 4.0.0 Later", .due_us = work.now_us - US_PER_S };
    result->attempts = attempts;
}

/* Takes a range or retries and settles them with random results. False when nothing is left. */
static bool go_on(void)
{
    struct error err;
    static const int64_t none[1];
    const int64_t captured[] = { DELIVERY_CAPTURED };
    struct delivery_lease_request wish = { .owner = "me", .places = { captured, 1 }, .full = { none, 0 }, .put_off = { none, 0 } };
    struct delivery_batch batch;
    bool found = false;
    if (draw(2) == 0)
        assert_ok(delivery_take_retries(&work, &wish, &batch, &found, &err), &err);
    if (!found)
        assert_ok(delivery_take_range(&work, &wish, &batch, &found, &err), &err);
    if (!found)
        assert_ok(delivery_take_retries(&work, &wish, &batch, &found, &err), &err);
    if (!found)
        return false;
    assert_ok(delivery_fetch(&work, &batch, &err), &err);
    for (size_t i = 0; i < batch.count; i++)
        if (batch.results[i].outcome != DELIVERY_SKIPPED)
            draw_result(&batch.results[i]);
    assert_ok(delivery_settle(&work, &batch, &err), &err);
    return true;
}

/* Recipients follow the unsubscribe link of a message, some of them twice. */
static void leave(int64_t send_id)
{
    struct error err;
    struct unsubscribe_link link = { .brand_id = work.brand_id, .send_id = send_id, .ordinal = 1 + (int64_t)draw(20) };
    const char *key = arena_printf(arena, "reader%lld@example.com", (long long)link.ordinal);
    address_hash(work.engine->address_key, key, link.address_hash);
    DB_TX tx;
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    assert_ok(subscription_leave(&work, &link, &err), &err);
    assert_ok(db_tx_commit(&tx, &err), &err);
}

/* A report of another mail system says that an accepted message bounced. */
static void bounce_later(int64_t send_id)
{
    struct error err;
    bool is_new;
    struct recipient_event event = {
        .send_id = send_id, .ordinal = 1 + (int64_t)draw(CONTACTS), .type = "bounced", .at_us = work.now_us
    };
    if (counted("send_results where send_id = %lld and ordinal = %lld and outcome = ''delivered''", (long long)send_id,
                (long long)event.ordinal) == 0)
        return;
    DB_TX tx;
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    assert_ok(recipient_events_record(&work, &event, 1, &is_new, &err), &err);
    assert_ok(db_tx_commit(&tx, &err), &err);
}

static void make_contacts(void)
{
    run_sql("insert into contacts (brand_id, email, email_key, source, subscribed, created_at, updated_at)"
            "select %lld, 'reader' || n || '@example.com', 'reader' || n || '@example.com', 'API', true, now(), now()"
            "  from generate_series(1, %d) n",
            (long long)work.brand_id, CONTACTS);
    run_sql("delete from recipient_events; delete from contact_activity; delete from event_rollups");
}

/* D-117 */
static void test_figures_are_those_of_the_events(void **state)
{
    (void)state;
    choose_seed();
    make_contacts();
    int64_t sends[SENDS];
    for (size_t i = 0; i < SENDS; i++)
        sends[i] = begin_send();
    while (go_on()) {
        if (draw(3) == 0)
            leave(sends[draw(SENDS)]);
        if (draw(2) == 0)
            bounce_later(sends[draw(SENDS)]);
        assert_send_agrees(sends[draw(SENDS)]);
    }
    int64_t recipients = 0;
    for (size_t i = 0; i < SENDS; i++) {
        assert_send_agrees(sends[i]);
        const json_t *send = read_send(sends[i], false);
        assert_figure(json_object_get(send, "delivery"), "pending", 0);
        recipients += json_get_int(send, "recipientCount", 0);
        for (size_t j = 0; j < ARRAY_COUNT(event_types); j++)
            assert_int_equal(count_feed(sends[i], event_types[j]),
                             json_get_int(json_object_get(send, "stats"), event_types[j], -1));
    }
    assert_int_equal(recipients, SENDS * CONTACTS);
    assert_int_equal(number_of("select count(*) from send_results"), SENDS * CONTACTS);
    assert_int_equal(number_of("select count(*) from sends where status = 'running'"), 0);
    assert_overview_agrees();
    assert_rollups_agree();
}

/* a recipient that waits for a retry is pending and delayed; after the end of the send no recipient waits. */
static void test_delayed_is_part_of_pending(void **state)
{
    (void)state;
    make_contacts();
    int64_t send_id = begin_send();
    const json_t *delivery = json_object_get(read_send(send_id, false), "delivery");
    assert_figure(delivery, "pending", CONTACTS);
    assert_figure(delivery, "delayed", 0);
    run_sql("insert into send_retries (brand_id, send_id, ordinal, attempts, first_at, due_at)"
            "select %lld, %lld, n, 1, now(), now() from generate_series(1, 7) n",
            (long long)work.brand_id, (long long)send_id);
    delivery = json_object_get(read_send(send_id, false), "delivery");
    assert_figure(delivery, "pending", CONTACTS);
    assert_figure(delivery, "delayed", 7);
    struct error err;
    assert_ok(delivery_give_up(&work, send_id, "Delivery stopped: no relay.", &err), &err);
    const json_t *send = read_send(send_id, false);
    delivery = json_object_get(send, "delivery");
    assert_string_equal(json_get_text(send, "error"), "Delivery stopped: no relay.");
    assert_figure(delivery, "pending", 0);
    assert_figure(delivery, "delayed", 0);
}

static const json_t *read_report(const char *what, int64_t send_id)
{
    struct short_tokens tokens = { .tool = "get_email_analytics" };
    work.short_tokens = &tokens;
    const json_t *report = what[0] == 's' ? read_send(send_id, false) : read_overview();
    work.short_tokens = NULL;
    return report;
}

/* D-56: the counts of opens and clicks are null only where no mail reports them. */
static void test_tracked_counts_are_numbers(void **state)
{
    (void)state;
    make_contacts();
    int64_t send_id = begin_send();
    assert_int_equal(json_array_size(json_object_get(read_report("send", send_id), "notTracked")), 2);
    assert_int_equal(json_array_size(json_object_get(read_report("overview", send_id), "notTracked")), 2);
    run_sql("update sends set is_tracked = true");
    const json_t *send = read_report("send", send_id);
    assert_null(json_object_get(send, "notTracked"));
    assert_figure(json_object_get(send, "stats"), "clicked", 0);
    const json_t *overview = read_report("overview", send_id);
    assert_null(json_object_get(overview, "notTracked"));
    assert_figure(json_object_get(overview, "totals"), "opened", 0);
}

/* the links of a report count recipients with a click of a person, not requests. */
static void test_links_of_a_send(void **state)
{
    (void)state;
    make_contacts();
    int64_t send_id = begin_send();
    assert_null(json_object_get(read_report("send", send_id), "links"));
    run_sql("insert into hits (brand_id, send_id, ordinal, kind, link, url, actor, method, agent, network, occurred_at)"
            "select %lld, %lld, t.ordinal, 'click', t.link, t.url, t.actor, 'GET', 'browser', 'other', now()"
            "  from (values (1, 0, 'https://a.example/', 'human'), (1, 0, 'https://a.example/', 'human'),"
            "               (1, 1, 'https://b.example/', 'human'), (2, 1, 'https://b.example/', 'human'),"
            "               (2, 0, 'https://a.example/', 'bot')) as t (ordinal, link, url, actor)",
            (long long)work.brand_id, (long long)send_id);
    const json_t *links = json_object_get(read_report("send", send_id), "links");
    assert_int_equal(json_array_size(links), 2);
    assert_string_equal(json_get_text(json_array_get(links, 0), "url"), "https://b.example/");
    assert_figure(json_array_get(links, 0), "clicked", 2);
    assert_figure(json_array_get(links, 1), "clicked", 1);
    assert_null(json_object_get(read_send(send_id, false), "links"));
    run_sql("delete from hits");
}

/* a first page of limited size, newest first, only events of this send and none of a test. */
static void test_events_of_a_send_are_bounded(void **state)
{
    (void)state;
    make_contacts();
    int64_t send_id = begin_send();
    assert_null(json_object_get(read_send(send_id, false), "events"));
    assert_int_equal(json_array_size(json_object_get(read_send(send_id, true), "events")), 0);
    run_sql("insert into events (brand_id, occurred_at, domain, event_type, recipient_email, recipient_key, send_id, mode)"
            "select %lld, now() - interval '1 s' * n, 'email', 'sent', 'r' || n || '@example.com', 'r' || n, %lld,"
            "       case n when 1 then 'test' else 'live' end"
            "  from generate_series(1, %d) n",
            (long long)work.brand_id, (long long)send_id, SEND_EVENTS_MAX + 5);
    const json_t *events = json_object_get(read_send(send_id, true), "events");
    assert_int_equal(json_array_size(events), SEND_EVENTS_MAX);
    assert_string_equal(json_get_text(json_array_get(events, 0), "recipientEmail"), "r2@example.com");
    assert_string_equal(json_get_text(json_array_get(events, 0), "eventType"), "sent");
    assert_string_equal(json_get_text(json_array_get(events, SEND_EVENTS_MAX - 1), "recipientEmail"),
                        arena_printf(arena, "r%d@example.com", SEND_EVENTS_MAX + 1));
}

/* ---- Figures of automations ---- */

enum { AUTOMATIONS = 200, DAYS = 50, ROLLUPS = 50, READS_OF_A_PAGE = 4 * (DAYS + ROLLUPS) };

/* Each automation has runs of many days, one of them in the window, and a carrier with mail to many domains. */
static void make_automations(void)
{
    run_sql("delete from automation_counts; delete from event_rollups; delete from automation_carriers; delete from automations");
    run_sql("insert into automations (brand_id, name, latest_version_id, created_at, updated_at)"
            " select %lld, 'Number ' || n, 0, timestamptz '2026-01-01' + n * interval '1 min', now() from generate_series(1, %d) n",
            (long long)work.brand_id, AUTOMATIONS);
    run_sql(
        "with made as ("
        "insert into sends (brand_id, kind, message_class, email_id, email_version_id, status, subject, subject_code, from_address,"
        " domain_id, target, target_hash, is_carrier, created_at, updated_at)"
        " select brand_id, 'automation', 'marketing', 1, 1, 'running', id::text, '', 'a@example.com', 1, 'inline', '', true, "
        "now(), now()"
        "  from automations returning brand_id, id, subject::bigint as automation_id"
        ") insert into automation_carriers (brand_id, version_id, node_id, send_id, automation_id)"
        " select brand_id, automation_id, 'hello', id, automation_id from made");
    run_sql("insert into automation_counts (brand_id, automation_id, day, kind, count)"
            " select brand_id, id, date '2026-01-10' - 30 * n, 'started', 2 from automations, generate_series(0, %d) n",
            DAYS - 1);
    run_sql("insert into event_rollups (brand_id, send_id, day, event_type, receiving_domain, count)"
            " select brand_id, send_id, date '2026-01-10', 'sent', 'd' || n, 1 from automation_carriers, generate_series(1, %d) n",
            ROLLUPS);
}

static int64_t rollups_read(void)
{
    number_of("select 1::bigint from (select pg_stat_force_next_flush()) as flushed");
    return number_of(
        "select (select sum(idx_tup_read)::bigint from pg_stat_user_indexes where relname in ('event_rollups', "
        "'automation_counts'))"
        " + (select sum(seq_tup_read)::bigint from pg_stat_user_tables where relname in ('event_rollups', 'automation_counts'))");
}

static const json_t *read_automations(const char *cursor)
{
    struct error err;
    struct buf *out = buf_in_arena(arena, 1024 * 1024);
    struct json_writer writer;
    struct window window = { .from_us = INT64_C(1767225600) * US_PER_S, .has_from = true, .has_to = true };
    window.to_us = window.from_us + INT64_C(86400) * 30 * US_PER_S;
    json_writer_init(&writer, out);
    assert_ok(analytics_automations(&work, window, 1, cursor, &writer, &err), &err);
    return parsed(out);
}

static const char *assert_page(const char *name, const json_t *page)
{
    const json_t *row = json_array_get(json_object_get(page, "data"), 0);
    assert_string_equal(json_get_text(row, "name"), name);
    assert_figure(row, "runs", 2);
    assert_figure(row, "sent", ROLLUPS);
    assert_figure(json_object_get(page, "totals"), "runs", 2 * AUTOMATIONS);
    assert_figure(json_object_get(page, "totals"), "sent", ROLLUPS * AUTOMATIONS);
    return json_get_text(json_object_get(page, "pagination"), "cursor");
}

/* The first page adds up all automations for the totals, the others only their own. So often that also a plan for any page is used. */
static void test_a_page_adds_up_its_automations(void **state)
{
    (void)state;
    make_automations();
    const char *cursor = assert_page("Number 200", read_automations(NULL));
    for (int i = 0; i < 10; i++) {
        int64_t before = rollups_read();
        assert_page("Number 199", read_automations(cursor));
        int64_t reads = rollups_read() - before;
        if (reads > READS_OF_A_PAGE)
            fail_msg("a page of one automation read %lld rows", (long long)reads);
        run_sql("analyze");
    }
}

/* One that was deleted is shown while it has runs or mail in the window. */
static void test_deleted_automations_have_figures(void **state)
{
    (void)state;
    make_automations();
    run_sql("update automations set deleted_at = now() where name <> 'Number 7'");
    assert_page("Number 200", read_automations(NULL));
    run_sql("delete from automation_counts where automation_id in (select id from automations where name in ('Number 199', 'Number "
            "200'));"
            "delete from event_rollups where send_id in (select k.send_id from automation_carriers k"
            " join automations a on a.id = k.automation_id where a.name in ('Number 200', 'Number 198'))");
    const json_t *page = read_automations(NULL);
    const char *const names[] = { "Number 199", "Number 198", "Number 197" };
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        assert_string_equal(json_get_text(json_array_get(json_object_get(page, "data"), 0), "name"), names[i]);
        page = read_automations(json_get_text(json_object_get(page, "pagination"), "cursor"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_figures_are_those_of_the_events),  TEST(test_delayed_is_part_of_pending),
        TEST(test_tracked_counts_are_numbers),       TEST(test_links_of_a_send),
        TEST(test_events_of_a_send_are_bounded),     TEST(test_a_page_adds_up_its_automations),
        TEST(test_deleted_automations_have_figures),
    };
    return cmocka_run_group_tests_name("engine_figures", tests, world_begin, world_end);
}
