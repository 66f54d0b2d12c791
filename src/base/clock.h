/*
 * Clock: business time is a parameter of functions, in microseconds since the
 * Unix epoch (UTC). It comes from one clock, which tests can move. Leases use the
 * database's clock, and waits use the monotonic clock.
 */
#pragma once

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define US_PER_S  INT64_C(1000000)
#define US_PER_MS INT64_C(1000)

/* Now, in microseconds since the epoch, moved by the test offset. */
int64_t clock_now_us(void);

/* The monotonic clock in microseconds; for deadlines and durations. */
int64_t clock_monotonic_us(void);

/* The processor time that the calling thread has used, in microseconds; for budgets that must not depend on other work. */
int64_t clock_thread_processor_us(void);

/* `from_us` plus `count` units; INT64_MAX on overflow. */
int64_t clock_later_us(int64_t from_us, int64_t count, int64_t unit_us);

/* The time `wait_ms` from now for pthread_cond_clockwait with CLOCK_MONOTONIC, which is independent of the wall clock. */
struct timespec clock_deadline(int64_t wait_ms);

/* Moves clock_now_us by `offset_us` in the whole process. Tests set it by POSTHORN_CLOCK_OFFSET_S. */
void clock_set_offset_us(int64_t offset_us);

/* ISO 8601 in UTC with milliseconds: 2026-11-21T09:30:00.000Z. */
enum { CLOCK_ISO_CHARS = 24 };
void clock_format_iso(int64_t time_us, char ret_text[CLOCK_ISO_CHARS + 1]) NONNULL(2);
char *clock_iso(struct arena *arena, int64_t time_us) NONNULL(1) RETURNS_NONNULL;

/* Parses an ISO 8601 date-time with a zone (Z or ±hh:mm) in the years 1 to 9999 of UTC; a fraction is optional. */
bool clock_parse_iso(const char *text, int64_t *ret_time_us) NONNULL(1, 2);

/* The date-time of RFC 5322 §3.3: Sat, 21 Nov 2026 09:30:00 +0000. */
char *clock_rfc5322(struct arena *arena, int64_t time_us) NONNULL(1) RETURNS_NONNULL;
