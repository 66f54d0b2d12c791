#include "measure.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

long parse_number(const char *option, const char *text, long min, long max)
{
    char *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || number < min || number > max)
        die("%s: \"%s\" is not a number from %ld to %ld", option, text, min, max);
    return number;
}

int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void latencies_init(struct latencies *latencies)
{
    latencies->counts = calloc(LATENCY_MAX_US + 1, sizeof(*latencies->counts));
    if (latencies->counts == NULL)
        die("no memory for the latencies");
    latencies->total = 0;
}

void latencies_clear(struct latencies *latencies)
{
    memset(latencies->counts, 0, (LATENCY_MAX_US + 1) * sizeof(*latencies->counts));
    latencies->total = 0;
}

void latencies_record(struct latencies *latencies, int64_t duration_ns)
{
    int64_t duration_us = duration_ns / 1000;
    if (duration_us > LATENCY_MAX_US)
        duration_us = LATENCY_MAX_US;
    latencies->counts[duration_us]++;
    latencies->total++;
}

long latencies_percentile_us(const struct latencies *latencies, double percent)
{
    double wanted = (double)latencies->total * percent / 100;
    uint64_t seen = 0;
    for (long us = 0; us <= LATENCY_MAX_US; us++) {
        seen += latencies->counts[us];
        if (seen > 0 && (double)seen >= wanted)
            return us;
    }
    return 0;
}

double process_cpu_s(pid_t pid)
{
    clockid_t clock;
    struct timespec used;
    if (pid == 0 || clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0)
        return 0;
    return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

long process_rss_kb(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        die("process %d is gone", (int)pid);

    char line[256];
    long rss_kb = -1;
    while (rss_kb < 0 && fgets(line, sizeof(line), file) != NULL)
        sscanf(line, "VmRSS: %ld kB", &rss_kb);
    fclose(file);
    if (rss_kb < 0)
        die("process %d has no resident memory", (int)pid);
    return rss_kb;
}
