/* Dates of briefs: the calendar, and the forms of dates and times in four languages. */
#include "designer/brief_dates.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct calendar_day monday = { .year = 2026, .month = 11, .day = 23 };

static void test_calendar(void **state)
{
    (void)state;
    assert_int_equal(calendar_number((struct calendar_day){ 1970, 1, 1 }), 0);
    assert_int_equal(calendar_number((struct calendar_day){ 2000, 3, 1 }), 11017);
    assert_int_equal(calendar_weekday(calendar_number(monday)), 0);
    for (int64_t number = -800000; number < 800000; number += 97) {
        struct calendar_day day = calendar_day(number);
        assert_int_equal(calendar_number(day), number);
        assert_true(calendar_has(day));
    }
    assert_true(calendar_has((struct calendar_day){ 2028, 2, 29 }));
    assert_false(calendar_has((struct calendar_day){ 2027, 2, 29 }));
    assert_false(calendar_has((struct calendar_day){ 2100, 2, 29 }));
    assert_false(calendar_has((struct calendar_day){ 2027, 13, 1 }));
}

struct form {
    const char *text;
    const char *starts; /* "": no date */
    const char *end;    /* the end of its hours, or "" */
};

static const struct form forms[] = {
    { "2027-05-31", "2027-05-31", "" },
    { "on 2027-05-31t18:30", "2027-05-31T18:30", "" },
    { "31 may 2027", "2027-05-31", "" },
    { "may 31", "2027-05-31", "" },
    { "december 1st, 2026", "2026-12-01", "" },
    { "24 november", "2026-11-24", "" },
    { "22 november", "2027-11-22", "" },
    { "the 3rd of june at 6 pm", "2027-06-03T18:00", "" },
    { "5 june 2027, 18:30–21:00", "2027-06-05T18:30", "2027-06-05T21:00" },
    { "5 june 2027 from 18:30 to 21:00", "2027-06-05T18:30", "2027-06-05T21:00" },
    { "31. mai 2027 um 18 uhr", "2027-05-31T18:00", "" },
    { "am 31.05.2027", "2027-05-31", "" },
    { "am 31.5.", "2027-05-31", "" },
    { "12. märz von 9:00 bis 12:30", "2027-03-12T09:00", "2027-03-12T12:30" },
    { "le 12 juin 2027 à 18h30", "2027-06-12T18:30", "" },
    { "le 1er février", "2027-02-01", "" },
    { "31 de mayo de 2027 a las 19:00", "2027-05-31T19:00", "" },
    { "next friday", "2026-11-27", "" },
    { "on monday", "2026-11-30", "" },
    { "nächsten mittwoch um 19 uhr", "2026-11-25T19:00", "" },
    { "vendredi prochain", "2026-11-27", "" },
    { "el próximo sábado", "2026-11-28", "" },
    { "tomorrow at 18:30", "2026-11-24T18:30", "" },
    { "morgen", "2026-11-24", "" },
    { "demain", "2026-11-24", "" },
    { "today at 12:00", "2026-11-23T12:00", "" },
    { "31/05/2027", "2027-05-31", "" },
    { "05/06/2027", "2027-05-06", "" },
    { "29 february 2027", "", "" },
    { "29 february", "", "" },
    { "guten morgen", "", "" },
    { "every friday", "", "" },
    { "you may come at 2", "", "" },
    { "version 4.2 has 31 changes", "", "" },
    { "at 18:30", "", "" },
    { "32 may 2027", "", "" },
};

static void test_forms(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        struct found_date dates[BRIEF_DATES_MAX];
        char starts[MOMENT_CHARS + 1] = "";
        char end[MOMENT_CHARS + 1] = "";
        size_t count = dates_find(forms[i].text, calendar_number(monday), true, dates, BRIEF_DATES_MAX);
        if (count > 0)
            moment_write(dates[0].day, dates[0].minute, starts);
        if (count > 0 && dates[0].end_minute >= 0)
            moment_write(dates[0].day, dates[0].end_minute, end);
        if (strcmp(starts, forms[i].starts) != 0 || strcmp(end, forms[i].end) != 0 || count > 1) {
            print_error("%s: %zu %s %s\n", forms[i].text, count, starts, end);
            fail();
        }
    }
}

static void test_ends(void **state)
{
    (void)state;
    struct found_date dates[BRIEF_DATES_MAX];
    assert_int_equal(dates_find("from 1 may until 31 may", calendar_number(monday), true, dates, BRIEF_DATES_MAX), 2);
    assert_false(dates[0].is_end);
    assert_true(dates[1].is_end);
    assert_int_equal(dates_find("05/06/2027", calendar_number(monday), false, dates, BRIEF_DATES_MAX), 1);
    assert_int_equal(calendar_day(dates[0].day).month, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calendar),
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
