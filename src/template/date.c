/*
 * The filter date: formats a time by a strftime format, in the time zone of the
 * setting and with English names.
 *
 * Input: ISO 8601 dates (RFC 3339 with or without its parts: 2026-05-01,
 * 2026-05-01T09:30, …:00.250Z, …+02:00), seconds since 1970 as a number or
 * digits, and the words now and today. A date without a time is that day in any
 * zone. A time without an offset is in the zone of the setting. A value that is
 * not a date is unchanged.
 */
#include "template/filter.h"
#include "template/zone.h"

#include <stdio.h>
#include <string.h>

enum { MS_PER_S = 1000, S_PER_MINUTE = 60, S_PER_HOUR = 3600, S_PER_DAY = 86400, DAYS_PER_WEEK = 7, LARGEST_WIDTH = 100 };

/* ECMA-262 §21.4.1.1: dates reach 100,000,000 days before and after 1970. */
static const int64_t farthest_s = INT64_C(8640000000000);

/* A point in time, and its date and time of day in a zone. */
struct moment {
    int64_t at_s;
    int millisecond;
    int64_t offset_s;
    int64_t year;
    int month; /* from 1 */
    int day;
    int hour, minute, second;
    int weekday;     /* 0 is Sunday */
    int day_of_year; /* from 1 */
};

/* Converts a day of the Gregorian calendar to days since 1970-01-01, and back. Years start in March, so that leap days come last.
 */
