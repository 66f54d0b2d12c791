/*
 * Explanation of one delivery: every decision about one person, from the audience to
 * the last SMTP reply. The test writes the rows of each state directly, and the
 * explanation must differ for each state.
 */
#include "fixtures/engine_fixture.h"

#include "base/text.h"
#include "engine/delivery/delivery.h"
#include "engine/sends/explain.h"
#include "engine/sends/sends.h"

static const char html[] = "<!DOCTYPE html><html><head><title>T</title></head><body><p>Hello</p></body></html>";

static void make_contact(const char *email)
{
    run_sql("insert into contacts (brand_id, email, email_key, source, subscribed, created_at, updated_at)"
            "values (%lld, '%s', '%s', 'API', true, now() - interval '1 day', now() - interval '1 day')",
            (long long)work.brand_id, email, email);
}

static void suppress(const char *key, const char *reason, const char *since)
{
    unsigned char hash[SECRET_HASH_BYTES];
    char hex[2 * sizeof(hash) + 1];
    address_hash(work.engine->address_key, key, hash);
    hex_encode(hash, sizeof(hash), hex);
    run_sql("insert into suppressions (brand_id, address_hash, reason, created_at) values (%lld, '\\x%s', '%s', %s)",
            (long long)work.brand_id, hex, reason, since);
}

static int64_t send_to(const char *audience, const char *inline_address, int64_t *ret_email_id)
{
    struct error err;
    struct send_accepted accepted;
    *ret_email_id = design_of(html, "Hello");
    struct send_request order = {
        .email_id = *ret_email_id,
        .domain_id = number_of("select min(id) from domains where kind = 'sandbox'"),
        .audience = audience,
        .to = { &inline_address, inline_address != NULL },
        .subject = "News",
    };
    if (inline_address == NULL)
        order.to.items = NULL;
    assert_ok(send_create(&work, &order, &accepted, &err), &err);
    return accepted.id;
}

static int64_t send_to_all(void)
{
    int64_t email_id;
    return send_to("all", NULL, &email_id);
}

static void begin(int64_t send_id)
{
    struct error err;
    bool begun;
    assert_ok(delivery_begin(&work, send_id, &begun, &err), &err);
    assert_true(begun);
}

/* From here on the explanation contains the reply of a relay, not the note about simulation. */
static void leave_sandbox(void)
{
    run_sql("insert into domains (brand_id, organization_id, name, kind, status, sending_purpose, created_at, updated_at)"
            "values (%lld, %lld, 'shop.example', 'sending', 'verified', 'marketing', now(), now());"
            "update sends set domain_id = (select id from domains where name = 'shop.example')",
            (long long)work.brand_id, (long long)work.organization_id);
}

/* ---- Asking ---- */

static const json_t *why(const char *email, int64_t send_id)
{
    struct error err;
    struct buf *out = buf_in_arena(arena, 1024 * 1024);
    struct json_writer writer;
    json_writer_init(&writer, out);
    assert_ok(send_why(&work, email, send_id, &writer, &err), &err);
    const json_t *answer;
    struct json_bounds bounds = { .max_bytes = out->size };
    assert_ok(json_read(arena, buf_text(out), out->size, bounds, &answer, &err), &err);
    return answer;
}

static const json_t *first_send(const json_t *answer)
{
    const json_t *send = json_array_get(json_object_get(answer, "sends"), 0);
    assert_non_null(send);
    return send;
}

static void assert_says(const json_t *object, const char *part)
{
    const char *summary = json_get_text(object, "summary");
    if (summary == NULL || strstr(summary, part) == NULL)
        fail_msg("\"%s\" is not in: %s", part, summary);
}

static void assert_member(const json_t *object, const char *name, const char *wanted)
{
    const char *value = json_get_text(object, name);
    if (value == NULL || strcmp(value, wanted) != 0)
        fail_msg("%s is %s instead of %s", name, value != NULL ? value : "absent", wanted);
}

/* ---- The person ---- */

static void test_unknown_address_is_told_plainly(void **state)
{
    (void)state;
    make_contact("ada@example.com");
    begin(send_to_all());
    const json_t *answer = why(" nobody@Example.COM ", 0);
    assert_member(answer, "email", "nobody@example.com");
    assert_false(json_get_bool(answer, "known", true));
    assert_says(answer, "Unknown: no contact");
    assert_int_equal(json_array_size(json_object_get(answer, "sends")), 0);
    assert_true(json_is_null(json_object_get(answer, "contact")));

    /* Of a send that was named the reason is told all the same. */
    const json_t *send = first_send(why("nobody@example.com", number_of("select id from sends")));
    assert_says(send, "Not mailed: no contact of the brand has this address.");
}

