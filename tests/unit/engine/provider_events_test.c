/*
 * Readers of the notifications of mail providers: which event becomes which
 * report, the canonical form that SNS signs, and addresses that only look like
 * those of SNS (D-119).
 */
#include "base/clock.h"
#include "engine/provider_reports/provider_events.h"
#include "fixtures/temp_folder.h"

#include <string.h>

static const int64_t now_us = INT64_C(1800000000) * US_PER_S;
static struct arena *arena;

static int begin(void **state)
{
    (void)state;
    arena = arena_new(0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

static const json_t *parsed(const char *text)
{
    struct error err = { .code = ERR_NONE };
    const json_t *json;
    assert_ok(provider_json_read(arena, text, &json, &err), &err);
    return json;
}

typedef bool (*reader)(struct arena *, const json_t *, int64_t, struct provider_events *, struct error *);

static struct provider_event only_event(reader read, const char *text)
{
    struct error err = { .code = ERR_NONE };
    struct provider_events events;
    assert_ok(read(arena, parsed(text), now_us, &events, &err), &err);
    assert_int_equal(events.count, 1);
    return events.items[0];
}

struct expected {
    const char *body;
    enum report_kind kind;
    enum bounce_class bounce; /* of a bounce */
};

static void check_events(reader read, const struct expected *expected, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct provider_event event = only_event(read, expected[i].body);
        assert_int_equal(event.kind, expected[i].kind);
        if (event.kind == REPORT_BOUNCE)
            assert_int_equal(event.bounce, expected[i].bounce);
        assert_true(event.at_us <= now_us);
        assert_non_null(event.id);
    }
}

static void test_sendgrid(void **state)
{
    (void)state;
    static const struct expected events[] = {
        { "[{\"event\":\"bounce\",\"type\":\"bounce\",\"reason\":\"550 5.1.1 no\"}]", REPORT_BOUNCE, BOUNCE_HARD },
        { "[{\"event\":\"bounce\",\"type\":\"bounce\",\"reason\":\"552 5.2.2 full\"}]", REPORT_BOUNCE, BOUNCE_MAILBOX_FULL },
        { "[{\"event\":\"bounce\",\"type\":\"blocked\",\"reason\":\"550 5.7.1 no\"}]", REPORT_BOUNCE, BOUNCE_BLOCK },
        { "[{\"event\":\"dropped\",\"reason\":\"Bounced Address\"}]", REPORT_BOUNCE, BOUNCE_HARD },
        { "[{\"event\":\"dropped\",\"reason\":\"Spam Content\"}]", REPORT_BOUNCE, BOUNCE_REFUSED },
        { "[{\"event\":\"dropped\",\"reason\":\"Spam Reporting Address\"}]", REPORT_COMPLAINT, 0 },
        { "[{\"event\":\"dropped\",\"reason\":\"Unsubscribed Address\"}]", REPORT_UNSUBSCRIBE, 0 },
        { "[{\"event\":\"dropped\"}]", REPORT_BOUNCE, BOUNCE_REFUSED },
        { "[{\"event\":\"deferred\",\"response\":\"451\"}]", REPORT_DELAY, 0 },
        { "[{\"event\":\"spamreport\",\"timestamp\":99999999999999}]", REPORT_COMPLAINT, 0 },
        { "[{\"event\":\"unsubscribe\"}]", REPORT_UNSUBSCRIBE, 0 },
        { "[{\"event\":\"delivered\",\"timestamp\":-1}]", REPORT_OTHER, 0 },
        { "[{\"event\":7,\"reason\":{},\"sg_event_id\":[]}]", REPORT_OTHER, 0 },
        { "[{}]", REPORT_OTHER, 0 },
    };
    check_events(sendgrid_events_read, events, ARRAY_COUNT(events));
    struct provider_event event = only_event(
        sendgrid_events_read, "[{\"event\":\"bounce\",\"posthorn\":\"abc\",\"smtp-id\":\"<def@x>\",\"timestamp\":1700000000}]");
    assert_string_equal(event.message_id, "abc");
    assert_int_equal(event.at_us, INT64_C(1700000000) * US_PER_S);
    event = only_event(sendgrid_events_read, "[{\"event\":\"bounce\",\"smtp-id\":\"<def@x>\",\"sg_event_id\":\"e1\"}]");
    assert_string_equal(event.message_id, "<def@x>");
    assert_string_equal(event.id, "e1");
}

static void test_postmark(void **state)
{
    (void)state;
    static const struct expected events[] = {
        { "{\"RecordType\":\"Bounce\",\"Type\":\"HardBounce\"}", REPORT_BOUNCE, BOUNCE_HARD },
        { "{\"RecordType\":\"Bounce\",\"Type\":\"SpamNotification\"}", REPORT_BOUNCE, BOUNCE_BLOCK },
        { "{\"RecordType\":\"Bounce\",\"Type\":\"SoftBounce\"}", REPORT_BOUNCE, BOUNCE_REFUSED },
        { "{\"RecordType\":\"Bounce\",\"Type\":\"SoftBounce\",\"Details\":\"mailbox full\"}", REPORT_BOUNCE, BOUNCE_MAILBOX_FULL },
        { "{\"RecordType\":\"Bounce\",\"Type\":\"Transient\"}", REPORT_DELAY, 0 },
        { "{\"RecordType\":\"Bounce\",\"Type\":\"AutoResponder\"}", REPORT_AUTO_REPLY, 0 },
        { "{\"RecordType\":\"SpamComplaint\"}", REPORT_COMPLAINT, 0 },
        { "{\"RecordType\":\"SubscriptionChange\",\"Origin\":\"Recipient\",\"SuppressSending\":true}", REPORT_UNSUBSCRIBE, 0 },
        { "{\"RecordType\":\"SubscriptionChange\",\"Origin\":\"Recipient\",\"SuppressSending\":false}", REPORT_OTHER, 0 },
        { "{\"RecordType\":\"SubscriptionChange\",\"Origin\":\"Customer\",\"SuppressSending\":true}", REPORT_OTHER, 0 },
        { "{\"RecordType\":\"Delivery\",\"Metadata\":[]}", REPORT_OTHER, 0 },
    };
    check_events(postmark_events_read, events, ARRAY_COUNT(events));
    struct provider_event event =
        only_event(postmark_events_read,
                   "{\"RecordType\":\"Bounce\",\"Metadata\":{\"posthorn\":\"abc\"},\"BouncedAt\":\"2026-01-01T00:00:00Z\"}");
    assert_string_equal(event.message_id, "abc");
    assert_int_equal(event.at_us, INT64_C(1767225600) * US_PER_S);
}

/* ---- SNS ---- */

#define ENVELOPE(members)                                                                                                          \
    "{\"MessageId\":\"m1\",\"TopicArn\":\"arn\",\"Timestamp\":\"2026-01-01T00:00:00.000Z\",\"SignatureVersion\":\"1\","            \
    "\"Signature\":\"AAAA\",\"SigningCertURL\":\"https://x\"," members "}"

static void test_canonical_form(void **state)
{
    (void)state;
    struct error err;
    struct sns_message message;
    const char *note = ENVELOPE("\"Type\":\"Notification\",\"Message\":\"a\\nb\",\"Subject\":\"s\",\"Token\":\"t\"");
    assert_ok(sns_message_read(arena, parsed(note), &message, &err), &err);
    assert_string_equal(
        (const char *)message.signed_text.data,
        "Message\na\nb\nMessageId\nm1\nSubject\ns\nTimestamp\n2026-01-01T00:00:00.000Z\nTopicArn\narn\nType\nNotification\n");
    const char *confirm = ENVELOPE(
        "\"Type\":\"SubscriptionConfirmation\",\"Message\":\"a\",\"Subject\":\"s\",\"Token\":\"t\",\"SubscribeURL\":\"u\"");
    assert_ok(sns_message_read(arena, parsed(confirm), &message, &err), &err);
    assert_string_equal(
        (const char *)message.signed_text.data,
        "Message\na\nMessageId\nm1\nSubscribeURL\nu\nTimestamp\n2026-01-01T00:00:00.000Z\nToken\nt\nTopicArn\narn\nType\n"
        "SubscriptionConfirmation\n");
    static const char *const bad[] = {
        "[]",
        "{}",
        ENVELOPE("\"Type\":\"Other\",\"Message\":\"a\""),
        ENVELOPE("\"Type\":\"Notification\""),
        ENVELOPE("\"Type\":\"Notification\",\"Message\":7"),
        ENVELOPE("\"Type\":\"SubscriptionConfirmation\",\"Message\":\"a\""),
    };
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++)
        assert_false(sns_message_read(arena, parsed(bad[i]), &message, &err));
}

