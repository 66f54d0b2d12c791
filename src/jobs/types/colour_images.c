/*
 * The job that takes the main colours of a brand's images by libvips. Each image
 * is saved by itself. An image that cannot be read has no colours. One whose
 * program is killed is tried again with the job; after the last attempt it has no
 * colours either, so that it does not hold up the others.
 *
 * Without libvips the job does nothing; the next image enqueues another one.
 */
#include "base/clock.h"
#include "catalogue/job_types.h"
#include "engine/assets/assets.h"
#include "jobs/types/content_image.h"
#include "render/colours.h"

enum {
    COLOUR_MAX_ATTEMPTS = 4,
    IMAGES_A_ROUND = 20,
    STATUS_OK = 200,
};

struct colouring {
    bool has_more;
};

static enum image_type type_of(enum asset_type type)
{
    return type == ASSET_JPEG ? IMAGE_JPEG : IMAGE_PNG; /* all others may have transparent parts */
}

/* False: the image is to be tried again. */
static bool take_colours(struct job *job, struct arena *arena, const struct assets_without_colours_row *image,
                         const char **ret_colours, struct error *err)
{
    enum asset_type type = asset_type_named(image->type);
    struct asset_name name = asset_name_of(image->hash.data, type);
    struct bytes bytes;
    bool found;
    *ret_colours = "";
    if (!content_image_read(arena, job->services->assets, &name, &bytes, &found, err))
        return false;
    return !found || colours_of_picture(arena, type_of(type), bytes, ret_colours, err) || err->code == ERR_INVALID_REQUEST ||
           job->attempts >= COLOUR_MAX_ATTEMPTS;
}

static bool colour_image(struct job *job, const struct assets_without_colours_row *image, bool *ret_failed, struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    struct error why = { .code = ERR_NONE };
    struct work work = job->work;
    const char *colours;
    work.arena = arena;
    if (!take_colours(job, arena, image, &colours, &why)) {
        *ret_failed = true;
        *err = why;
        return true;
    }
    return asset_colours_save(&work, image->id, colours, err);
}

static bool execute(struct job *job, struct error *err)
{
    struct colouring *colouring = arena_alloc(job->work.arena, sizeof(*colouring));
    struct assets_without_colours_row *images;
    size_t count;
    bool has_failed = false;
    job->result = colouring;
    if (!vips_is_installed())
        return true;
    if (!assets_without_colours(&job->work, IMAGES_A_ROUND, &images, &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!colour_image(job, &images[i], &has_failed, err))
            return false;
    colouring->has_more = count == IMAGES_A_ROUND;
    return !has_failed;
}

static bool settle(struct job *job, struct json_writer *answer, int *ret_status, struct error *err)
{
    const struct colouring *colouring = job->result;
    (void)answer; /* no caller waits for it */
    (void)err;
    *ret_status = STATUS_OK;
    if (colouring->has_more)
        job_run_again(job, job->work.now_us);
    return true;
}

const struct job_type job_colour_images = {
    .max_attempts = COLOUR_MAX_ATTEMPTS,
    .execute = execute,
    .settle = settle,
};
