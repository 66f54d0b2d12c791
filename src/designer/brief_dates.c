#include "designer/brief_dates.h"

#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MONTHS = 12, WEEKDAYS = 7, MINUTES_PER_HOUR = 60, HOURS_PER_DAY = 24, DAYS_PER_WEEK = 7 };

/* Longer names come before their short forms. */
static const char *const months[MONTHS] = {
    "january|januar|janvier|jänner|enero|jan",
    "february|februar|février|febrero|feb",
    "march|märz|mars|marzo|mar",
    "april|avril|abril|apr",
    "may|mai|mayo",
    "june|juni|juin|junio|jun",
    "july|juli|juillet|julio|jul",
    "august|août|agosto|aug",
    "september|septembre|septiembre|sept|sep",
    "october|oktober|octobre|octubre|oct|okt",
    "november|novembre|noviembre|nov",
    "december|dezember|décembre|diciembre|dec|dez",
};
static const char *const weekdays[WEEKDAYS] = {
    "monday|montag|lundi|lunes",        "tuesday|dienstag|mardi|martes",   "wednesday|mittwoch|mercredi|miércoles",
    "thursday|donnerstag|jeudi|jueves", "friday|freitag|vendredi|viernes", "saturday|samstag|sonnabend|samedi|sábado",
    "sunday|sonntag|dimanche|domingo",
};
/* A day of the week alone is a date only behind one of these: "every Friday" is none. */
static const char *const before_weekday[] = { "next ",     "on ",        "this ",   "by ",   "until ", "coming ", "nächsten ",
                                              "nächster ", "kommenden ", "diesen ", "am ",   "bis ",   "ce ",     "próximo ",
                                              "el ",       "este ",      "hasta ",  "till ", NULL };
static const char *const before_end[] = { "until ",  "till ",     "through ",   "by ",       "ends ",     "ends on ",
                                          "before ", "bis ",      "bis zum ",   "jusqu'au ", "jusqu’au ", "hasta el ",
                                          "hasta ",  "avant le ", "antes del ", NULL };
static const char *const after_today[] = { "tomorrow", "morgen", "demain", "mañana", NULL };
static const char *const todays[] = { "today", "tonight", "heute", "aujourd'hui", "aujourd’hui", "hoy", NULL };

/* ---- The calendar ---- */

static const int64_t days_per_era = 146097; /* 400 years */

int64_t calendar_number(struct calendar_day day)
{
    int64_t year = day.month <= 2 ? day.year - 1 : day.year;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t year_of_era = year - era * 400;
    int64_t day_of_year = (153 * (day.month + (day.month > 2 ? -3 : 9)) + 2) / 5 + day.day - 1;
    return era * days_per_era + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

struct calendar_day calendar_day(int64_t number)
{
    int64_t shifted = number + 719468;
    int64_t era = (shifted >= 0 ? shifted : shifted - days_per_era + 1) / days_per_era;
    int64_t of_era = shifted - era * days_per_era;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * of_year + 2) / 153;
    struct calendar_day day = { .day = (int)(of_year - (153 * month + 2) / 5 + 1),
                                .month = (int)(month < 10 ? month + 3 : month - 9) };
    day.year = year + era * 400 + (day.month <= 2);
    return day;
}

int calendar_weekday(int64_t number)
{
    int64_t weekday = (number + 3) % DAYS_PER_WEEK;
    return (int)(weekday < 0 ? weekday + DAYS_PER_WEEK : weekday);
}

bool calendar_has(struct calendar_day day)
{
    if (day.month < 1 || day.month > MONTHS || day.day < 1)
        return false;
    struct calendar_day again = calendar_day(calendar_number(day));
    return again.year == day.year && again.month == day.month && again.day == day.day;
}

void moment_write(int64_t number, int minute, char ret_moment[MOMENT_CHARS + 1])
{
    struct calendar_day day = calendar_day(number);
    char date[64];
    snprintf(date, sizeof(date), "%04d-%02d-%02dT%02d:%02d", (int)day.year, day.month, day.day,
             minute < 0 ? 0 : minute / MINUTES_PER_HOUR, minute < 0 ? 0 : minute % MINUTES_PER_HOUR);
    snprintf(ret_moment, MOMENT_CHARS + 1, "%.*s", minute < 0 ? 10 : MOMENT_CHARS, date);
}

