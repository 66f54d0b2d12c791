/*
 * Measure: functions that the load drivers share. A clock, a distribution of
 * latencies, the processor time and memory of a process, and die().
 *
 * A driver is one thread and one run: what it allocates lives until it exits.
 * A failed check ends the driver with status 1 and a sentence on stderr, so a
 * wrong answer never becomes a figure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Prints the reason on stderr and exits with status 1. */
_Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A whole decimal number from `min` to `max`; dies naming `option` otherwise. */
long parse_number(const char *option, const char *text, long min, long max);

/* CLOCK_MONOTONIC. */
int64_t now_ns(void);

/* Counts by whole microsecond up to LATENCY_MAX_US; a longer latency counts as LATENCY_MAX_US. */
enum { LATENCY_MAX_US = 1000 * 1000 };
struct latencies {
    uint32_t *counts; /* LATENCY_MAX_US + 1 of them */
    uint64_t total;
};

void latencies_init(struct latencies *latencies);
void latencies_clear(struct latencies *latencies);
void latencies_record(struct latencies *latencies, int64_t duration_ns);

/* The smallest duration that `percent` of the recorded ones do not exceed; 0 when nothing was recorded. */
long latencies_percentile_us(const struct latencies *latencies, double percent);

/* Processor seconds used so far, user and kernel, all threads, exact to the nanosecond; 0 when `pid` is 0 or there is no such
 * process. */
double process_cpu_s(pid_t pid);

/* Resident memory; dies when there is no such process. */
long process_rss_kb(pid_t pid);
