#include "cli/progress.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { BAR_CHARS = 24, DEFAULT_WIDTH = 80, ESTIMATE_DELAY_S = 2, MINUTE_S = 60 };

struct progress_bar progress_begin(void)
{
    struct progress_bar bar = { .is_on = isatty(STDERR_FILENO) == 1, .width = DEFAULT_WIDTH };
    struct winsize window;
    if (bar.is_on && ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0)
        bar.width = window.ws_col;
    return bar;
}

/* Estimates the remaining time from the speed so far. Empty during the first seconds. */
static void write_time_left(const struct progress_bar *bar, int64_t now_us, double progress, double total, char *ret_text,
                            size_t size)
{
    double took_s = (double)(now_us - bar->started_us) / (double)US_PER_S;
    double done = progress - bar->start_progress;
    ret_text[0] = '\0';
    if (took_s < ESTIMATE_DELAY_S || done <= 0 || progress >= total)
        return;
    int64_t left_s = (int64_t)(took_s * (total - progress) / done + 0.5);
    snprintf(ret_text, size, ", %lld:%02lld left", (long long)(left_s / MINUTE_S), (long long)(left_s % MINUTE_S));
}

void progress_line(const struct progress_bar *bar, int64_t now_us, double progress, double total, const char *note,
                   char ret_line[PROGRESS_LINE_MAX_CHARS])
{
    if (!(total > 0)) {
        snprintf(ret_line, PROGRESS_LINE_MAX_CHARS, "%s", note != NULL ? note : "Working");
        return;
    }
    double share = progress < 0 ? 0 : progress > total ? 1 : progress / total;
    char drawn[BAR_CHARS + 1];
    char left[32];
    int full = (int)(share * BAR_CHARS);
    memset(drawn, '.', BAR_CHARS);
    memset(drawn, '#', (size_t)full);
    drawn[BAR_CHARS] = '\0';
    write_time_left(bar, now_us, progress, total, left, sizeof(left));
    snprintf(ret_line, PROGRESS_LINE_MAX_CHARS, "[%s] %3d%% %.90s%s", drawn, (int)(share * 100), note != NULL ? note : "", left);
}

void progress_draw(void *context, double progress, double total, const char *note)
{
    struct progress_bar *bar = context;
    if (!bar->is_on)
        return;
    int64_t now_us = clock_monotonic_us();
    if (!bar->is_drawn) {
        bar->is_drawn = true;
        bar->started_us = now_us;
        bar->start_progress = progress;
    }
    char line[PROGRESS_LINE_MAX_CHARS];
    progress_line(bar, now_us, progress, total, note, line);
    fprintf(stderr, "\r\033[K%.*s", (int)(bar->width - 1), line);
    fflush(stderr);
}

void progress_end(const struct progress_bar *bar)
{
    if (bar->is_drawn)
        fprintf(stderr, "\r\033[K");
}
