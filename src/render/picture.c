#include "render/picture.h"

#include <inttypes.h>
#include <string.h>

enum {
    WEBP_FORMAT_AT = 12, /* of the first chunk's name */
    WEBP_FORMAT_BYTES = 4,
    SAVED_PARTS = 20,
};

/* ---- Planning ---- */

static bool is_lossless_webp(const struct picture *image)
{
    return image->bytes.size > WEBP_FORMAT_AT + WEBP_FORMAT_BYTES &&
           memcmp(image->bytes.data + WEBP_FORMAT_AT, "VP8L", WEBP_FORMAT_BYTES) == 0;
}

/* The output with its options, as libvips names it: a name that begins with a dot is standard output. */
static const char *output_of(const struct picture *image)
{
    switch (image->facts.type) {
    case IMAGE_PNG:
        return ".png[strip,compression=6]";
    case IMAGE_GIF:
        return ".gif";
    case IMAGE_WEBP:
        return is_lossless_webp(image) ? ".webp[strip,lossless]" : ".webp[strip,Q=85]";
    case IMAGE_AVIF:
        return ".jpg[strip,Q=85,optimize_coding,background=255 255 255]";
    case IMAGE_JPEG:
    case IMAGE_NONE:
        break;
    }
    return ".jpg[strip,Q=85,optimize_coding]";
}

/* Only an image with a profile is converted, because the conversion rounds. The names are those of the parts of JPEG, PNG and WebP.
 */
static bool has_profile(const struct picture *image)
{
    static const char *const names[] = { "ICC_PROFILE", "iCCP", "ICCP" };
    for (size_t i = 0; i < ARRAY_COUNT(names); i++)
        if (memmem(image->bytes.data, image->bytes.size, names[i], strlen(names[i])) != NULL)
            return true;
    return image->facts.type == IMAGE_AVIF;
}

static void add_argument(struct vips_run *run, const char *argument)
{
    size_t at = 0;
    while (run->arguments[at] != NULL)
        at++;
    if (at < VIPS_MAX_ARGUMENTS)
        run->arguments[at] = argument;
}

static const char *input_of(const struct picture *image)
{
    return image->facts.frames > 1 ? "stdin[n=-1,fail_on=truncated]" : "stdin[fail_on=truncated]";
}

static int64_t other_side(int64_t side, int64_t of, int64_t other)
{
    int64_t result = (side * other + of / 2) / of;
    return result > 0 ? result : 1;
}

/* Frames are stacked for libvips, so that a crop would cut the stack. */
static bool needs_crop(const struct image_facts *facts, struct picture_size size)
{
    if (size.width == 0 || size.height == 0)
        return false;
    int64_t difference = other_side(size.width, facts->width, facts->height) - size.height;
    return difference < -1 || difference > 1;
}

static const char *larger_param(struct picture_size size)
{
    return size.width != 0 ? "width" : "height";
}

bool picture_check_size(const struct image_facts *facts, struct picture_size size, struct error *err)
{
    int64_t width = size.width != 0 ? size.width : other_side(size.height, facts->height, facts->width);
    int64_t height = size.height != 0 ? size.height : other_side(size.width, facts->width, facts->height);
    bool fits = width <= PICTURE_MAX_SIDE && height <= PICTURE_MAX_SIDE && width * height <= IMAGE_MAX_PIXELS &&
                width * height * facts->frames <= IMAGE_MAX_ALL_PIXELS;
    if (!fits)
        return fail(err, ERR_INVALID_REQUEST, larger_param(size),
                    "The image would have %" PRId64 " by %" PRId64 " pixels in %" PRId64 " frames, which is too large.", width,
                    height, facts->frames);
    if (facts->frames > 1 && needs_crop(facts, size))
        return fail(err, ERR_INVALID_REQUEST, "height",
                    "The frames of an animated image cannot be cropped. Give width or height, not both.");
    return true;
}

/* Both sides: fill them and crop, or force them when an animation has them already but for rounding. */
static const char *size_text(struct arena *arena, const struct image_facts *facts, struct picture_size size)
{
    if (size.height == 0)
        return arena_printf(arena, "%" PRId64 "x", size.width);
    if (size.width == 0)
        return arena_printf(arena, "x%" PRId64, size.height);
    return arena_printf(arena, "%" PRId64 "x%" PRId64 "%s", size.width, size.height, facts->frames > 1 ? "!" : "");
}

