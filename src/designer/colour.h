/*
 * Colours of themes: sRGB in hexadecimal form, mixed and lightened in OKLab
 * (a perceptually uniform space), and the contrast of WCAG 2.2.
 *
 * Pure. Any thread.
 */
#pragma once

#include "base/compiler.h"

#include <stdbool.h>

enum { COLOUR_CHARS = 7 }; /* # and six digits */

/* OKLCH: lightness 0 to 1, chroma, hue in radians. */
struct colour {
    double lightness;
    double chroma;
    double hue;
};

/* False: the text is not # and six hexadecimal digits. */
bool colour_read(const char *text, struct colour *ret_colour) NONNULL(2);

/* Chroma that sRGB cannot show is reduced. */
void colour_write(struct colour colour, char ret_text[COLOUR_CHARS + 1]) NONNULL(2);

/* The contrast ratio of WCAG 2.2, 1 to 21, of the colours as they are written. */
double colour_contrast(struct colour one, struct colour other);

/* A mixture: 0 is `one`, 1 is `other`. */
struct colour colour_mix(struct colour one, struct colour other, double share);

/* The colour with the lightness nearest to its own at which the contrast to both grounds is at least `least`. Where no lightness
 * has it, black or white, whichever has more contrast. */
struct colour colour_readable(struct colour colour, struct colour ground, struct colour other_ground, double least);