/* ---- Words and numbers ---- */

static bool is_word_byte(char byte)
{
    return isalnum((unsigned char)byte) || (unsigned char)byte >= 0x80;
}

/* The bytes of the name among alternatives with | between that the text begins with; 0: none. */
static size_t name_size(const char *names, const char *text)
{
    while (*names != '\0') {
        size_t size = strcspn(names, "|");
        if (strncmp(names, text, size) == 0 && !is_word_byte(text[size]))
            return size;
        names += size + (names[size] == '|');
    }
    return 0;
}

static size_t one_of_names(const char *const *tables, int count, const char *text, int *ret_index)
{
    for (int i = 0; i < count; i++) {
        size_t size = name_size(tables[i], text);
        if (size > 0) {
            *ret_index = i;
            return size;
        }
    }
    return 0;
}

bool starts_with_month(const char *text)
{
    int month;
    return one_of_names(months, MONTHS, text, &month) > 0;
}

static size_t digits(const char *text, size_t least, size_t most, int *ret_number)
{
    size_t size = strspn(text, "0123456789");
    if (size < least || size > most)
        return 0;
    *ret_number = (int)strtol(text, NULL, 10);
    return size;
}

static size_t spaces(const char *text)
{
    return strspn(text, " \t");
}

static bool ends_with_one(const char *text, size_t end, const char *const *words)
{
    for (; *words != NULL; words++) {
        size_t size = strlen(*words);
        bool is_here = end >= size && strncmp(text + end - size, *words, size) == 0;
        if (is_here && (end == size || !is_word_byte(text[end - size - 1])))
            return true;
    }
    return false;
}

static size_t one_of_words(const char *const *words, const char *text)
{
    for (; *words != NULL; words++)
        if (text_starts_with(text, *words) && !is_word_byte(text[strlen(*words)]))
            return strlen(*words);
    return 0;
}

/* ---- Times ---- */

/* "am" and "pm"; 0 when the time has neither. */
static size_t half_of_day(const char *text, int *hour)
{
    size_t skip = spaces(text);
    bool is_half = (text[skip] == 'a' || text[skip] == 'p') && text[skip + 1] == 'm' && !is_word_byte(text[skip + 2]);
    if (!is_half || *hour > 12 || *hour == 0)
        return 0;
    *hour = *hour % 12 + (text[skip] == 'p' ? 12 : 0);
    return skip + 2;
}

static size_t hour_word(const char *text)
{
    static const char *const words[] = { "uhr", "o'clock", "heures", "h", "horas", NULL };
    size_t skip = spaces(text);
    size_t size = one_of_words(words, text + skip);
    return size > 0 ? skip + size : 0;
}

static size_t minutes_of(const char *text, int *minute)
{
    bool has_mark = text[0] == ':' || text[0] == 'h' || (text[0] == '.' && isdigit((unsigned char)text[1]));
    size_t size = has_mark ? digits(text + 1, 2, 2, minute) : 0;
    return size > 0 && *minute < MINUTES_PER_HOUR ? size + 1 : 0;
}

size_t time_read(const char *text, int *ret_minute)
{
    int hour;
    int minute = 0;
    size_t size = digits(text, 1, 2, &hour);
    if (size == 0)
        return 0;
    size_t more = minutes_of(text + size, &minute);
    bool is_dotted = more > 0 && text[size] == '.';
    size += more;
    size_t half = half_of_day(text + size, &hour);
    size_t word = half > 0 ? half : hour_word(text + size);
    if (hour >= HOURS_PER_DAY || (word == 0 && (more == 0 || is_dotted)) || (word == 0 && isalnum((unsigned char)text[size])))
        return 0;
    *ret_minute = hour * MINUTES_PER_HOUR + minute;
    return size + word;
}

static size_t connector(const char *text, const char *const *words)
{
    size_t skip = strspn(text, " ,\t");
    size_t dash = text_starts_with(text + skip, "–") || text_starts_with(text + skip, "—") ? strlen("–") : text[skip] == '-';
    size_t size = dash > 0 ? dash : one_of_words(words, text + skip);
    return skip + size + spaces(text + skip + size);
}

