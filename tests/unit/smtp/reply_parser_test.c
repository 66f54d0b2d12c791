/* SMTP reply parser: replies in pieces of any size, and invalid replies. */
#include "smtp/reply_parser.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_ANSWERS = 8 };

/* Feeds pieces of `step` bytes; gives the number of answers, -1 when malformed. */
static int read_all(const char *text, size_t step, struct smtp_reply answers[MAX_ANSWERS])
{
    struct smtp_reply_parser *reader = calloc(1, sizeof(*reader));
    int count = 0;
    smtp_reply_parser_init(reader);
    for (size_t at = 0, total = strlen(text); at < total && count >= 0; at += step) {
        const char *bytes = text + at;
        size_t size = total - at < step ? total - at : step;
        while (size > 0 && count >= 0) {
            enum smtp_parse_state result = smtp_reply_parse(reader, &bytes, &size);
            if (result == SMTP_REPLY_MALFORMED)
                count = -1;
            else if (result == SMTP_REPLY_READY)
                answers[count++] = reader->reply;
            else
                assert_int_equal(size, 0);
        }
    }
    free(reader);
    return count;
}

static void answers_are_the_same_however_they_are_cut(void **state)
{
    (void)state;
    static const char text[] = "220 there.test ESMTP\r\n250-2.1.0 one\r\n250-2.1.0 two\r\n250 2.1.0 three\r\n"
                               "354\r\n550-5.1.1 <a@b.test>:\n550 5.1.1 nobody\n421 4.7.0 bye\r\n";
    for (size_t step = 1; step <= sizeof(text); step++) {
        struct smtp_reply answers[MAX_ANSWERS];
        assert_int_equal(read_all(text, step, answers), 5);
        assert_int_equal(answers[0].code, 220);
        assert_string_equal(answers[0].enhanced, "");
        assert_string_equal(answers[0].text, "there.test ESMTP");
        assert_int_equal(answers[1].code, 250);
        assert_string_equal(answers[1].enhanced, "2.1.0");
        assert_string_equal(answers[1].text, "one two three");
        assert_int_equal(answers[2].code, 354);
        assert_string_equal(answers[2].text, "");
        assert_string_equal(answers[3].enhanced, "5.1.1");
        assert_string_equal(answers[3].text, "<a@b.test>: nobody");
        assert_int_equal(answers[4].code, 421);
    }
}

static void enhanced_codes_are_those_of_the_class(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        const char *enhanced;
        const char *text;
    } cases[] = {
        { "550 5.7.515 no\r\n", "5.7.515", "no" },         { "550 5.1.1\r\n", "5.1.1", "" },
        { "550 4.1.1 other\r\n", "", "4.1.1 other" },      { "550 5.1 short\r\n", "", "5.1 short" },
        { "550 5.1.1x joined\r\n", "", "5.1.1x joined" },  { "550 5.1234.1 long\r\n", "", "5.1234.1 long" },
        { "550 5.999.999 full\r\n", "5.999.999", "full" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct smtp_reply answers[MAX_ANSWERS];
        assert_int_equal(read_all(cases[i].line, 100, answers), 1);
        assert_string_equal(answers[0].enhanced, cases[i].enhanced);
        assert_string_equal(answers[0].text, cases[i].text);
    }
}

static void text_is_printable_and_bounded(void **state)
{
    (void)state;
    char line[1000];
    struct smtp_reply answers[MAX_ANSWERS];
    assert_int_equal(read_all("550 a\tb\x1b[31m\xc3\xa4\r\n", 100, answers), 1);
    assert_string_equal(answers[0].text, "a?b?[31m??");
    memset(line, 'x', sizeof(line));
    memcpy(line, "250 ", 4);
    memcpy(line + sizeof(line) - 3, "\r\n", 3);
    assert_int_equal(read_all(line, 1000, answers), 1);
    assert_int_equal(strlen(answers[0].text), SMTP_REPLY_TEXT_BYTES - 1);
}

static void what_is_no_reply_is_malformed(void **state)
{
    (void)state;
    static const char *const texts[] = { "hello\r\n", "25\r\n",     "\r\n",     "999 x\r\n",          "150 x\r\n",
                                         "600 x\r\n", "2x0 ok\r\n", "250x\r\n", "250-a\r\n251 b\r\n", "250-a\r\nnothing\r\n",
                                         "25 0\r\n" };
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct smtp_reply answers[MAX_ANSWERS];
        assert_int_equal(read_all(texts[i], 1, answers), -1);
        assert_int_equal(read_all(texts[i], 100, answers), -1);
    }
}

static void lines_and_their_number_are_bounded(void **state)
{
    (void)state;
    enum { BYTES = 64 * 1024 };
    char *text = malloc(BYTES);
    struct smtp_reply answers[MAX_ANSWERS];
    for (size_t step = 1; step <= BYTES; step *= 16) {
        memset(text, 'x', BYTES);
        memcpy(text, "250 ", 4);
        text[SMTP_REPLY_LINE_MAX_BYTES - 1] = '\n';
        text[SMTP_REPLY_LINE_MAX_BYTES] = '\0';
        assert_int_equal(read_all(text, step, answers), 1);
        text[SMTP_REPLY_LINE_MAX_BYTES - 1] = 'x';
        text[SMTP_REPLY_LINE_MAX_BYTES] = '\n';
        text[SMTP_REPLY_LINE_MAX_BYTES + 1] = '\0';
        assert_int_equal(read_all(text, step, answers), -1);

        for (int lines = SMTP_REPLY_MAX_LINES; lines <= SMTP_REPLY_MAX_LINES + 1; lines++) {
            for (int i = 0; i < lines; i++)
                snprintf(text + i * 7, BYTES - (size_t)i * 7, i == lines - 1 ? "250 a\r\n" : "250-a\r\n");
            assert_int_equal(read_all(text, step, answers), lines == SMTP_REPLY_MAX_LINES ? 1 : -1);
        }
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_the_same_however_they_are_cut),
        cmocka_unit_test(enhanced_codes_are_those_of_the_class),
        cmocka_unit_test(text_is_printable_and_bounded),
        cmocka_unit_test(what_is_no_reply_is_malformed),
        cmocka_unit_test(lines_and_their_number_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
