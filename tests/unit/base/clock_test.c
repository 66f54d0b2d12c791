/* Time: ISO 8601, RFC 5322, and the clock that tests can move. */
#include "fixtures/base_case.h"

#include "base/clock.h"

#include <string.h>

#define DAY_S INT64_C(86400)

static void assert_reads(const char *text, int64_t expected_us)
{
    int64_t time_us = -1;
    if (!clock_parse_iso(text, &time_us))
        fail_msg("'%s' was refused", text);
    if (time_us != expected_us)
        fail_msg("'%s' gave %lld, not %lld", text, (long long)time_us, (long long)expected_us);
}

static void assert_refuses(const char *text)
{
    int64_t time_us = 42;
    if (clock_parse_iso(text, &time_us))
        fail_msg("'%s' was accepted", text);
    assert_int_equal(time_us, 42);
}

static void assert_writes(int64_t time_us, const char *expected)
{
    char text[CLOCK_ISO_CHARS + 1];
    clock_format_iso(time_us, text);
    assert_string_equal(text, expected);
}

/* */
static void test_reads_date_times(void **state)
{
    (void)state;
    assert_reads("1970-01-01T00:00:00Z", 0);
    assert_reads("2026-11-21T09:30:00Z", 1795253400 * US_PER_S);
    assert_reads("2026-11-21t09:30:00z", 1795253400 * US_PER_S);
    assert_reads("2026-11-21 09:30:00Z", 1795253400 * US_PER_S);
    assert_reads("1969-12-31T23:59:59Z", -US_PER_S);
    assert_reads("0001-01-01T00:00:00Z", -62135596800 * US_PER_S);
    assert_reads("9999-12-31T23:59:59.999999Z", 253402300800 * US_PER_S - 1);
}

static void test_reads_fractions(void **state)
{
    (void)state;
    assert_reads("1970-01-01T00:00:00.5Z", 500000);
    assert_reads("1970-01-01T00:00:00.000001Z", 1);
    assert_reads("1970-01-01T00:00:00.123456789Z", 123456);
    assert_reads("1969-12-31T23:59:59.25Z", -750000);
    assert_refuses("1970-01-01T00:00:00.Z");
    assert_refuses("1970-01-01T00:00:00.1234567890Z");
    assert_refuses("1970-01-01T00:00:00,5Z");
    assert_refuses("1970-01-01T00:00:00.-5Z");
}

static void test_reads_zones(void **state)
{
    (void)state;
    assert_reads("1970-01-01T02:00:00+02:00", 0);
    assert_reads("1969-12-31T18:30:00-05:30", 0);
    assert_reads("1970-01-01T00:00:00-00:00", 0);
    assert_reads("1970-01-01T14:00:00+14:00", 0);
    assert_reads("2026-12-31T23:30:00-01:00", 1798763400 * US_PER_S);
    static const char *const refused[] = {
        "1970-01-01T00:00:00",       "1970-01-01T00:00:00+2:00",  "1970-01-01T00:00:00+0200",   "1970-01-01T00:00:00+15:00",
        "1970-01-01T00:00:00+02:60", "1970-01-01T00:00:00 02:00", "1970-01-01T00:00:00+02:00Z", "1970-01-01T00:00:00ZZ",
        "1970-01-01T00:00:00X",      "1970-01-01T00:00:00+02",    "1970-01-01T00:00:00+02:0",   "1970-01-01T00:00:00Z ",
    };
    for (size_t i = 0; i < ARRAY_COUNT(refused); i++)
        assert_refuses(refused[i]);
}

static void test_leap_days(void **state)
{
    (void)state;
    assert_reads("2024-02-29T00:00:00Z", 1709164800 * US_PER_S);
    assert_reads("2000-02-29T12:00:00Z", 951825600 * US_PER_S);
    assert_reads("1960-02-29T00:00:00Z", -310521600 * US_PER_S);
    static const char *const refused[] = { "2023-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2100-02-29T00:00:00Z",
                                           "2024-02-30T00:00:00Z", "2026-04-31T00:00:00Z", "2026-06-31T00:00:00Z" };
    for (size_t i = 0; i < ARRAY_COUNT(refused); i++)
        assert_refuses(refused[i]);
    assert_writes(1709164800 * US_PER_S, "2024-02-29T00:00:00.000Z");
}