static struct provider_event ses_event(const char *message)
{
    struct error err = { .code = ERR_NONE };
    struct provider_events events;
    struct sns_message sns = { .type = SNS_NOTIFICATION, .id = "m1", .message = message, .at_us = now_us };
    assert_ok(ses_events_read(arena, &sns, now_us, &events, &err), &err);
    assert_int_equal(events.count, 1);
    return events.items[0];
}

static void test_ses(void **state)
{
    (void)state;
    static const struct expected events[] = {
        { "{\"notificationType\":\"Bounce\",\"bounce\":{\"bounceType\":\"Permanent\"}}", REPORT_BOUNCE, BOUNCE_HARD },
        { "{\"eventType\":\"Bounce\",\"bounce\":{\"bounceType\":\"Transient\",\"bounceSubType\":\"MailboxFull\"}}", REPORT_BOUNCE,
          BOUNCE_MAILBOX_FULL },
        { "{\"eventType\":\"Bounce\",\"bounce\":{\"bounceType\":\"Transient\",\"bounceSubType\":\"ContentRejected\"}}",
          REPORT_BOUNCE, BOUNCE_REFUSED },
        { "{\"eventType\":\"Bounce\",\"bounce\":{\"bounceType\":\"Undetermined\"}}", REPORT_BOUNCE, BOUNCE_BLOCK },
        { "{\"eventType\":\"Bounce\"}", REPORT_BOUNCE, BOUNCE_BLOCK },
        { "{\"eventType\":\"Complaint\",\"complaint\":{\"complaintFeedbackType\":\"abuse\"}}", REPORT_COMPLAINT, 0 },
        { "{\"eventType\":\"Complaint\",\"complaint\":{\"complaintFeedbackType\":\"not-spam\"}}", REPORT_OTHER, 0 },
        { "{\"eventType\":\"Reject\",\"reject\":{\"reason\":\"Bad content\"}}", REPORT_BOUNCE, BOUNCE_REFUSED },
        { "{\"eventType\":\"DeliveryDelay\"}", REPORT_DELAY, 0 },
        { "{\"eventType\":\"Delivery\",\"mail\":{\"headers\":{},\"tags\":[]}}", REPORT_OTHER, 0 },
    };
    for (size_t i = 0; i < ARRAY_COUNT(events); i++) {
        struct provider_event event = ses_event(events[i].body);
        assert_int_equal(event.kind, events[i].kind);
        if (event.kind == REPORT_BOUNCE)
            assert_int_equal(event.bounce, events[i].bounce);
    }
    assert_string_equal(
        ses_event("{\"mail\":{\"tags\":{\"posthorn\":[\"t\"]},\"commonHeaders\":{\"messageId\":\"c\"}}}").message_id, "t");
    assert_string_equal(ses_event("{\"mail\":{\"headers\":[7,{\"name\":\"message-id\",\"value\":\"h\"}]}}").message_id, "h");
    assert_string_equal(ses_event("{\"mail\":{\"commonHeaders\":{\"messageId\":\"c\"}}}").message_id, "c");
    assert_null(ses_event("{\"mail\":7}").message_id);
}

