/*
 * The header field for the reports of a provider: it holds the Message-ID of the
 * message, and no other text of it.
 */
#include "fixtures/temp_folder.h"
#include "smtp/report_header.h"
#include "smtp/transaction.h"

#include <string.h>

static void check_field(enum smtp_reports reports, const char *message, const char *expected)
{
    BUF_SCOPE out;
    buf_init(&out, 4096);
    smtp_report_header_add(reports, (struct bytes){ (const unsigned char *)message, strlen(message) }, &out);
    assert_string_equal(buf_text(&out), expected);
}

static void test_fields(void **state)
{
    (void)state;
    static const char message[] = "From: a@b.example\r\nMessage-ID: <ab-c_9@b.example>\r\nSubject: x\r\n\r\nbody\r\n";
    check_field(SMTP_REPORTS_NONE, message, "");
    check_field(SMTP_REPORTS_SES, message, "X-SES-MESSAGE-TAGS: posthorn=ab-c_9\r\n");
    check_field(SMTP_REPORTS_SENDGRID, message, "X-SMTPAPI: {\"unique_args\":{\"posthorn\":\"ab-c_9\"}}\r\n");
    check_field(SMTP_REPORTS_POSTMARK, message, "X-PM-Metadata-posthorn: ab-c_9\r\n");
}

static void test_other_messages(void **state)
{
    (void)state;
    static const char *const messages[] = {
        "",
        "From: a@b.example\r\n\r\nMessage-ID: <abc@b.example>\r\n",
        "From: a@b.example\r\nMessage-ID: <a\"b@b.example>\r\n\r\n",
        "From: a@b.example\r\nMessage-ID: <a\r\nX: y@b.example>\r\n\r\n",
        "From: a@b.example\r\nMessage-ID: <@b.example>\r\n\r\n",
        "From: a@b.example\r\nMessage-ID: <abc\r\n\r\n",
    };
    for (size_t i = 0; i < ARRAY_COUNT(messages); i++)
        check_field(SMTP_REPORTS_SENDGRID, messages[i], "");
}

/* The field is a part of what the relay gets, before the signatures, and of the announced size. */
static void test_transaction(void **state)
{
    (void)state;
    static const char signatures[] = "DKIM-Signature: v=1\r\n";
    static const char text[] = "From: a@b.example\r\nMessage-ID: <abc@b.example>\r\n\r\nbody\r\n";
    static const char field[] = "X-PM-Metadata-posthorn: abc\r\n";
    struct smtp_message message = {
        .mail_from = "a@b.example",
        .rcpt_to = "c@d.example",
        .parts = { { (const unsigned char *)signatures, strlen(signatures) }, { (const unsigned char *)text, strlen(text) } },
    };
    struct smtp_transaction transaction;
    smtp_transaction_init(&transaction);
    assert_true(smtp_transaction_fill(&transaction, &message, SMTP_REPORTS_POSTMARK));
    assert_int_equal(transaction.message_bytes, strlen(field) + strlen(signatures) + strlen(text));
    assert_int_equal(transaction.bytes.size, transaction.message_bytes + strlen(".\r\n"));
    assert_memory_equal(transaction.bytes.data, "X-PM-Metadata-posthorn: abc\r\nDKIM-Signature: v=1\r\nFrom:", 55);
    assert_true(smtp_transaction_fill(&transaction, &message, SMTP_REPORTS_NONE));
    assert_int_equal(transaction.message_bytes, strlen(signatures) + strlen(text));
    smtp_transaction_done(&transaction);
}

static void test_names(void **state)
{
    (void)state;
    enum smtp_reports reports = SMTP_REPORTS_NONE;
    assert_true(smtp_reports_from_name("sendgrid", &reports));
    assert_int_equal(reports, SMTP_REPORTS_SENDGRID);
    assert_false(smtp_reports_from_name("mailer", &reports));
    assert_false(smtp_reports_from_name("", &reports));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_fields), cmocka_unit_test(test_other_messages),
                                        cmocka_unit_test(test_transaction), cmocka_unit_test(test_names) };
    return cmocka_run_group_tests_name("smtp_report_header", tests, NULL, NULL);
}
