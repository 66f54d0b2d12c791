/*
 * The job of content.resize and content.optimize: takes an image, changes it by
 * the programs of libvips and hosts the result; settling records it among the
 * images of the brand and answers the caller.
 */
#include "catalogue/job_types.h"
#include "jobs/types/content_image.h"

enum { TRANSFORM_MAX_ATTEMPTS = 2, STATUS_OK = 200 };

/* The result of execute, for settle. */
struct transformed {
    struct hosted_picture hosted;
    int64_t original_bytes;
    bool is_optimized;
    bool is_kept;
};

static bool transform(struct job *job, struct image_checker *checker, const struct picture *image, struct transformed *transformed,
                      struct picture *ret_picture, struct error *err)
{
    const struct transform_image_payload *payload = job->payload;
    struct picture_size size = { .width = payload->width, .height = payload->height };
    transformed->is_optimized = size.width == 0 && size.height == 0;
    if (transformed->is_optimized)
        return picture_optimize(job->work.arena, checker, image, ret_picture, &transformed->is_kept, err);
    return picture_check_size(&image->facts, size, err) && picture_resize(job->work.arena, checker, image, size, ret_picture, err);
}

static bool execute(struct job *job, struct error *err)
{
    static const char param[] = "imageUrl";
    const struct transform_image_payload *payload = job->payload;
    struct transformed *transformed = arena_alloc(job->work.arena, sizeof(*transformed));
    IMAGE_CHECKER_SCOPE checker = image_checker_new(job->services->image_program);
    struct picture image;
    struct picture picture;
    job->result = transformed;
    if (!content_image_take(job, payload->public_url, payload->image_url, param, checker, &image, err))
        return false;
    transformed->original_bytes = (int64_t)image.bytes.size;
    if (!transform(job, checker, &image, transformed, &picture, err))
        return content_image_blame(param, err);
    return content_image_host(job, payload->public_url, &picture, "generated", NULL, &transformed->hosted, err);
}

static bool settle(struct job *job, struct json_writer *answer, int *ret_status, struct error *err)
{
    const struct transformed *transformed = job->result;
    const struct asset *asset = &transformed->hosted.asset;
    if (!assets_keep(&job->work, asset, 1, err))
        return false;
    *ret_status = STATUS_OK;
    json_object_begin(answer);
    json_member_text(answer, "url", transformed->hosted.url);
    json_member_int(answer, "width", asset->width);
    json_member_int(answer, "height", asset->height);
    json_member_int(answer, "bytes", asset->bytes);
    json_member_int(answer, "originalBytes", transformed->original_bytes);
    if (transformed->is_optimized)
        json_member_bool(answer, "kept", transformed->is_kept);
    json_object_end(answer);
    return true;
}

const struct job_type job_transform_image = {
    .max_attempts = TRANSFORM_MAX_ATTEMPTS,
    .execute = execute,
    .settle = settle,
};
