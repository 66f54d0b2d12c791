/*
 * Progress bar on a terminal: one line of standard error that is redrawn, and
 * removed at the end. Nothing is drawn when standard error is not a terminal.
 * progress_draw may run on another thread than begin and end.
 */
#pragma once

#include "base/compiler.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROGRESS_LINE_MAX_CHARS = 160 };

struct progress_bar {
    bool is_on;
    size_t width; /* of the terminal, in characters */
    int64_t started_us;
    double start_progress; /* the progress when it was first drawn */
    bool is_drawn;
};

struct progress_bar progress_begin(void);

/* Draws the progress; `total` is 0 when unknown, `note` may be NULL. The callback of posthorn_call. */
void progress_draw(void *bar, double progress, double total, const char *note) NONNULL(1);

/* Writes the line: bar, percent, note, and remaining time. For progress_draw and for tests. */
void progress_line(const struct progress_bar *bar, int64_t now_us, double progress, double total, const char *note,
                   char ret_line[PROGRESS_LINE_MAX_CHARS]) NONNULL(1, 6);

void progress_end(const struct progress_bar *bar) NONNULL(1);