static void test_person_as_they_are_now(void **state)
{
    (void)state;
    make_contact("ada@example.com");
    assert_says(why("ada@example.com", 0), "Subscribed; the address is not suppressed.");
    run_sql("insert into contact_validations (brand_id, contact_id, status, reason, checked_at)"
            "select brand_id, id, 'invalid', 'no_mail', '2026-01-05T00:00:00Z' from contacts;"
            "insert into contact_activity values (%lld, 'opened', 'ada@example.com', '2026-01-02', 2),"
            "(%lld, 'opened', 'ada@example.com', '2026-01-04', 3)",
            (long long)work.brand_id, (long long)work.brand_id);
    const json_t *answer = why("ada@example.com", 0);
    assert_says(answer, "found invalid (no_mail) on 2026-01-05T00:00:00.000Z");
    const json_t *contact = json_object_get(answer, "contact");
    assert_member(json_object_get(contact, "validation"), "status", "invalid");
    const json_t *opened = json_array_get(json_object_get(answer, "activity"), 0);
    assert_int_equal(json_get_int(opened, "count", 0), 5);
    assert_member(opened, "lastDay", "2026-01-04");

    suppress("ada@example.com", "bounce", "'2026-01-06T00:00:00Z'");
    answer = why("ada@example.com", 0);
    assert_says(answer, "suppressed (bounce) since 2026-01-06T00:00:00.000Z");
    assert_member(json_object_get(answer, "suppression"), "reason", "bounce");
    run_sql("update suppressions set reason = 'unsubscribe'; update contacts set subscribed = false");
    assert_says(why("ada@example.com", 0), "Receives no campaigns: unsubscribed on 2026-01-06T00:00:00.000Z.");
    run_sql("delete from contact_activity");
}

static void test_refused(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct json_writer writer;
    json_writer_init(&writer, buf_in_arena(arena, 4096));
    assert_false(send_why(&work, "nobody", 0, &writer, &err));
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    assert_string_equal(err.param, "email");
    assert_false(send_why(&work, "ada@example.com", 4711, &writer, &err));
    assert_int_equal(err.code, ERR_SEND_NOT_FOUND);
}

/* ---- Before delivery ---- */

static void test_a_send_that_has_not_begun(void **state)
{
    (void)state;
    make_contact("ada@example.com");
    int64_t send_id = send_to_all();
    assert_says(first_send(why("ada@example.com", send_id)), "about to begin");
    run_sql("update sends set status = 'scheduled', scheduled_at = '2027-01-01T00:00:00Z'");
    assert_says(first_send(why("ada@example.com", send_id)), "scheduled for 2027-01-01T00:00:00.000Z");
    run_sql("update sends set status = 'paused', pause_reason = 'plan_limit'");
    assert_says(first_send(why("ada@example.com", send_id)), "until the plan's allowance suffices");
    run_sql("update sends set status = 'canceled', pause_reason = null");
    assert_says(first_send(why("ada@example.com", send_id)), "canceled before it began");
    run_sql("update sends set status = 'failed', error = 'The design is gone.'");
    assert_says(first_send(why("ada@example.com", send_id)), "failed before it began: The design is gone.");
}

static void test_who_was_left_out(void **state)
{
    (void)state;
    make_contact("ada@example.com");
    make_contact("left@example.com");
    run_sql("update contacts set subscribed = false where email = 'left@example.com'");
    suppress("left@example.com", "unsubscribe", "now() - interval '1 hour'");
    make_contact("then-away@example.com");
    run_sql("update contacts set subscribed = false where email = 'then-away@example.com'");
    int64_t send_id = send_to_all();
    begin(send_id);
    run_sql("update contacts set subscribed = true where email = 'then-away@example.com'");
    make_contact("late@example.com");
    run_sql("update contacts set created_at = now() + interval '1 hour' where email = 'late@example.com'");

    const json_t *left = first_send(why("left@example.com", 0));
    assert_false(json_get_bool(left, "isRecipient", true));
    assert_says(left, "Not mailed: unsubscribed on ");
    assert_says(left, ", before the send began at ");
    assert_says(first_send(why("late@example.com", 0)), "Not mailed: the contact was created at ");
    assert_says(first_send(why("then-away@example.com", 0)), "subscribed when it began");
    run_sql("insert into audiences (brand_id, name, filters, created_at, updated_at) values (%lld, 'Readers', '[]', now(), now());"
            "update sends set target = 'audience', audience_id = (select max(id) from audiences)",
            (long long)work.brand_id);
    assert_says(first_send(why("then-away@example.com", 0)), "not a subscribed member of the audience Readers when");
    run_sql("update sends set target = 'inline', inline_keys = '{ada@example.com}'");
    assert_says(first_send(why("then-away@example.com", 0)), "not in the send's list");
}

