#include "render/colours.h"

#include "base/buf.h"
#include "render/gif.h"

#include <stdlib.h>
#include <string.h>

enum {
    SIDE = 32,
    PIXELS = SIDE * SIDE,
    CHANNELS = 3,
    PPM_MAX_BYTES = PIXELS * CHANNELS + 1024, /* with its header */
    BINS_OF_CHANNEL = 8,
    BINS = BINS_OF_CHANNEL * BINS_OF_CHANNEL * BINS_OF_CHANNEL,
    BIN_LEAST_PIXELS = 40, /* more than one line, because the copy has mixed colours along edges */
    TRANSPARENT_BELOW = 128,
    COLOUR_TEXT_BYTES = 8,
};

struct bin {
    int count;
    int sums[CHANNELS];
};

/* ---- The small copies ---- */

/* The pixels of a copy on a ground, with three channels each. */
static bool draw_on(struct arena *arena, struct bytes image, const char *output, const unsigned char **ret_pixels,
                    struct error *err)
{
    struct buf *file = buf_in_arena(arena, PPM_MAX_BYTES);
    struct buf *pixels = buf_in_arena(arena, PIXELS * CHANNELS + 1);
    struct vips_run run = {
        .arguments = { "vipsthumbnail", "stdin[fail_on=truncated]", "--size", "32x32!", "--output", output },
        .input = image,
    };
    int64_t width;
    int64_t height;
    if (!vips_run(&run, file, err))
        return false;
    if (!gif_add_ppm((struct bytes){ (const unsigned char *)file->data, file->size }, pixels, &width, &height) || width != SIDE ||
        height != SIDE)
        return fail(err, ERR_INVALID_REQUEST, NULL, "The image cannot be drawn.");
    *ret_pixels = (const unsigned char *)pixels->data;
    return true;
}

/* A transparent pixel has the colour of its ground: its copies on black and on white differ. */
static bool is_transparent(const unsigned char *on_black, const unsigned char *on_white)
{
    int most = 0;
    for (size_t i = 0; i < CHANNELS; i++) {
        int difference = on_white[i] - on_black[i];
        most = difference > most ? difference : most;
    }
    return most > UINT8_MAX - TRANSPARENT_BELOW;
}

/* ---- Counting ---- */

static void count_pixel(struct bin *bins, const unsigned char *pixel)
{
    size_t place = 0;
    for (size_t i = 0; i < CHANNELS; i++)
        place = place * BINS_OF_CHANNEL + pixel[i] / (256 / BINS_OF_CHANNEL);
    bins[place].count++;
    for (size_t i = 0; i < CHANNELS; i++)
        bins[place].sums[i] += pixel[i];
}

static int compare_bins(const void *left, const void *right)
{
    const struct bin *one = left;
    const struct bin *other = right;
    return other->count - one->count;
}

static const char *write_colours(struct arena *arena, struct bin *bins)
{
    struct buf *text = buf_in_arena(arena, COLOURS_MAX * COLOUR_TEXT_BYTES + 1);
    qsort(bins, BINS, sizeof(*bins), compare_bins);
    for (size_t i = 0; i < COLOURS_MAX && bins[i].count >= BIN_LEAST_PIXELS; i++) {
        int half = bins[i].count / 2;
        buf_printf(text, "%s#%02x%02x%02x", i > 0 ? "," : "", (bins[i].sums[0] + half) / bins[i].count,
                   (bins[i].sums[1] + half) / bins[i].count, (bins[i].sums[2] + half) / bins[i].count);
    }
    return buf_text(text);
}

bool colours_of_picture(struct arena *arena, enum image_type type, struct bytes image, const char **ret_colours, struct error *err)
{
    const unsigned char *on_black;
    const unsigned char *on_white;
    struct bin *bins = arena_array(arena, BINS, sizeof(*bins));
    if (!draw_on(arena, image, ".ppm[background=0]", &on_black, err))
        return false;
    on_white = on_black;
    if (type != IMAGE_JPEG && !draw_on(arena, image, ".ppm[background=255]", &on_white, err))
        return false;
    for (size_t i = 0; i < (size_t)PIXELS * CHANNELS; i += CHANNELS)
        if (!is_transparent(on_black + i, on_white + i))
            count_pixel(bins, on_black + i);
    *ret_colours = write_colours(arena, bins);
    return true;
}