/* A time behind a date, and the end of its range. */
static size_t read_hours(const char *text, struct found_date *date)
{
    static const char *const begins[] = { "at", "from", "um", "ab", "von", "à", "de", "a las", "a la", "a partir de", "t", NULL };
    static const char *const ends[] = { "to", "until", "bis", "à", "a", "a las", "till", NULL };
    size_t size = *text == 't' && isdigit((unsigned char)text[1]) ? 1 : connector(text, begins);
    size_t time = time_read(text + size, &date->minute);
    if (time == 0)
        return 0;
    size += time;
    size_t gap = connector(text + size, ends);
    size_t end = gap > 0 ? time_read(text + size + gap, &date->end_minute) : 0;
    return end > 0 ? size + gap + end : size;
}

/* ---- Dates ---- */

struct date_reader {
    const char *text;
    int64_t today;
    bool is_month_first;
};

/* A date without a year is the next one. */
static bool settle(const struct date_reader *reader, int year, int month, int day, int64_t *ret_day)
{
    struct calendar_day date = { .year = year, .month = month, .day = day };
    if (year == 0)
        date.year = calendar_day(reader->today).year;
    if (year == 0 && (!calendar_has(date) || calendar_number(date) < reader->today))
        date.year++;
    *ret_day = calendar_number(date);
    return calendar_has(date);
}

static size_t read_year(const char *text, int *year)
{
    static const char *const of[] = { "de", "del", NULL };
    size_t skip = connector(text, of);
    size_t size = digits(text + skip, 4, 4, year);
    if (size > 0 && *year >= 1900 && !is_word_byte(text[skip + size]) && text[skip + size] != ':')
        return skip + size;
    *year = 0;
    return 0;
}

static size_t read_iso(const struct date_reader *reader, const char *text, int64_t *ret_day)
{
    int year;
    int month;
    int day;
    if (digits(text, 4, 4, &year) == 0 || text[4] != '-' || digits(text + 5, 2, 2, &month) == 0 || text[7] != '-' ||
        digits(text + 8, 2, 2, &day) == 0)
        return 0;
    return settle(reader, year, month, day, ret_day) ? 10 : 0;
}

/* 31.5.2026, 31.05., 31/05/2026 */
static size_t read_numeric(const struct date_reader *reader, const char *text, int64_t *ret_day)
{
    int first;
    int second;
    int year = 0;
    size_t size = digits(text, 1, 2, &first);
    char mark = text[size];
    if (size == 0 || (mark != '.' && mark != '/'))
        return 0;
    size_t more = digits(text + size + 1, 1, 2, &second);
    size_t at = size + 1 + more;
    if (more == 0 || text[at] != mark)
        return 0;
    size_t last = digits(text + at + 1, 4, 4, &year);
    if (last == 0 && mark == '/')
        return 0;
    bool is_month_first = mark == '/' && reader->is_month_first && first <= MONTHS;
    return settle(reader, year, is_month_first ? first : second, is_month_first ? second : first, ret_day) ? at + 1 + last : 0;
}

static size_t read_day_month(const struct date_reader *reader, const char *text, int64_t *ret_day);

/* The first day of a range whose month stands behind the second: "12 and 13 October", "4. bis zum 15. Januar". */
static size_t read_first_day(const struct date_reader *reader, const char *text, int day, int64_t *ret_day)
{
    static const char *const words[] = { "and", "to", "und", "bis zum", "bis", "et", "au", "y", "al", NULL };
    int64_t second;
    size_t size = strspn(text, "0123456789");
    size += text[size] == '.';
    size_t gap = connector(text + size, words);
    size_t more = gap > 1 || text[size] == '-' ? strspn(text + size + gap, "0123456789") : 0;
    if (more == 0 || strtol(text + size + gap, NULL, 10) <= day || read_day_month(reader, text + size + gap, &second) <= more)
        return 0;
    struct calendar_day date = calendar_day(second);
    return settle(reader, (int)date.year, date.month, day, ret_day) ? size : 0;
}

/* 31 May, 31. Mai 2026, 31st of May, 31 de mayo de 2026 */
static size_t read_day_month(const struct date_reader *reader, const char *text, int64_t *ret_day)
{
    static const char *const marks[] = { "st", "nd", "rd", "th", "er", ".", NULL };
    static const char *const of[] = { "of", "de", NULL };
    int day;
    int month;
    int year = 0;
    size_t size = digits(text, 1, 2, &day);
    if (size == 0)
        return 0;
    for (const char *const *mark = marks; *mark != NULL; mark++)
        if (text_starts_with(text + size, *mark)) {
            size += strlen(*mark);
            break;
        }
    size += connector(text + size, of);
    size_t name = one_of_names(months, MONTHS, text + size, &month);
    if (name == 0)
        return read_first_day(reader, text, day, ret_day);
    size += name;
    size += read_year(text + size, &year);
    return settle(reader, year, month + 1, day, ret_day) ? size : 0;
}

