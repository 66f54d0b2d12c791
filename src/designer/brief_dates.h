/*
 * Dates and times of briefs: ISO, "31 May 2026", "May 31", "31. Mai 2026",
 * "31/05/2026", "next Friday", "tomorrow at 18:30", in English, German, French
 * and Spanish. A date without a year is the next one. Private to src/designer.
 *
 * Days count from 1970-01-01 (proleptic Gregorian calendar). Any thread.
 */
#pragma once

#include "base/compiler.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MOMENT_CHARS = 16, BRIEF_DATES_MAX = 40 };

struct calendar_day {
    int64_t year;
    int month; /* 1 to 12 */
    int day;
};

/* The number of a day, and the day of a number. */
int64_t calendar_number(struct calendar_day day);
struct calendar_day calendar_day(int64_t number);

/* 0: Monday, 6: Sunday. */
int calendar_weekday(int64_t number);

bool calendar_has(struct calendar_day day);

struct found_date {
    size_t begin; /* bytes in the text */
    size_t end;
    int64_t day;
    int minute;     /* of the day; -1: no time */
    int end_minute; /* of a range of hours; -1: none */
    bool is_end;    /* "until" or a word like it stands before the date */
};

/* Finds the dates of a text whose ASCII letters are lower case. `today` is a number of a day. `is_month_first` decides what
 * 5/6/2026 is. Returns how many were found, at most `max`. */
size_t dates_find(const char *text, int64_t today, bool is_month_first, struct found_date *ret_dates, size_t max) NONNULL(1, 4);

/* Reads a time of day at `text`: its bytes, or 0. */
size_t time_read(const char *text, int *ret_minute) NONNULL(1, 2);

/* Whether the text, in lower case, begins with the name of a month. */
bool starts_with_month(const char *text) NONNULL(1) PURE;

/* 2026-05-31, or 2026-05-31T18:30 with a minute that is not negative. */
void moment_write(int64_t day, int minute, char ret_moment[MOMENT_CHARS + 1]) NONNULL(3);
