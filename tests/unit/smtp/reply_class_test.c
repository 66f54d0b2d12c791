/* Classes of SMTP replies: by code, by enhanced status code, and by text for old servers that send nothing else. */
#include "smtp/reply_class.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

struct reply {
    int code;
    const char *enhanced;
    const char *text;
    enum smtp_verdict verdict;
};

static void assert_verdicts(const struct reply *replies, size_t count, bool about_recipient)
{
    for (size_t i = 0; i < count; i++) {
        const struct reply *reply = &replies[i];
        enum smtp_verdict verdict = smtp_classify_reply(reply->code, reply->enhanced, reply->text, about_recipient);
        if (verdict != reply->verdict)
            print_error("%d %s %s: %s\n", reply->code, reply->enhanced, reply->text, smtp_verdict_name(verdict));
        assert_int_equal(verdict, reply->verdict);
    }
}

static void enhanced_codes_decide(void **state)
{
    (void)state;
    static const struct reply replies[] = {
        { 250, "2.0.0", "Ok: queued", SMTP_VERDICT_ACCEPTED },
        { 251, "", "will forward", SMTP_VERDICT_ACCEPTED },
        { 550, "5.1.1", "anything", SMTP_VERDICT_HARD },
        { 550, "5.1.2", "no such host", SMTP_VERDICT_HARD },
        { 553, "5.1.3", "bad syntax", SMTP_VERDICT_HARD },
        { 551, "5.1.6", "has moved", SMTP_VERDICT_HARD },
        { 556, "5.1.10", "null MX", SMTP_VERDICT_HARD },
        { 550, "5.2.1", "mailbox disabled", SMTP_VERDICT_HARD },
        { 552, "5.2.2", "over quota", SMTP_VERDICT_SOFT },
        { 552, "5.2.3", "too large for this mailbox", SMTP_VERDICT_REFUSED },
        { 550, "5.7.1", "user unknown, says a filter", SMTP_VERDICT_BLOCK },
        { 550, "5.7.515", "authentication level", SMTP_VERDICT_BLOCK },
        { 554, "5.7.0", "blocked", SMTP_VERDICT_BLOCK },
        { 553, "5.6.7", "no SMTPUTF8", SMTP_VERDICT_REFUSED },
        { 554, "5.6.0", "malformed message", SMTP_VERDICT_REFUSED },
        { 550, "5.4.1", "no route", SMTP_VERDICT_REFUSED },
    };
    assert_verdicts(replies, sizeof(replies) / sizeof(*replies), true);
}

static void a_basic_4xx_is_soft_whatever_else_is_said(void **state)
{
    (void)state;
    static const struct reply replies[] = {
        { 450, "4.2.1", "mailbox busy", SMTP_VERDICT_SOFT },        { 421, "4.7.0", "too many connections", SMTP_VERDICT_SOFT },
        { 450, "5.1.1", "user unknown", SMTP_VERDICT_SOFT },        { 451, "4.7.1", "greylisted", SMTP_VERDICT_SOFT },
        { 452, "4.5.3", "too many recipients", SMTP_VERDICT_SOFT }, { 0, "", "no reply", SMTP_VERDICT_SOFT },
        { 354, "", "not a verdict at all", SMTP_VERDICT_SOFT },
    };
    assert_verdicts(replies, sizeof(replies) / sizeof(*replies), true);
}

static void words_decide_where_codes_say_nothing(void **state)
{
    (void)state;
    static const struct reply replies[] = {
        { 550, "", "User unknown in virtual mailbox table", SMTP_VERDICT_HARD },
        { 550, "", "Requested action not taken: mailbox unavailable", SMTP_VERDICT_HARD },
        { 550, "5.5.0", "Requested action not taken: mailbox unavailable", SMTP_VERDICT_HARD },
        { 553, "", "sorry, NO MAILBOX HERE by that name", SMTP_VERDICT_HARD },
        { 551, "5.1.0", "<a@b.test>: address does not exist", SMTP_VERDICT_HARD },
        { 554, "", "no such user", SMTP_VERDICT_REFUSED }, /* 554 is about the transaction */
        { 550, "", "mailbox unavailable, your host is on the Spamhaus list", SMTP_VERDICT_BLOCK },
        { 554, "", "Service unavailable; Client host [192.0.2.1] blocked using zen", SMTP_VERDICT_BLOCK },
        { 554, "5.0.0", "this message looks like spam", SMTP_VERDICT_BLOCK },
        { 550, "", "Relaying denied", SMTP_VERDICT_BLOCK },
        { 552, "", "mailbox is full", SMTP_VERDICT_SOFT },
        { 552, "", "message size exceeds fixed limit", SMTP_VERDICT_REFUSED },
        { 550, "", "<marble@b.test>: no such user here", SMTP_VERDICT_HARD }, /* "rbl" is inside the name */
        { 554, "", "transaction failed", SMTP_VERDICT_REFUSED },
        { 550, "", "we do not like this", SMTP_VERDICT_REFUSED },
        { 500, "", "syntax error", SMTP_VERDICT_REFUSED },
        { 550, "5.1.351", "Remote server returned unknown recipient", SMTP_VERDICT_HARD },
        { 550, "5.4.1", "Recipient address rejected: Access denied", SMTP_VERDICT_HARD },
        { 550, "5.4.4", "Host or domain name not found. Host not found", SMTP_VERDICT_HARD },
        { 554, "", "delivery error: dd This user doesn't have an account", SMTP_VERDICT_HARD },
    };
    assert_verdicts(replies, sizeof(replies) / sizeof(*replies), true);
}