static struct vips_run plan_run(const struct picture *image, const char *size, const char *output)
{
    struct vips_run run = {
        .arguments = { "vipsthumbnail", input_of(image), "--size", size, "--output", output },
        .input = image->bytes,
    };
    if (has_profile(image)) {
        add_argument(&run, "--export-profile");
        add_argument(&run, "srgb");
    }
    return run;
}

void picture_plan_resize(struct arena *arena, const struct picture *image, struct picture_size size, struct vips_run *ret_run)
{
    *ret_run = plan_run(image, size_text(arena, &image->facts, size), output_of(image));
    if (size.width != 0 && size.height != 0 && image->facts.frames <= 1) {
        add_argument(ret_run, "--smartcrop");
        add_argument(ret_run, "centre");
    }
}

/* A size that no image exceeds, and the sign for "never enlarge": only orientation and profile are applied. */
static struct vips_run same_size(const struct picture *image, const char *output)
{
    return plan_run(image, "100000x100000>", output);
}

size_t picture_plan_optimize(const struct picture *image, struct vips_run ret_runs[PICTURE_MAX_TRIES])
{
    switch (image->facts.type) {
    case IMAGE_PNG: /* a filter helps photographs and harms drawings */
        ret_runs[0] = same_size(image, ".png[strip,compression=9,filter=all]");
        ret_runs[1] = same_size(image, ".png[strip,compression=9,filter=none]");
        return 2;
    case IMAGE_GIF:
        ret_runs[0] = same_size(image, ".gif[reuse]");
        return 1;
    case IMAGE_WEBP:
        ret_runs[0] = same_size(image, is_lossless_webp(image) ? ".webp[strip,lossless,effort=6]" : ".webp[strip,Q=85,effort=6]");
        return 1;
    case IMAGE_JPEG:
    case IMAGE_AVIF:
    case IMAGE_NONE:
        break;
    }
    ret_runs[0] = same_size(image, output_of(image));
    return 1;
}

/* ---- Running ---- */

static bool make_picture(struct arena *arena, struct image_checker *checker, const struct vips_run *run,
                         struct picture *ret_picture, struct error *err)
{
    struct buf *output = buf_in_arena(arena, IMAGE_MAX_BYTES);
    if (!vips_run(run, output, err) || !image_check(checker, output->data, output->size, &ret_picture->facts, err))
        return false;
    ret_picture->bytes = (struct bytes){ (const unsigned char *)output->data, output->size };
    if (ret_picture->facts.type != IMAGE_NONE)
        return true;
    return fail(err, ERR_INVALID_REQUEST, NULL, "The changed image cannot be used: %s.", ret_picture->facts.problem);
}

bool picture_resize(struct arena *arena, struct image_checker *checker, const struct picture *image, struct picture_size size,
                    struct picture *ret_picture, struct error *err)
{
    struct vips_run run;
    picture_plan_resize(arena, image, size, &run);
    return make_picture(arena, checker, &run, ret_picture, err);
}

bool picture_optimize(struct arena *arena, struct image_checker *checker, const struct picture *image, struct picture *ret_picture,
                      bool *ret_is_kept, struct error *err)
{
    struct vips_run runs[PICTURE_MAX_TRIES];
    size_t count = picture_plan_optimize(image, runs);
    struct picture smallest = *image;
    for (size_t i = 0; i < count; i++) {
        struct picture made;
        if (!make_picture(arena, checker, &runs[i], &made, err))
            return false;
        if (made.bytes.size < smallest.bytes.size)
            smallest = made;
    }
    size_t saved = image->bytes.size - smallest.bytes.size;
    *ret_is_kept = saved < image->bytes.size / SAVED_PARTS || saved == 0;
    *ret_picture = *ret_is_kept ? *image : smallest;
    return true;
}

bool picture_index_colours(struct arena *arena, struct image_checker *checker, const struct picture *image,
                           struct picture *ret_picture, struct error *err)
{
    struct vips_run run = same_size(image, ".png[strip,palette,compression=9]");
    if (!make_picture(arena, checker, &run, ret_picture, err))
        return false;
    if (ret_picture->bytes.size > image->bytes.size)
        *ret_picture = *image;
    return true;
}