static int64_t days_from_date(int64_t year, int month, int day)
{
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t year_of_era = year - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

static void date_from_days(int64_t days, struct moment *moment)
{
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    int64_t day_of_era = days - era * 146097;
    int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month = (5 * day_of_year + 2) / 153;
    moment->day = (int)(day_of_year - (153 * month + 2) / 5 + 1);
    moment->month = (int)(month < 10 ? month + 3 : month - 9);
    moment->year = year_of_era + era * 400 + (moment->month <= 2);
}

static int64_t floor_division(int64_t number, int64_t divisor)
{
    return number / divisor - (number % divisor < 0);
}

static void moment_fill(struct moment *moment, int64_t at_s, int64_t offset_s)
{
    int64_t shown = at_s + offset_s;
    int64_t days = floor_division(shown, S_PER_DAY);
    int second = (int)(shown - days * S_PER_DAY);
    moment->at_s = at_s;
    moment->offset_s = offset_s;
    date_from_days(days, moment);
    moment->hour = second / S_PER_HOUR;
    moment->minute = second / S_PER_MINUTE % 60;
    moment->second = second % S_PER_MINUTE;
    moment->weekday = (int)(((days + 4) % DAYS_PER_WEEK + DAYS_PER_WEEK) % DAYS_PER_WEEK);
    moment->day_of_year = (int)(days - days_from_date(moment->year, 1, 1)) + 1;
}

/* ---- Reading ---- */

struct digits {
    const char *at;
    const char *end;
};

/* Reads exactly `count` digits. */
static bool take_digits(struct digits *digits, int count, int *ret_number)
{
    *ret_number = 0;
    for (int i = 0; i < count; i++) {
        if (digits->at == digits->end || *digits->at < '0' || *digits->at > '9')
            return false;
        *ret_number = *ret_number * 10 + (*digits->at++ - '0');
    }
    return true;
}

static bool take_byte(struct digits *digits, const char *bytes)
{
    if (digits->at == digits->end || strchr(bytes, *digits->at) == NULL || *digits->at == '\0')
        return false;
    digits->at++;
    return true;
}

static bool take_date(struct digits *digits, int *ret_year, int *ret_month, int *ret_day)
{
    static const int lengths[] = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    if (!take_digits(digits, 4, ret_year) || !take_byte(digits, "-") || !take_digits(digits, 2, ret_month) ||
        !take_byte(digits, "-") || !take_digits(digits, 2, ret_day))
        return false;
    return *ret_month >= 1 && *ret_month <= 12 && *ret_day >= 1 && *ret_day <= lengths[*ret_month - 1];
}

static bool take_fraction(struct digits *digits, int *ret_millisecond)
{
    int place = 100;
    *ret_millisecond = 0;
    if (!take_byte(digits, ".,"))
        return true;
    const char *from = digits->at;
    int digit;
    while (take_digits(digits, 1, &digit)) {
        *ret_millisecond += digit * place;
        place /= 10;
    }
    return digits->at > from;
}

static bool take_time(struct digits *digits, int *ret_second, int *ret_millisecond)
{
    int hour;
    int minute;
    int second = 0;
    *ret_millisecond = 0;
    if (!take_digits(digits, 2, &hour) || !take_byte(digits, ":") || !take_digits(digits, 2, &minute) || hour > 23 || minute > 59)
        return false;
    if (take_byte(digits, ":") && (!take_digits(digits, 2, &second) || second > 59 || !take_fraction(digits, ret_millisecond)))
        return false;
    *ret_second = hour * S_PER_HOUR + minute * S_PER_MINUTE + second;
    return true;
}

/* Reads Z or +hh:mm. `ret_known` is false without an offset. */
static bool take_offset(struct digits *digits, bool *ret_known, int *ret_offset_s)
{
    int hour;
    int minute = 0;
    *ret_offset_s = 0;
    *ret_known = digits->at < digits->end;
    if (!*ret_known || take_byte(digits, "Zz"))
        return digits->at == digits->end;
    bool is_west = *digits->at == '-';
    if (!take_byte(digits, "+-") || !take_digits(digits, 2, &hour))
        return false;
    take_byte(digits, ":");
    if (!take_digits(digits, 2, &minute) || hour > 23 || minute > 59)
        return false;
    *ret_offset_s = (is_west ? -1 : 1) * (hour * S_PER_HOUR + minute * S_PER_MINUTE);
    return digits->at == digits->end;
}

/* Converts local time to UTC. The offset at the first guess is right except in the hours around an offset change. */
static int64_t from_zone(const struct template_zone *zone, int64_t shown_s)
{
    int64_t guess = shown_s - template_zone_offset_s(zone, shown_s);
    return shown_s - template_zone_offset_s(zone, guess);
}

static bool moment_read(const char *text, size_t size, const struct template_zone *zone, struct moment *ret_moment)
{
    struct digits digits = { text, text + size };
    int year;
    int month;
    int day;
    int second = 0;
    int offset_s = 0;
    bool known = false;
    *ret_moment = (struct moment){ .millisecond = 0 };
    if (!take_date(&digits, &year, &month, &day))
        return false;
    int64_t shown_s = days_from_date(year, month, day) * S_PER_DAY;
    if (digits.at < digits.end) {
        if (!take_byte(&digits, "Tt ") || !take_time(&digits, &second, &ret_moment->millisecond) ||
            !take_offset(&digits, &known, &offset_s))
            return false;
        shown_s += second;
    }
    int64_t at_s = known ? shown_s - offset_s : from_zone(zone, shown_s);
    moment_fill(ret_moment, at_s, template_zone_offset_s(zone, at_s));
    return true;
}

static bool moment_from_value(const struct template_setting *setting, const struct template_value *value, struct moment *ret_moment)
{
    double number = 0;
    bool is_text = value->kind == TEMPLATE_STRING;
    bool is_digits = is_text && value->size > 0;
    for (size_t i = 0; is_digits && i < value->size; i++)
        is_digits = value->text[i] >= '0' && value->text[i] <= '9';
    bool is_now = is_text && ((value->size == 3 && memcmp(value->text, "now", 3) == 0) ||
                              (value->size == 5 && memcmp(value->text, "today", 5) == 0));
    if (is_now)
        number = (double)setting->now_us / (MS_PER_S * 1000);
    else if (is_text && !is_digits)
        return moment_read(value->text, value->size, setting->zone, ret_moment);
    else if (value->kind == TEMPLATE_BOOL || !template_to_number(value, &number))
        return false;
    if (!(number > -(double)farthest_s && number < (double)farthest_s))
        return false;
    int64_t milliseconds = (int64_t)(number * MS_PER_S);
    int64_t at_s = floor_division(milliseconds, MS_PER_S);
    *ret_moment = (struct moment){ .millisecond = (int)(milliseconds - at_s * MS_PER_S) };
    moment_fill(ret_moment, at_s, template_zone_offset_s(setting->zone, at_s));
    return true;
}

/* ---- Writing ---- */

/* One conversion: %[flags][width]letter. */
struct conversion {
    bool upper, swaps, spaces, zeros, bare, colon;
    int width;
    char letter;
};

static const char *const month_names[] = { "January", "February", "March",     "April",   "May",      "June",
                                           "July",    "August",   "September", "October", "November", "December" };
static const char *const day_names[] = { "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday" };

static void write_date_number(struct buf *out, struct conversion conversion, int64_t number, int width, char pad)
{
    char digits[24];
    if (conversion.spaces)
        pad = ' ';
    if (conversion.zeros)
        pad = '0';
    if (conversion.width > 0)
        width = conversion.width;
    if (conversion.bare)
        width = 0;
    snprintf(digits, sizeof(digits), "%lld", (long long)(number < 0 ? -number : number));
    int missing = width - (int)strlen(digits) - (number < 0);
    if (number < 0 && pad == '0')
        buf_add_char(out, '-');
    for (; missing > 0; missing--)
        buf_add_char(out, pad);
    if (number < 0 && pad != '0')
        buf_add_char(out, '-');
    buf_add_text(out, digits);
}

static char date_upper(char byte)
{
    return byte >= 'a' && byte <= 'z' ? (char)(byte - 'a' + 'A') : byte;
}

static char date_lower(char byte)
{
    return byte >= 'A' && byte <= 'Z' ? (char)(byte - 'A' + 'a') : byte;
}

static void write_words(struct buf *out, struct conversion conversion, const char *text, size_t size)
{
    bool has_lower = false;
    for (size_t i = 0; i < size; i++)
        has_lower |= text[i] >= 'a' && text[i] <= 'z';
    for (int missing = conversion.bare ? 0 : conversion.width - (int)size; missing > 0; missing--)
        buf_add_char(out, conversion.zeros ? '0' : ' ');
    for (size_t i = 0; i < size; i++) {
        char byte = text[i];
        if (conversion.upper || (conversion.swaps && has_lower))
            byte = date_upper(byte);
        else if (conversion.swaps)
            byte = date_lower(byte);
        buf_add_char(out, byte);
    }
}

static void write_offset(struct buf *out, struct conversion conversion, int64_t offset_s)
{
    int64_t minutes = (offset_s < 0 ? -offset_s : offset_s) / S_PER_MINUTE;
    buf_printf(out, "%c%02d%s%02d", offset_s < 0 ? '-' : '+', (int)(minutes / 60), conversion.colon ? ":" : "",
               (int)(minutes % 60));
}

/* The week of the year, if weeks begin on `first_weekday`. Days before the first such day are in week 0. */
static int week_of_year(const struct moment *moment, int first_weekday)
{
    int days_into_week = (moment->weekday - first_weekday + DAYS_PER_WEEK) % DAYS_PER_WEEK;
    return (moment->day_of_year - 1 - days_into_week + DAYS_PER_WEEK) / DAYS_PER_WEEK;
}

static const char *ordinal_suffix(int day)
{
    static const char *const suffixes[] = { "th", "st", "nd", "rd" };
    bool is_teen = day >= 11 && day <= 13;
    return suffixes[is_teen || day % 10 > 3 ? 0 : day % 10];
}

/* Writes the fraction of a second; the width is the number of digits. */
static void write_fraction(struct buf *out, struct conversion conversion, int millisecond)
{
    enum { USUAL_PLACES = 9, KNOWN_PLACES = 3 };
    char digits[8];
    int places = conversion.width > 0 ? conversion.width : USUAL_PLACES;
    snprintf(digits, sizeof(digits), "%03d", millisecond);
    buf_add(out, digits, (size_t)(places < KNOWN_PLACES ? places : KNOWN_PLACES));
    for (int place = KNOWN_PLACES; place < places; place++)
        buf_add_char(out, '0');
}

/* Writes the conversions that give text. False for other letters. */
static bool write_text_conversion(struct buf *out, const struct template_setting *setting, const struct moment *moment,
                                  struct conversion conversion)
{
    enum { SHORT_NAME_BYTES = 3 };
    const char *text;
    switch (conversion.letter) {
    case 'a':
        write_words(out, conversion, day_names[moment->weekday], SHORT_NAME_BYTES);
        return true;
    case 'b':
    case 'h':
        write_words(out, conversion, month_names[moment->month - 1], SHORT_NAME_BYTES);
        return true;
    case 'A':
        text = day_names[moment->weekday];
        break;
    case 'B':
        text = month_names[moment->month - 1];
        break;
    case 'p':
        text = moment->hour < 12 ? "AM" : "PM";
        break;
    case 'P':
        text = moment->hour < 12 ? "am" : "pm";
        break;
    case 'q':
        text = ordinal_suffix(moment->day);
        break;
    case 'Z':
        text = setting->zone != NULL && setting->zone_name != NULL ? setting->zone_name : "UTC";
        break;
    case 't':
        text = "\t";
        break;
    case 'n':
        text = "\n";
        break;
    case '%':
        text = "%";
        break;
    default:
        return false;
    }
    write_words(out, conversion, text, strlen(text));
    return true;
}

/* Writes the conversions that give numbers. False for other letters. */
static bool write_number_conversion(struct buf *out, const struct moment *moment, struct conversion conversion)
{
    int hour12 = moment->hour % 12 == 0 ? 12 : moment->hour % 12;
    const struct {
        char letter;
        char pad;
        int width;
        int64_t number;
    } numbers[] = {
        { 'C', '0', 2, floor_division(moment->year, 100) },
        { 'd', '0', 2, moment->day },
        { 'e', ' ', 2, moment->day },
        { 'H', '0', 2, moment->hour },
        { 'I', '0', 2, hour12 },
        { 'j', '0', 3, moment->day_of_year },
        { 'k', ' ', 2, moment->hour },
        { 'l', ' ', 2, hour12 },
        { 'L', '0', 3, moment->millisecond },
        { 'm', '0', 2, moment->month },
        { 'M', '0', 2, moment->minute },
        { 's', '0', 0, moment->at_s },
        { 'S', '0', 2, moment->second },
        { 'u', '0', 0, moment->weekday == 0 ? DAYS_PER_WEEK : moment->weekday },
        { 'U', '0', 2, week_of_year(moment, 0) },
        { 'w', '0', 0, moment->weekday },
        { 'W', '0', 2, week_of_year(moment, 1) },
        { 'y', '0', 2, (moment->year % 100 + 100) % 100 },
        { 'Y', '0', 4, moment->year },
    };
    for (size_t i = 0; i < ARRAY_COUNT(numbers); i++) {
        if (numbers[i].letter != conversion.letter)
            continue;
        write_date_number(out, conversion, numbers[i].number, numbers[i].width, numbers[i].pad);
        return true;
    }
    return false;
}

/* Parses the conversion after a '%'. Returns its size; 0 when it is incomplete or too wide. */
static size_t read_conversion(const char *text, size_t size, struct conversion *ret_conversion)
{
    size_t i = 0;
    *ret_conversion = (struct conversion){ .width = 0 };
    for (; i < size && memchr("-_0^#:", text[i], 6) != NULL; i++) {
        ret_conversion->bare |= text[i] == '-';
        ret_conversion->spaces |= text[i] == '_';
        ret_conversion->zeros |= text[i] == '0';
        ret_conversion->upper |= text[i] == '^';
        ret_conversion->swaps |= text[i] == '#';
        ret_conversion->colon |= text[i] == ':';
    }
    for (; i < size && text[i] >= '0' && text[i] <= '9'; i++)
        if (ret_conversion->width <= LARGEST_WIDTH)
            ret_conversion->width = ret_conversion->width * 10 + (text[i] - '0');
    if (i < size && (text[i] == 'E' || text[i] == 'O'))
        i++;
    if (i == size || ret_conversion->width > LARGEST_WIDTH)
        return 0;
    ret_conversion->letter = text[i];
    return i + 1;
}

static void write_moment(struct buf *out, const struct template_setting *setting, const struct moment *moment, const char *format,
                         size_t size)
{
    for (size_t i = 0; i < size; i++) {
        struct conversion conversion;
        size_t taken = format[i] == '%' ? read_conversion(format + i + 1, size - i - 1, &conversion) : 0;
        if (taken == 0) {
            buf_add_char(out, format[i]);
            continue;
        }
        if (conversion.letter == 'z')
            write_offset(out, conversion, moment->offset_s);
        else if (conversion.letter == 'N')
            write_fraction(out, conversion, moment->millisecond);
        else if (!write_text_conversion(out, setting, moment, conversion) && !write_number_conversion(out, moment, conversion))
            buf_add(out, format + i, taken + 1);
        i += taken;
    }
}

bool template_filter_date(struct template_scratch *scratch, struct template_value *value, const struct template_value *arguments,
                          size_t count, struct error *err)
{
    static const char usual[] = "%A, %B %-e, %Y at %-l:%M %P %z";
    struct template_value format = template_string(usual, strlen(usual));
    struct moment moment;
    if (!moment_from_value(scratch->setting, value, &moment))
        return true;
    if (count > 0 && arguments[0].kind != TEMPLATE_NIL)
        format = arguments[0];
    if (!template_to_text(scratch, &format, err))
        return false;
    BUF_SCOPE out;
    buf_init(&out, TEMPLATE_MAX_SCRATCH_BYTES);
    write_moment(&out, scratch->setting, &moment, format.text, format.size);
    char *buffer = template_scratch_alloc(scratch, out.overflowed ? (size_t)TEMPLATE_MAX_SCRATCH_BYTES + 1 : out.size + 1, err);
    if (buffer == NULL)
        return false;
    memcpy(buffer, buf_text(&out), out.size);
    *value = template_string(buffer, out.size);
    return true;
}