/* ---- Delivery ---- */

static void test_a_recipient_on_the_way(void **state)
{
    (void)state;
    make_contact("ada@example.com");
    int64_t send_id = send_to_all();
    begin(send_id);
    leave_sandbox();
    const json_t *send = first_send(why("ada@example.com", 0));
    assert_true(json_get_bool(send, "isRecipient", false));
    assert_int_equal(json_get_int(send, "ordinal", 0), 1);
    assert_says(send, "Queued in the running send");
    run_sql("update send_ranges set lease_owner = 'me', started_at = now()");
    assert_says(first_send(why("ada@example.com", 0)), "Being sent now.");

    run_sql("update send_ranges set lease_owner = null, next_ordinal = to_ordinal + 1;"
            "insert into send_retries (brand_id, send_id, ordinal, attempts, first_at, due_at, reply, relay)"
            "values (%lld, %lld, 1, 2, '2026-01-01T00:00:00Z', '2026-01-01T00:05:00Z', '451 4.7.1 Later', 'relay.example:25')",
            (long long)work.brand_id, (long long)send_id);
    send = first_send(why("ada@example.com", 0));
    assert_member(send, "outcome", "waiting");
    assert_int_equal(json_get_int(send, "attempts", 0), 2);
    assert_member(send, "nextAttemptAt", "2026-01-01T00:05:00.000Z");
    assert_says(
        send, "Waiting after 2 attempts; the last one was deferred by relay relay.example:25: 451 4.7.1 Later. Next attempt: 2026");
    run_sql("update send_retries set lease_owner = 'me', uncertain = true");
    send = first_send(why("ada@example.com", 0));
    assert_says(send, "retried now. (an earlier attempt may have arrived as well");
    assert_true(json_get_bool(send, "uncertain", false));

    run_sql("delete from send_retries; update sends set status = 'failed', error = 'Delivery stopped: damaged.'");
    assert_says(first_send(why("ada@example.com", 0)), "Not mailed: the send is failed. Delivery stopped: damaged.");
}

static void decide(int64_t send_id, const char *outcome, const char *reason, const char *reply, const char *relay)
{
    run_sql(
        "delete from send_results; insert into send_results (brand_id, send_id, ordinal, outcome, reason, reply, relay, attempts,"
        " occurred_at) values (%lld, %lld, 1, '%s', %s, %s, %s, 3, '2026-01-01T00:00:00Z')",
        (long long)work.brand_id, (long long)send_id, outcome, reason, reply, relay);
}

static void test_every_outcome_has_its_sentence(void **state)
{
    (void)state;
    make_contact("ada@example.com");
    int64_t send_id = send_to_all();
    begin(send_id);
    decide(send_id, "delivered", "null", "null", "null");
    const json_t *send = first_send(why("ada@example.com", 0));
    assert_says(send, "Captured in the outbox at 2026-01-01T00:00:00.000Z; simulated");
    assert_true(json_get_bool(send, "simulated", false));

    leave_sandbox();
    decide(send_id, "delivered", "null", "'250 2.0.0 Ok'", "'relay.example:25'");
    send = first_send(why("ada@example.com", 0));
    assert_says(send, "Delivered at 2026-01-01T00:00:00.000Z by relay relay.example:25: 250 2.0.0 Ok");
    assert_null(json_object_get(send, "simulated"));
    assert_member(send, "relay", "relay.example:25");
    assert_member(send, "reply", "250 2.0.0 Ok");
    run_sql("update send_results set uncertain = true");
    assert_says(first_send(why("ada@example.com", 0)), "may have arrived as well");

    decide(send_id, "bounced", "'hard'", "'550 5.1.1 No such user'", "'relay.example:25'");
    assert_says(first_send(why("ada@example.com", 0)), "Permanently rejected (hard) at 2026-01-01T00:00:00.000Z by relay");
    decide(send_id, "bounced", "'expired'", "'451 4.7.1 Later'", "'relay.example:25'");
    assert_says(first_send(why("ada@example.com", 0)), "Given up after 3 attempts at ");
    decide(send_id, "failed", "'The subject is too long.'", "null", "null");
    assert_says(first_send(why("ada@example.com", 0)), "could not be composed: The subject is too long.");
    decide(send_id, "held", "'the final reply never came'", "null", "null");
    assert_says(first_send(why("ada@example.com", 0)), "May have arrived and is not sent again");
    decide(send_id, "skipped", "'suppressed'", "null", "null");
    assert_says(first_send(why("ada@example.com", 0)), "Not mailed: suppressed (decided at ");

    run_sql("update contacts set subscribed = false");
    suppress("ada@example.com", "unsubscribe", "'2025-12-31T00:00:00Z'");
    decide(send_id, "skipped", "'unsubscribed'", "null", "null");
    assert_says(first_send(why("ada@example.com", 0)), "Not mailed: unsubscribed on 2025-12-31T00:00:00.000Z (decided at ");
}

