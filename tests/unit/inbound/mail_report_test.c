/*
 * Reports in the forms of the mail systems in use: the kind, the class and the message that each names. The reports are the corpus
 * of the fuzzer.
 */
#include "base/text.h"
#include "inbound/report_class.h"
#include "mail/mime_reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct bytes read_report(struct arena *arena, const char *name)
{
    enum { MAX_BYTES = 64 * 1024 };
    const char *path = arena_printf(arena, "tests/fuzz/corpus/report/%s", name);
    unsigned char *bytes = arena_alloc(arena, MAX_BYTES);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size = fread(bytes, 1, MAX_BYTES, file);
    fclose(file);
    return (struct bytes){ bytes, size };
}

static struct bytes text_bytes(const char *text)
{
    return (struct bytes){ (const unsigned char *)text, strlen(text) };
}

struct expected {
    const char *name;
    enum mail_report_kind kind;
    enum bounce_class bounce;
    const char *enhanced;
    bool names_recipient;
    bool names_message;
};

static const struct expected reports[] = {
    { "postfix", MAIL_REPORT_FAILED, BOUNCE_HARD, "5.1.1", true, true },
    { "postfix_delay", MAIL_REPORT_DELAYED, BOUNCE_REFUSED, "4.4.1", true, true },
    { "sendmail", MAIL_REPORT_FAILED, BOUNCE_MAILBOX_FULL, "5.2.2", true, true },
    { "exim", MAIL_REPORT_FAILED, BOUNCE_BLOCK, "5.0.0", true, true },
    { "exim_text", MAIL_REPORT_FAILED, BOUNCE_HARD, "", true, true },
    { "qmail", MAIL_REPORT_FAILED, BOUNCE_HARD, "5.1.1", true, true },
    { "office365", MAIL_REPORT_FAILED, BOUNCE_HARD, "5.1.10", true, true },
    { "exchange_old", MAIL_REPORT_FAILED, BOUNCE_HARD, "", false, true },
    { "gmail", MAIL_REPORT_FAILED, BOUNCE_HARD, "5.2.1", true, true },
    { "yahoo", MAIL_REPORT_FAILED, BOUNCE_HARD, "", true, true },
    { "ses", MAIL_REPORT_FAILED, BOUNCE_HARD, "5.1.1", true, true },
    { "courier", MAIL_REPORT_FAILED, BOUNCE_HARD, "5.0.0", true, true },
    { "expired", MAIL_REPORT_FAILED, BOUNCE_REFUSED, "4.4.3", true, true },
    { "no_delimiters", MAIL_REPORT_FAILED, BOUNCE_HARD, "", false, false },
    { "delivered", MAIL_REPORT_DELIVERED, BOUNCE_REFUSED, "2.0.0", true, true },
    { "complaint", MAIL_REPORT_COMPLAINT, BOUNCE_REFUSED, "", true, true },
    { "complaint_plain", MAIL_REPORT_COMPLAINT, BOUNCE_REFUSED, "", false, true },
    { "not_spam", MAIL_REPORT_OTHER, BOUNCE_REFUSED, "", false, false },
    { "auto_reply", MAIL_REPORT_AUTO_REPLY, BOUNCE_REFUSED, "", false, true },
    { "auto_submitted", MAIL_REPORT_AUTO_REPLY, BOUNCE_REFUSED, "", false, true },
    { "answer", MAIL_REPORT_OTHER, BOUNCE_REFUSED, "", false, true },
    { "unsubscribe", MAIL_REPORT_OTHER, BOUNCE_REFUSED, "", false, false },
};

/* D-118: a permanent failure is told from a delay, a block from a missing mailbox. */
static void test_forms_of_mail_systems(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(reports); i++) {
        ARENA_SCOPE arena = arena_new(0);
        const struct expected *expected = &reports[i];
        struct mail_report report;
        mail_report_read(arena, read_report(arena, expected->name), &report);
        print_message("%s\n", expected->name);
        assert_string_equal(mail_report_kind_name(report.kind), mail_report_kind_name(expected->kind));
        assert_string_equal(report.enhanced, expected->enhanced);
        if (expected->kind == MAIL_REPORT_FAILED)
            assert_string_equal(bounce_class_name(report_class(&report)), bounce_class_name(expected->bounce));
        assert_int_equal(report.recipient != NULL, expected->names_recipient);
        assert_int_equal(report.message_id_count > 0, expected->names_message);
        if (expected->names_recipient)
            assert_string_equal(text_lower(arena, report.recipient), "ada@readers.example");
        if (expected->names_message)
            assert_string_equal(report.message_ids[0], "token1@letters.example");
    }
}