/* Servers give the code of an unknown recipient for other reasons too. */
static void words_correct_a_code_of_the_recipient(void **state)
{
    (void)state;
    static const struct reply replies[] = {
        { 552, "5.1.1", "mailbox is over quota", SMTP_VERDICT_SOFT },
        { 553, "5.1.3", "see https://spamhaus.example/query", SMTP_VERDICT_BLOCK },
        { 550, "5.1.1", "192.0.2.1 has sent to too many recipients", SMTP_VERDICT_BLOCK },
        { 550, "", "Sender address rejected: host not found", SMTP_VERDICT_REFUSED },
        { 550, "", "Access denied, invalid HELO name: unknown host", SMTP_VERDICT_BLOCK },
    };
    assert_verdicts(replies, sizeof(replies) / sizeof(*replies), true);
}

static void a_full_mailbox_is_known_by_code_or_words(void **state)
{
    (void)state;
    assert_true(smtp_reply_is_full("5.2.2", "") && smtp_reply_is_full("4.2.2", ""));
    assert_true(smtp_reply_is_full("", "Mailbox is FULL"));
    assert_false(smtp_reply_is_full("5.2.1", "disabled"));
}

static void a_mailbox_that_gets_too_much_is_not_gone(void **state)
{
    (void)state;
    static const struct reply replies[] = {
        { 550, "5.2.1", "The user is receiving mail at a rate that prevents more", SMTP_VERDICT_SOFT },
        { 550, "5.2.1", "This account has been disabled", SMTP_VERDICT_HARD },
    };
    assert_verdicts(replies, sizeof(replies) / sizeof(*replies), true);
}

static void nobody_is_condemned_for_the_sender(void **state)
{
    (void)state;
    static const struct reply replies[] = {
        { 550, "5.1.1", "whatever", SMTP_VERDICT_SOFT },         { 553, "5.7.1", "sender not owned", SMTP_VERDICT_SOFT },
        { 530, "5.7.0", "log in first", SMTP_VERDICT_SOFT },     { 552, "5.3.4", "too large", SMTP_VERDICT_REFUSED },
        { 552, "", "size exceeds limit", SMTP_VERDICT_REFUSED }, { 250, "", "fine", SMTP_VERDICT_ACCEPTED },
    };
    assert_verdicts(replies, sizeof(replies) / sizeof(*replies), false);
}

static void verdicts_have_names(void **state)
{
    (void)state;
    assert_string_equal(smtp_verdict_name(SMTP_VERDICT_ACCEPTED), "accepted");
    assert_string_equal(smtp_verdict_name(SMTP_VERDICT_HARD), "hard");
    assert_string_equal(smtp_verdict_name(SMTP_VERDICT_BLOCK), "block");
    assert_string_equal(smtp_verdict_name(SMTP_VERDICT_REFUSED), "refused");
    assert_string_equal(smtp_verdict_name(SMTP_VERDICT_SOFT), "soft");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(enhanced_codes_decide),
        cmocka_unit_test(a_basic_4xx_is_soft_whatever_else_is_said),
        cmocka_unit_test(words_decide_where_codes_say_nothing),
        cmocka_unit_test(words_correct_a_code_of_the_recipient),
        cmocka_unit_test(a_full_mailbox_is_known_by_code_or_words),
        cmocka_unit_test(a_mailbox_that_gets_too_much_is_not_gone),
        cmocka_unit_test(nobody_is_condemned_for_the_sender),
        cmocka_unit_test(verdicts_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