static void test_addresses(void **state)
{
    (void)state;
    static const char *const good[] = {
        "https://sns.us-east-1.amazonaws.com/SimpleNotificationService-0a1b.pem",
        "https://sns.cn-north-1.amazonaws.com.cn/SimpleNotificationService-0a1b.pem",
    };
    static const char *const bad[] = {
        "http://sns.us-east-1.amazonaws.com/SimpleNotificationService-0a1b.pem",
        "https://sns.us-east-1.amazonaws.com.evil.example/SimpleNotificationService-0a1b.pem",
        "https://sns.us-east-1.amazonaws.com@evil.example/SimpleNotificationService-0a1b.pem",
        "https://sns.evil.example/SimpleNotificationService-0a1b.pem",
        "https://sns.a.b.amazonaws.com/SimpleNotificationService-0a1b.pem",
        "https://sns..amazonaws.com/SimpleNotificationService-0a1b.pem",
        "https://sns.us-east-1.amazonaws.com:8443/SimpleNotificationService-0a1b.pem",
        "https://sns.us-east-1.amazonaws.com/SimpleNotificationService-0a1b.pem?x",
        "https://sns.us-east-1.amazonaws.com/SimpleNotificationService-.pem",
        "https://sns.us-east-1.amazonaws.com/other.pem",
        "http://127.0.0.1:80/SimpleNotificationService-0a1b.pem",
        "",
    };
    for (size_t i = 0; i < ARRAY_COUNT(good); i++)
        assert_true(sns_certificate_address_is_trusted(good[i], false));
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++)
        assert_false(sns_certificate_address_is_trusted(bad[i], false));
    assert_true(sns_certificate_address_is_trusted("http://127.0.0.1:80/SimpleNotificationService-0a1b.pem", true));
    assert_false(sns_certificate_address_is_trusted("http://127.0.0.1:80@evil.example/SimpleNotificationService-0a1b.pem", true));
    assert_true(sns_address_is_trusted("https://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription&Token=1", false));
    assert_false(sns_address_is_trusted("https://sns.us-east-1.amazonaws.com/#x", false));
    assert_false(sns_address_is_trusted("https://evil.example/?Action=ConfirmSubscription", false));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_sendgrid), TEST(test_postmark), TEST(test_canonical_form), TEST(test_ses), TEST(test_addresses),
    };
    return cmocka_run_group_tests_name("engine_provider_events", tests, NULL, NULL);
}