static void report(int64_t send_id, const char *type, const char *at, const char *diagnostic)
{
    run_sql("insert into recipient_events (brand_id, send_id, ordinal, occurred_at, event_type) values (%1$lld, %2$lld, 1, '%3$s', "
            "'%4$s');"
            "insert into events (brand_id, occurred_at, domain, event_type, recipient_key, send_id, summary, mode)"
            " values (%1$lld, '%3$s', 'email', '%4$s', 'ada@example.com', %2$lld, %5$s, 'live')",
            (long long)work.brand_id, (long long)send_id, at, type, diagnostic);
}

/* D-117: a message that was accepted and then bounced is not called delivered. A complaint and a delay that were reported are told.
 */
static void test_later_reports_are_told(void **state)
{
    (void)state;
    make_contact("ada@example.com");
    int64_t send_id = send_to_all();
    begin(send_id);
    leave_sandbox();
    run_sql("delete from recipient_events");
    decide(send_id, "delivered", "null", "'250 2.0.0 Ok'", "'relay.example:25'");
    run_sql("update send_results set delayed_at = '2026-01-01T04:00:00Z', delay = '450 4.2.0 Greylisted.'");
    const json_t *send = first_send(why("ada@example.com", 0));
    assert_says(send, "Delivered at 2026-01-01T00:00:00.000Z by relay relay.example:25: 250 2.0.0 Ok. A delay was reported at "
                      "2026-01-01T04:00:00.000Z: 450 4.2.0 Greylisted.");
    assert_member(send, "delayedAt", "2026-01-01T04:00:00.000Z");
    assert_member(send, "delayDiagnostic", "450 4.2.0 Greylisted.");
    assert_null(json_object_get(send, "bouncedAt"));

    report(send_id, "complained", "2026-01-01T03:00:00Z", "null");
    assert_says(first_send(why("ada@example.com", 0)),
                "450 4.2.0 Greylisted. The recipient complained of spam at 2026-01-01T03:00:00.000Z");
    run_sql("delete from recipient_events");
    report(send_id, "bounced", "2026-01-01T05:00:00Z", "'550 5.1.1 No such user'");
    send = first_send(why("ada@example.com", 0));
    assert_member(send, "summary",
                  "Not delivered: accepted at 2026-01-01T00:00:00.000Z by relay relay.example:25: 250 2.0.0 Ok. A bounce was "
                  "reported at 2026-01-01T05:00:00.000Z: 550 5.1.1 No such user");
    assert_member(send, "bouncedAt", "2026-01-01T05:00:00.000Z");
    assert_member(send, "bounceDiagnostic", "550 5.1.1 No such user");
    assert_null(json_object_get(send, "complainedAt"));
    run_sql("update send_results set delayed_at = '2026-01-01T06:00:00Z'");
    assert_says(first_send(why("ada@example.com", 0)), "A delay was reported at 2026-01-01T06:00:00.000Z");
    run_sql("delete from recipient_events");
}

/* Events of the person in this send, newest first; no events of other people or other sends. D-116: beside them some hits of
 * machines with the reason. */
