/*
 * Picture: resizes and optimizes checked images by the programs of libvips
 * (render/vips.h). A result is checked like any other image before it is
 * returned, and lives in the arena.
 *
 * Results have no metadata (EXIF, profiles): orientation and colours are applied
 * to the pixels. A JPEG, PNG, GIF or WebP image keeps its type; an AVIF image
 * becomes JPEG, because few mail programs show AVIF.
 *
 * Errors of all functions: those of vips_run and image_check. INVALID_REQUEST
 * has no param unless one is named below.
 */
#pragma once

#include "base/arena.h"
#include "base/values.h"
#include "render/image.h"
#include "render/vips.h"

enum { PICTURE_MAX_SIDE = 16384 };

struct picture {
    struct bytes bytes;
    struct image_facts facts; /* the type is never IMAGE_NONE */
};

/* The wanted size in pixels; 0: follows from the other one. At least one is given. */
struct picture_size {
    int64_t width;
    int64_t height;
};

/* Refuses a size that cannot be made: too many pixels, or an animation whose frames would have to be cropped. Errors:
 * INVALID_REQUEST (width, height). */
MUST_CHECK bool picture_check_size(const struct image_facts *facts, struct picture_size size, struct error *err) NONNULL(1, 3);

/* The run that resizes an image. With both sides the image fills the size and is cropped around its centre. Texts are in the arena.
 */
void picture_plan_resize(struct arena *arena, const struct picture *image, struct picture_size size, struct vips_run *ret_run)
    NONNULL(1, 2, 4);

/* The largest number of runs of one optimization. */
enum { PICTURE_MAX_TRIES = 2 };

/* The runs of which the smallest result is the optimized image. Returns their number. */
size_t picture_plan_optimize(const struct picture *image, struct vips_run ret_runs[PICTURE_MAX_TRIES]) NONNULL(1, 2);

/* Resizes an image that picture_check_size has passed. */
MUST_CHECK bool picture_resize(struct arena *arena, struct image_checker *checker, const struct picture *image,
                               struct picture_size size, struct picture *ret_picture, struct error *err) NONNULL(1, 2, 3, 5, 6);

/* Makes the file smaller without visible loss. When that saves less than a twentieth, `ret_picture` is the image itself and
 * `ret_is_kept` is true. */
MUST_CHECK bool picture_optimize(struct arena *arena, struct image_checker *checker, const struct picture *image,
                                 struct picture *ret_picture, bool *ret_is_kept, struct error *err) NONNULL(1, 2, 3, 4, 5, 6);

/* Makes a PNG of at most 256 colours, or the image itself when that is smaller. The image is a PNG. */
MUST_CHECK bool picture_index_colours(struct arena *arena, struct image_checker *checker, const struct picture *image,
                                      struct picture *ret_picture, struct error *err) NONNULL(1, 2, 3, 4, 5);
