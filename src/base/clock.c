#include "base/clock.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z: years of four digits in UTC. */
#define FIRST_SECOND INT64_C(-62135596800)
#define LAST_SECOND  INT64_C(253402300799)

static _Atomic int64_t test_offset_us;

static int64_t read_clock_us(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * US_PER_S + now.tv_nsec / 1000;
}

int64_t clock_now_us(void)
{
    return read_clock_us(CLOCK_REALTIME) + atomic_load_explicit(&test_offset_us, memory_order_relaxed);
}

int64_t clock_monotonic_us(void)
{
    return read_clock_us(CLOCK_MONOTONIC);
}

int64_t clock_thread_processor_us(void)
{
    return read_clock_us(CLOCK_THREAD_CPUTIME_ID);
}

int64_t clock_later_us(int64_t from_us, int64_t count, int64_t unit_us)
{
    int64_t later;
    bool is_beyond = __builtin_mul_overflow(count, unit_us, &later) || __builtin_add_overflow(from_us, later, &later);
    return is_beyond ? INT64_MAX : later;
}

struct timespec clock_deadline(int64_t wait_ms)
{
    int64_t until_us = clock_monotonic_us() + wait_ms * US_PER_MS;
    return (struct timespec){ .tv_sec = until_us / US_PER_S, .tv_nsec = until_us % US_PER_S * 1000 };
}

void clock_set_offset_us(int64_t offset_us)
{
    atomic_store(&test_offset_us, offset_us);
}

/* Rounds down, so that times before 1970 have a positive fraction. */
static time_t whole_seconds(int64_t time_us, int64_t *ret_rest_us)
{
    int64_t seconds = time_us / US_PER_S;
    int64_t rest_us = time_us % US_PER_S;
    if (rest_us < 0) {
        rest_us += US_PER_S;
        seconds--;
    }
    *ret_rest_us = rest_us;
    return (time_t)seconds;
}

static char *put_digits(char *to, int value, int count)
{
    for (int i = count - 1; i >= 0; i--) {
        to[i] = (char)('0' + value % 10);
        value /= 10;
    }
    return to + count;
}

/* A list of contacts has hundreds of times, so this function avoids printf. */
void clock_format_iso(int64_t time_us, char ret_text[CLOCK_ISO_CHARS + 1])
{
    int64_t rest_us;
    time_t seconds = whole_seconds(time_us, &rest_us);
    struct tm parts;
    gmtime_r(&seconds, &parts);
    const struct {
        int value;
        int digits;
        char separator;
    } fields[] = {
        { parts.tm_year + 1900, 4, '-' },  { parts.tm_mon + 1, 2, '-' }, { parts.tm_mday, 2, 'T' },
        { parts.tm_hour, 2, ':' },         { parts.tm_min, 2, ':' },     { parts.tm_sec, 2, '.' },
        { (int)(rest_us / 1000), 3, 'Z' },
    };
    char *to = ret_text;
    for (size_t i = 0; i < ARRAY_COUNT(fields); i++) {
        to = put_digits(to, fields[i].value, fields[i].digits);
        *to++ = fields[i].separator;
    }
    *to = '\0';
}

char *clock_iso(struct arena *arena, int64_t time_us)
{
    char *text = arena_alloc(arena, CLOCK_ISO_CHARS + 1);
    clock_format_iso(time_us, text);
    return text;
}

/* Reads exactly `count` digits. */
static bool read_digits(const char **at, int count, int *ret_value)
{
    int value = 0;
    for (int i = 0; i < count; i++) {
        char digit = (*at)[i];
        if (digit < '0' || digit > '9')
            return false;
        value = value * 10 + (digit - '0');
    }
    *at += count;
    *ret_value = value;
    return true;
}

static bool read_char(const char **at, const char *accepted)
{
    if (**at == '\0' || strchr(accepted, **at) == NULL)
        return false;
    (*at)++;
    return true;
}

static bool read_fraction_us(const char **at, int64_t *ret_us)
{
    int64_t us = 0;
    int digits = 0;
    for (; **at >= '0' && **at <= '9'; (*at)++, digits++)
        if (digits < 6)
            us = us * 10 + (**at - '0');
    for (int i = digits; i < 6; i++)
        us *= 10;
    *ret_us = us;
    return digits > 0 && digits <= 9;
}

static bool read_zone_s(const char **at, int *ret_offset_s)
{
    *ret_offset_s = 0;
    if (read_char(at, "Zz"))
        return true;
    int sign = **at == '-' ? -1 : 1;
    int hours;
    int minutes;
    if (!read_char(at, "+-") || !read_digits(at, 2, &hours) || !read_char(at, ":") || !read_digits(at, 2, &minutes))
        return false;
    *ret_offset_s = sign * (hours * 3600 + minutes * 60);
    return hours <= 14 && minutes < 60;
}

bool clock_parse_iso(const char *text, int64_t *ret_time_us)
{
    const char *at = text;
    struct tm parts = { 0 };
    int year;
    int month;
    if (!read_digits(&at, 4, &year) || !read_char(&at, "-") || !read_digits(&at, 2, &month) || !read_char(&at, "-") ||
        !read_digits(&at, 2, &parts.tm_mday) || !read_char(&at, "Tt ") || !read_digits(&at, 2, &parts.tm_hour) ||
        !read_char(&at, ":") || !read_digits(&at, 2, &parts.tm_min) || !read_char(&at, ":") || !read_digits(&at, 2, &parts.tm_sec))
        return false;
    int64_t fraction_us = 0;
    if (*at == '.') {
        at++;
        if (!read_fraction_us(&at, &fraction_us))
            return false;
    }
    int offset_s;
    if (!read_zone_s(&at, &offset_s) || *at != '\0')
        return false;
    if (year < 1 || month < 1 || month > 12 || parts.tm_hour > 23 || parts.tm_min > 59 || parts.tm_sec > 59)
        return false;

    parts.tm_year = year - 1900;
    parts.tm_mon = month - 1;
    struct tm normal = parts;
    time_t seconds = timegm(&normal);
    /* timegm changes 31 April to 1 May; such a date is refused. */
    if (normal.tm_mday != parts.tm_mday || normal.tm_mon != parts.tm_mon)
        return false;
    int64_t utc_s = (int64_t)seconds - offset_s;
    if (utc_s < FIRST_SECOND || utc_s > LAST_SECOND)
        return false;
    *ret_time_us = utc_s * US_PER_S + fraction_us;
    return true;
}

char *clock_rfc5322(struct arena *arena, int64_t time_us)
{
    static const char days[][4] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };
    static const char months[][4] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
    int64_t rest_us;
    time_t seconds = whole_seconds(time_us, &rest_us);
    struct tm parts;
    gmtime_r(&seconds, &parts);
    return arena_printf(arena, "%s, %02d %s %04d %02d:%02d:%02d +0000", days[parts.tm_wday], parts.tm_mday, months[parts.tm_mon],
                        parts.tm_year + 1900, parts.tm_hour, parts.tm_min, parts.tm_sec);
}
