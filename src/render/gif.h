/*
 * Gif: makes an animated GIF of raw frames by libvips (render/vips.h), and makes
 * it small enough for mail. All frames share one palette: the frames are reduced
 * to its colours as one high image, and the encoder then cuts this image.
 *
 * Frames have three bytes a pixel (red, green, blue), one below the other. The
 * owner of the buffer frees it.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/values.h"

enum {
    GIF_MAX_BYTES = 1000 * 1000,
    GIF_MAX_FRAMES = 60,
    GIF_BITS_MIN = 6,
    GIF_BITS_MAX = 8,
    GIF_MAX_HEIGHT = 60000,            /* of all frames together */
    GIF_MAX_PIXELS = 16 * 1000 * 1000, /* of all frames together */
};

struct gif_frames {
    struct buf *pixels;
    int64_t width;
    int64_t height; /* of one frame */
    size_t count;
    int delays_cs[GIF_MAX_FRAMES]; /* hundredths of a second */
    bool plays_once;
};

/* What draws the frames. `draw` fills `frames`, whose buffer is empty, at about this width; it keeps GIF_MAX_PIXELS. */
struct gif_source {
    void *context;
    bool (*draw)(void *context, int64_t width, struct gif_frames *frames, struct error *err);
    int bits; /* of the first attempt's colours, GIF_BITS_MIN to GIF_BITS_MAX: few for text, which has few shades */
};

struct gif {
    struct bytes bytes;
    int64_t width;
    int64_t height;
    size_t frames;
    int colours; /* of the palette, at most */
    bool has_fewer_colours;
    bool has_fewer_frames;
    bool is_narrower;
};

/* Makes a GIF of at most GIF_MAX_BYTES: with fewer colours, then fewer frames, then a smaller width, until it fits. Errors: those
 * of `draw` and vips_run; INVALID_REQUEST (width) when it does not fit all the same. */
MUST_CHECK bool gif_make(struct arena *arena, const struct gif_source *source, int64_t width, struct gif *ret_gif,
                         struct error *err) NONNULL(1, 2, 4, 5);

/* Leaves out every second frame; the others take over its time. */
void gif_drop_frames(struct gif_frames *frames) NONNULL(1);

/* Copies a GIF with new delays of its frames, and without the mark that repeats it when it plays once. False when the file is
 * malformed or has another number of frames. */
MUST_CHECK bool gif_set_times(struct bytes gif, const struct gif_frames *frames, struct buf *output) NONNULL(2, 3);

/* Reads the picture of a PPM or PGM file with one byte a sample, as libvips writes it, and appends its pixels in three bytes each.
 * False when the file has another form. */
MUST_CHECK bool gif_add_ppm(struct bytes file, struct buf *pixels, int64_t *ret_width, int64_t *ret_height) NONNULL(2, 3, 4);
