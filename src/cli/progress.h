/*
 * A progress bar on a terminal: one line of standard error that is drawn over
 * and taken away at the end. Where standard error is no terminal nothing is
 * drawn. Drawing may happen on another thread than begin and end, which stand
 * before and behind it.
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
    int64_t begun_at_us;
    double begun_at; /* where it stood when it was first drawn */
    bool is_drawn;
};

struct progress_bar progress_begin(void);

/* Draws how far the work is; `total` 0 when it is not known, `note` may be NULL. The callback of posthorn_call. */
void progress_draw(void *bar, double progress, double total, const char *note) NONNULL(1);

/* The line itself: bar, percent, note, and how long it will take. For progress_draw, and for tests. */
void progress_line(const struct progress_bar *bar, int64_t now_us, double progress, double total, const char *note,
                   char ret_line[PROGRESS_LINE_MAX_CHARS]) NONNULL(1, 6);

void progress_end(const struct progress_bar *bar) NONNULL(1);