static void test_the_returned_unsubscribe_field(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    struct mail_report report;
    mail_report_read(arena, read_report(arena, "complaint"), &report);
    assert_string_equal(report.list_unsubscribe, "<https://mail.example/u/token2>, <mailto:utoken3@bounce.letters.example>");
}

/* The first recipient that failed decides; the own words of the returned message never do. */
static void test_groups(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    struct mail_report report;
    mail_report_read(
        arena,
        text_bytes("Content-Type: multipart/report; boundary=x\n\n--x\nContent-Type: message/delivery-status\n\n"
                   "Reporting-MTA: dns; a.example\n\n"
                   "Final-Recipient: rfc822; one@a.example\nAction: delayed\nStatus: 4.4.1\n\n"
                   "Final-Recipient: rfc822; two@a.example\nAction: failed\nStatus: 5.7.1\n\n"
                   "Final-Recipient: rfc822; three@a.example\nAction: failed\nStatus: 5.1.1\n\n--x\n"
                   "Content-Type: message/rfc822\n\nSubject: 550 5.1.1 user unknown\n\n550 5.1.1 user unknown\n--x--\n"),
        &report);
    assert_int_equal(report.kind, MAIL_REPORT_FAILED);
    assert_string_equal(report.recipient, "two@a.example");
    assert_int_equal(report_class(&report), BOUNCE_BLOCK);
}

/* ---- Bounds ---- */

static void test_depth_and_parts_are_bounded(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    struct mime_parts parts = mime_read(arena, read_report(arena, "nested"));
    assert_int_equal(parts.count, MIME_MAX_DEPTH + 1);
    struct buf *many = buf_in_arena(arena, 1024 * 1024);
    buf_add_text(many, "Content-Type: multipart/mixed; boundary=x\n\n");
    for (int i = 0; i < 2 * MIME_MAX_PARTS; i++)
        buf_add_text(many, "--x\n\npart\n");
    parts = mime_read(arena, text_bytes(buf_text(many)));
    assert_int_equal(parts.count, MIME_MAX_PARTS);
    assert_string_equal(parts.items[MIME_MAX_PARTS - 1].type, "text/plain");
}

static void test_fields(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    struct bytes body;
    static const char message[] = "From sender Sun\r\nsubject :  one\r\n\ttwo\0three\r\nX-Long: \xff"
                                  "fine\r\nbroken\r\nSubject: no\r\n\r\nbody";
    struct bytes headers = mime_header_block((struct bytes){ (const unsigned char *)message, sizeof(message) - 1 }, &body);
    assert_string_equal(mime_header(arena, headers, "Subject"), "one two three");
    assert_string_equal(mime_header(arena, headers, "X-Long"), "fine broken");
    assert_null(mime_header(arena, headers, "broken"));
    assert_int_equal(body.size, 4);
    assert_string_equal(mime_parameter(arena, "a/b; x=\"c;boundary=no\"; Boundary = \"y\\\"z\"; q=1", "boundary"), "y\"z");
    assert_null(mime_parameter(arena, "a/b; boundaryx=1", "boundary"));
    assert_string_equal(mime_decode_words(arena, "=?utf-8?Q?a_b=C3=A9?= =?UTF-8?B?w6k=?= =?x?Q?c?="),
                        "a b\xc3\xa9\xc3\xa9=?x?Q?c?=");
}

static void test_transfer_encodings(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    struct mime_parts parts = mime_read(arena, text_bytes("Content-Transfer-Encoding: Quoted-Printable\n\na=\nb=3D=zz\n"));
    struct bytes body = mime_body(arena, &parts.items[0], 100);
    assert_memory_equal(body.data, "ab==zz\n", body.size);
    assert_int_equal(body.size, 7);
    parts = mime_read(arena, text_bytes("Content-Transfer-Encoding: base64\n\nYW\nJj*ZGVm=x"));
    body = mime_body(arena, &parts.items[0], 4);
    assert_int_equal(body.size, 4);
    assert_memory_equal(body.data, "abcd", 4);
}

/* A reason may be the whole line, also the shortest of them. */
static void test_a_short_reason(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    struct mail_report report;
    mail_report_read(arena,
                     text_bytes("From: MAILER-DAEMON@old.example\nReturn-Path: <>\nSubject: failure notice\n\na\n\nblocked\n\nb\n"),
                     &report);
    assert_int_equal(report.kind, MAIL_REPORT_FAILED);
    assert_string_equal(report.diagnostic, "blocked");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms_of_mail_systems),
        cmocka_unit_test(test_the_returned_unsubscribe_field),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_a_short_reason),
        cmocka_unit_test(test_depth_and_parts_are_bounded),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_transfer_encodings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
