/*
 * The retry policy: the result of an attempt, the backoff before the next one,
 * and uncertain messages.
 */
#include "base/clock.h"
#include "fixtures/temp_folder.h"
#include "sender/retry_policy.h"

#include <string.h>

static const int64_t now_us = INT64_C(1800000000) * US_PER_S;
static const struct retry_policy resend = { .first_retry_us = 60 * US_PER_S };
static const struct retry_policy hold = { .first_retry_us = 60 * US_PER_S, .hold_uncertain = true };

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

/* One recipient of a campaign; `first_at_us` 0: tried for the first time. */
static struct delivery_result result_of(const struct retry_policy *policy, struct smtp_outcome outcome,
                                        struct delivery_result before, int64_t first_at_us)
{
    struct delivery_send_row send = { .message_class = "marketing" };
    struct delivery_recipients_row recipient = { .first_at = { .set = first_at_us != 0, .value = first_at_us } };
    struct delivery_batch batch = { .send = &send, .recipients = &recipient, .results = &before, .count = 1 };
    return retry_policy_result(policy, &batch, 0, &outcome, now_us, 0.5, arena);
}

static struct smtp_outcome replied(enum smtp_stage stage, int code, const char *enhanced, const char *text)
{
    struct smtp_outcome outcome = { .end = SMTP_REPLIED, .stage = stage, .code = code, .relay = "relay:25" };
    snprintf(outcome.enhanced, sizeof(outcome.enhanced), "%s", enhanced);
    snprintf(outcome.text, sizeof(outcome.text), "%s", text);
    return outcome;
}

static void test_accepted(void **state)
{
    (void)state;
    struct delivery_result before = { .attempts = 1, .uncertain = true };
    struct delivery_result result = result_of(&resend, replied(SMTP_STAGE_FINAL, 250, "2.0.0", "Ok: queued"), before, 0);
    assert_int_equal(result.outcome, DELIVERY_DELIVERED);
    assert_int_equal(result.attempts, 2);
    assert_true(result.uncertain); /* an earlier attempt may have arrived as well */
    assert_string_equal(result.reply, "250 2.0.0 Ok: queued");
    assert_string_equal(result.relay, "relay:25");
    assert_null(result.reason);
}

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        int code;
        const char *enhanced;
        const char *reason;
    } cases[] = { { 550, "5.1.1", "hard" }, { 550, "5.7.1", "block" }, { 554, "5.6.0", "refused" } };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct delivery_result none = { .attempts = 0 };
        struct delivery_result result =
            result_of(&resend, replied(SMTP_STAGE_RCPT, cases[i].code, cases[i].enhanced, "No"), none, 0);
        assert_int_equal(result.outcome, DELIVERY_BOUNCED);
        assert_string_equal(result.reason, cases[i].reason);
    }
}

/* A refusal of MAIL FROM is no bounce of the recipient. */
static void test_a_refused_mail_from_is_retried(void **state)
{
    (void)state;
    struct delivery_result none = { .attempts = 0 };
    struct delivery_result result = result_of(&resend, replied(SMTP_STAGE_MAIL, 550, "5.7.1", "Not you"), none, 0);
    assert_int_equal(result.outcome, DELIVERY_LATER);
}

static void test_a_deferred_message_is_retried_until_it_expires(void **state)
{
    (void)state;
    struct delivery_result before = { .attempts = 2 };
    struct smtp_outcome later = replied(SMTP_STAGE_RCPT, 451, "4.7.1", "Greylisted");
    struct delivery_result result = result_of(&resend, later, before, now_us - 3600 * US_PER_S);
    assert_int_equal(result.outcome, DELIVERY_LATER);
    assert_int_equal(result.attempts, 3);
    assert_int_equal(result.due_us, now_us + 15 * 60 * US_PER_S);
    result = result_of(&resend, later, before, now_us - 72 * INT64_C(3600) * US_PER_S);
    assert_int_equal(result.outcome, DELIVERY_BOUNCED);
    assert_string_equal(result.reason, "expired");
    assert_false(result.mailbox_full);
}

/* The address is suppressed for a time only when the message was given up because the mailbox is full. */
static void test_a_full_mailbox_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *enhanced;
        const char *text;
    } replies[] = { { "4.2.2", "Later" }, { "5.2.2", "Later" }, { "", "Mailbox full" } };
    const int64_t long_ago_us = now_us - 72 * INT64_C(3600) * US_PER_S;
    for (size_t i = 0; i < ARRAY_COUNT(replies); i++) {
        struct smtp_outcome full = replied(SMTP_STAGE_RCPT, 452, replies[i].enhanced, replies[i].text);
        struct delivery_result before = { .attempts = 2 };
        assert_false(result_of(&resend, full, before, now_us).mailbox_full);
        assert_true(result_of(&resend, full, before, long_ago_us).mailbox_full);
    }
}

/* A message that loses one session after the other is deferred, so that it is not tried for ever. */
static void test_lost_sessions_defer_a_message(void **state)
{
    (void)state;
    struct smtp_outcome lost = { .end = SMTP_NOT_SENT, .stage = SMTP_STAGE_DATA, .text = "The relay closed the connection." };
    struct delivery_result none = { .attempts = 0 };
    struct delivery_result result = result_of(&resend, lost, none, 0);
    assert_int_equal(result.outcome, DELIVERY_LATER);
    assert_false(result.uncertain);
    assert_string_equal(result.reply, "The relay closed the connection.");
}

static void test_backoff_grows_and_has_jitter(void **state)
{
    (void)state;
    static const int64_t minutes[] = { 1, 5, 15, 30, 60, 120, 240, 240, 240 };
    for (size_t i = 0; i < ARRAY_COUNT(minutes); i++) {
        int64_t backoff_us = minutes[i] * 60 * US_PER_S;
        assert_int_equal(retry_policy_backoff_us(&resend, (int64_t)i + 1, 0.5), backoff_us);
        assert_int_equal(retry_policy_backoff_us(&resend, (int64_t)i + 1, 0.0), backoff_us * 8 / 10);
        assert_true(retry_policy_backoff_us(&resend, (int64_t)i + 1, 0.999) > backoff_us * 119 / 100);
    }
}

static void test_an_uncertain_message_is_sent_once_more_or_held(void **state)
{
    (void)state;
    struct smtp_outcome lost = { .end = SMTP_UNCERTAIN, .stage = SMTP_STAGE_FINAL, .text = "The connection was lost." };
    struct delivery_result none = { .attempts = 0 };
    struct delivery_result result = result_of(&resend, lost, none, 0);
    assert_int_equal(result.outcome, DELIVERY_LATER);
    assert_true(result.uncertain);
    assert_int_equal(result.due_us, now_us);
    struct delivery_result second = result_of(&resend, lost, result, now_us);
    assert_int_equal(second.outcome, DELIVERY_HELD);
    assert_true(second.uncertain);
    assert_int_equal(result_of(&hold, lost, none, 0).outcome, DELIVERY_HELD);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_accepted),
        TEST(test_refusals),
        TEST(test_a_refused_mail_from_is_retried),
        TEST(test_a_deferred_message_is_retried_until_it_expires),
        TEST(test_a_full_mailbox_is_told),
        TEST(test_lost_sessions_defer_a_message),
        TEST(test_backoff_grows_and_has_jitter),
        TEST(test_an_uncertain_message_is_sent_once_more_or_held),
    };
    return cmocka_run_group_tests_name("sender_retry_policy", tests, NULL, NULL);
}