static void test_events_are_their_own(void **state)
{
    (void)state;
    make_contact("ada@example.com");
    make_contact("bob@example.com");
    int64_t first = send_to_all();
    begin(first);
    int64_t second = send_to_all();
    begin(second);
    run_sql("insert into events (brand_id, occurred_at, domain, event_type, recipient_key, send_id, summary, mode) values"
            " (%lld, '2026-01-01T10:00:00Z', 'email', 'sent', 'ada@example.com', %lld, null, 'live'),"
            " (%lld, '2026-01-02T10:00:00Z', 'email', 'unsubscribed', 'ada@example.com', %lld, 'By the link.', 'live'),"
            " (%lld, '2026-01-03T10:00:00Z', 'email', 'opened', 'ada@example.com', %lld, null, 'test'),"
            " (%lld, '2026-01-03T10:00:00Z', 'email', 'sent', 'bob@example.com', %lld, null, 'live');"
            "delete from recipient_events; insert into recipient_events (brand_id, send_id, ordinal, occurred_at, event_type)"
            " values (%lld, %lld, 1, '2026-01-02T10:00:00Z', 'unsubscribed')",
            (long long)work.brand_id, (long long)first, (long long)work.brand_id, (long long)first, (long long)work.brand_id,
            (long long)first, (long long)work.brand_id, (long long)first, (long long)work.brand_id, (long long)first);
    run_sql(
        "insert into hits (brand_id, send_id, ordinal, occurred_at, kind, method, agent, network, actor, reason)"
        " select %1$lld, %2$lld, n %% 2 + 1, timestamptz '2026-01-02T09:00:00Z' + interval '1 s' * n, 'open', 'GET', 'apple_proxy',"
        "        'apple', case n when 51 then 'human' else 'proxy' end, 'agent:apple_proxy' from generate_series(1, 60) n",
        (long long)work.brand_id, (long long)first);
    const json_t *answer = why("ada@example.com", 0);
    const json_t *sends = json_object_get(answer, "sends");
    assert_int_equal(json_array_size(sends), 2);
    assert_member(json_array_get(sends, 0), "sendId", work_id(&work, ID_SEND, second));
    assert_null(json_object_get(json_array_get(sends, 0), "machineHits"));
    const json_t *hits = json_object_get(json_array_get(sends, 1), "machineHits");
    assert_int_equal(json_array_size(hits), 20);
    assert_member(json_array_get(hits, 0), "occurredAt", "2026-01-02T09:01:00.000Z");
    assert_member(json_array_get(hits, 0), "reason", "agent:apple_proxy");
    assert_member(json_array_get(hits, 0), "actor", "proxy");
    assert_int_equal(json_array_size(json_object_get(json_array_get(sends, 0), "events")), 0);
    const json_t *events = json_object_get(json_array_get(sends, 1), "events");
    assert_int_equal(json_array_size(events), 2);
    assert_member(json_array_get(events, 0), "eventType", "unsubscribed");
    assert_member(json_array_get(events, 0), "occurredAt", "2026-01-02T10:00:00.000Z");
    assert_member(json_array_get(events, 0), "summary", "By the link.");
    assert_member(json_array_get(events, 1), "eventType", "sent");
    assert_member(json_array_get(sends, 1), "unsubscribedAt", "2026-01-02T10:00:00.000Z");
    run_sql("delete from recipient_events; delete from hits");
}

static void test_sends_are_bounded(void **state)
{
    (void)state;
    make_contact("ada@example.com");
    int64_t send_id = send_to_all();
    run_sql(
        "insert into sends (brand_id, kind, message_class, email_id, email_version_id, status, subject, subject_code, from_address,"
        " domain_id, target, target_hash, created_at, updated_at)"
        " select brand_id, kind, message_class, email_id, email_version_id, 'canceled', subject, subject_code, from_address,"
        " domain_id, target, target_hash, created_at + interval '1 s' * n, updated_at from sends, generate_series(1, %d) n",
        EXPLAIN_SENDS_MAX);
    uint64_t trips = db_round_trips(conn);
    const json_t *answer = why("ada@example.com", 0);
    assert_int_equal(db_round_trips(conn) - trips, 1);
    assert_int_equal(json_array_size(json_object_get(answer, "sends")), EXPLAIN_SENDS_MAX);
    assert_true(json_get_bool(answer, "hasMoreSends", false));
    run_sql("delete from sends where id = (select max(id) from sends)");
    assert_false(json_get_bool(why("ada@example.com", 0), "hasMoreSends", true));
    answer = why("ada@example.com", send_id);
    assert_int_equal(json_array_size(json_object_get(answer, "sends")), 1);
    assert_member(first_send(answer), "sendId", work_id(&work, ID_SEND, send_id));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_unknown_address_is_told_plainly),
        TEST(test_person_as_they_are_now),
        TEST(test_refused),
        TEST(test_a_send_that_has_not_begun),
        TEST(test_who_was_left_out),
        TEST(test_a_recipient_on_the_way),
        TEST(test_every_outcome_has_its_sentence),
        TEST(test_later_reports_are_told),
        TEST(test_events_are_their_own),
        TEST(test_sends_are_bounded),
    };
    return cmocka_run_group_tests_name("engine_why", tests, world_begin, world_end);
}