static void test_refuses_what_is_no_time(void **state)
{
    (void)state;
    static const char *const refused[] = {
        "",
        "now",
        "2026",
        "2026-11-21",
        "2026-11-21T09:30Z",
        "2026-11-21T9:30:00Z",
        "26-11-21T09:30:00Z",
        "2026/11/21T09:30:00Z",
        "2026-00-21T09:30:00Z",
        "2026-13-21T09:30:00Z",
        "2026-11-00T09:30:00Z",
        "2026-11-32T09:30:00Z",
        "2026-11-99T09:30:00Z",
        "2026-11-21T24:00:00Z",
        "2026-11-21T09:60:00Z",
        "2026-11-21T09:30:60Z",
        " 2026-11-21T09:30:00Z",
        "-2026-11-21T09:30:00Z",
        "+2026-11-21T09:30:00Z",
        "0000-01-01T00:00:00Z",
        "20261121T093000Z",
        "2026-W47-6T09:30:00Z",
    };
    for (size_t i = 0; i < ARRAY_COUNT(refused); i++)
        assert_refuses(refused[i]);
}

/* A zone may lead out of the years that four digits can write. */
static void test_the_ends_of_time(void **state)
{
    (void)state;
    assert_refuses("0001-01-01T00:00:00+00:01");
    assert_refuses("9999-12-31T23:59:59-00:01");
    assert_reads("0001-01-01T01:00:00+01:00", -62135596800 * US_PER_S);
    assert_reads("9999-12-31T22:59:59-01:00", 253402300799 * US_PER_S);
    assert_writes(253402300799 * US_PER_S, "9999-12-31T23:59:59.000Z");
    assert_writes(-62135596800 * US_PER_S, "0001-01-01T00:00:00.000Z");
}

static void test_writes_before_1970(void **state)
{
    (void)state;
    assert_writes(0, "1970-01-01T00:00:00.000Z");
    assert_writes(-1, "1969-12-31T23:59:59.999Z");
    assert_writes(-US_PER_S, "1969-12-31T23:59:59.000Z");
    assert_writes(-US_PER_S - US_PER_MS, "1969-12-31T23:59:58.999Z");
    assert_writes(1795253400 * US_PER_S + 999999, "2026-11-21T09:30:00.999Z");
}

static void test_what_is_written_is_read_back(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    uint64_t random = 88172645463325252U;
    for (int i = 0; i < 20000; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        int64_t ms = (int64_t)(random % UINT64_C(315537897600000)) - INT64_C(62135596800000);
        char text[CLOCK_ISO_CHARS + 1];
        clock_format_iso(ms * US_PER_MS + (int64_t)(random % 1000), text);
        assert_int_equal(strlen(text), CLOCK_ISO_CHARS);
        assert_reads(text, ms * US_PER_MS);
    }
    assert_string_equal(clock_iso(arena, 1500), "1970-01-01T00:00:00.001Z");
}

/* RFC 5322 §3.3 */
static void test_mail_dates(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    assert_string_equal(clock_rfc5322(arena, 1795253400 * US_PER_S), "Sat, 21 Nov 2026 09:30:00 +0000");
    assert_string_equal(clock_rfc5322(arena, 0), "Thu, 01 Jan 1970 00:00:00 +0000");
    assert_string_equal(clock_rfc5322(arena, -1), "Wed, 31 Dec 1969 23:59:59 +0000");
    assert_string_equal(clock_rfc5322(arena, 951825600 * US_PER_S), "Tue, 29 Feb 2000 12:00:00 +0000");
    static const char weekdays[] = "ThuFriSatSunMonTueWed";
    for (int day = 0; day < 21; day++)
        assert_memory_equal(clock_rfc5322(arena, day * DAY_S * US_PER_S), weekdays + day % 7 * 3, 3);
}

static void test_the_clock_can_be_moved(void **state)
{
    (void)state;
    int64_t before_us = clock_now_us();
    int64_t monotonic_us = clock_monotonic_us();
    clock_set_offset_us(3 * DAY_S * US_PER_S);
    int64_t moved_us = clock_now_us();
    assert_true(moved_us - before_us >= 3 * DAY_S * US_PER_S && moved_us - before_us < (3 * DAY_S + 60) * US_PER_S);
    /* Waiting is not business time. */
    assert_true(clock_monotonic_us() - monotonic_us < 60 * US_PER_S);
    clock_set_offset_us(0);
    assert_true(clock_now_us() - before_us < 60 * US_PER_S);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_date_times),
        cmocka_unit_test(test_reads_fractions),
        cmocka_unit_test(test_reads_zones),
        cmocka_unit_test(test_leap_days),
        cmocka_unit_test(test_refuses_what_is_no_time),
        cmocka_unit_test(test_the_ends_of_time),
        cmocka_unit_test(test_writes_before_1970),
        cmocka_unit_test(test_what_is_written_is_read_back),
        cmocka_unit_test(test_mail_dates),
        cmocka_unit_test(test_the_clock_can_be_moved),
    };
    return cmocka_run_group_tests_name("base: clock", tests, NULL, NULL);
}