/* May 31, May 31st, 2026 */
static size_t read_month_day(const struct date_reader *reader, const char *text, int64_t *ret_day)
{
    int day;
    int month;
    int year = 0;
    size_t size = one_of_names(months, MONTHS, text, &month);
    if (size == 0 || text[size] != ' ')
        return 0;
    size_t number = digits(text + size + 1, 1, 2, &day);
    if (number == 0 || text[size + 1 + number] == ':')
        return 0;
    size += 1 + number;
    if (isalpha((unsigned char)text[size]) && isalpha((unsigned char)text[size + 1]) && !is_word_byte(text[size + 2]))
        size += 2;
    size += read_year(text + size, &year);
    return settle(reader, year, month + 1, day, ret_day) ? size : 0;
}

static size_t read_weekday(const struct date_reader *reader, size_t at, int64_t *ret_day)
{
    const char *text = reader->text + at;
    int weekday;
    size_t size = one_of_names(weekdays, WEEKDAYS, text, &weekday);
    bool is_next = text_starts_with(text + size, " prochain") || text_starts_with(text + size, " próximo");
    if (size == 0 || (!is_next && !ends_with_one(reader->text, at, before_weekday)))
        return 0;
    int ahead = (weekday - calendar_weekday(reader->today) + WEEKDAYS) % WEEKDAYS;
    *ret_day = reader->today + (ahead == 0 ? WEEKDAYS : ahead);
    return size;
}

static size_t read_relative(const struct date_reader *reader, size_t at, int64_t *ret_day)
{
    static const char *const mornings[] = { "guten ", "la ", "gute ", NULL };
    const char *text = reader->text + at;
    size_t size = one_of_words(after_today, text);
    *ret_day = reader->today + 1;
    if (size > 0 && !ends_with_one(reader->text, at, mornings))
        return size;
    *ret_day = reader->today;
    return one_of_words(todays, text);
}

static size_t read_date(const struct date_reader *reader, size_t at, int64_t *ret_day)
{
    const char *text = reader->text + at;
    size_t size = read_iso(reader, text, ret_day);
    size = size > 0 ? size : read_numeric(reader, text, ret_day);
    size = size > 0 ? size : read_day_month(reader, text, ret_day);
    size = size > 0 ? size : read_month_day(reader, text, ret_day);
    size = size > 0 ? size : read_weekday(reader, at, ret_day);
    return size > 0 ? size : read_relative(reader, at, ret_day);
}

/* "Friday, 5 June" is one date. */
static bool is_date_after_weekday(const struct date_reader *reader, size_t at, size_t size)
{
    int weekday;
    int64_t day;
    if (one_of_names(weekdays, WEEKDAYS, reader->text + at, &weekday) == 0)
        return false;
    size_t skip = strspn(reader->text + at + size, " ,.");
    skip += text_starts_with(reader->text + at + size + skip, "den ") ? 4 : 0;
    return skip > 0 && read_date(reader, at + size + skip, &day) > 0;
}

size_t dates_find(const char *text, int64_t today, bool is_month_first, struct found_date *ret_dates, size_t max)
{
    struct date_reader reader = { .text = text, .today = today, .is_month_first = is_month_first };
    size_t count = 0;
    for (size_t at = 0; text[at] != '\0' && count < max; at++) {
        struct found_date date = { .begin = at, .minute = -1, .end_minute = -1 };
        if (!is_word_byte(text[at]) || (at > 0 && (is_word_byte(text[at - 1]) || strchr("./-:#", text[at - 1]) != NULL)))
            continue;
        size_t size = read_date(&reader, at, &date.day);
        if (size == 0 || is_date_after_weekday(&reader, at, size))
            continue;
        date.is_end = ends_with_one(text, at, before_end);
        date.end = at + size + read_hours(text + at + size, &date);
        at = date.end - 1;
        ret_dates[count++] = date;
    }
    return count;
}
