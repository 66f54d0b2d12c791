/*
 * Colours: the main colours of a checked image, by a small copy that a program of
 * libvips makes (render/vips.h). Transparent parts do not count.
 *
 * Any thread may call.
 */
#pragma once

#include "base/arena.h"
#include "render/picture.h"

enum { COLOURS_MAX = 5 };

/* The main colours of an image, "#rrggbb,#rrggbb", the largest area first; of an animation those of its first frame. Empty: none is
 * large enough. Errors: those of vips_run. */
MUST_CHECK bool colours_of_picture(struct arena *arena, enum image_type type, struct bytes image, const char **ret_colours,
                                   struct error *err) NONNULL(1, 4, 5);
