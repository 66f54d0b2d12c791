/*
 * The job of content.addImage and content.addImages: takes an image, optimizes it
 * and hosts the result; settling records it among the images of the brand.
 */
#include "catalogue/job_types.h"
#include "jobs/types/content_image.h"

enum { ADD_MAX_ATTEMPTS = 2, STATUS_OK = 200 };

static bool execute(struct job *job, struct error *err)
{
    static const char param[] = "imageUrl";
    const struct add_image_payload *payload = job->payload;
    struct hosted_picture *hosted = arena_alloc(job->work.arena, sizeof(*hosted));
    IMAGE_CHECKER_SCOPE checker = image_checker_new(job->services->image_program);
    struct picture image;
    struct picture optimized;
    bool is_kept;
    job->result = hosted;
    if (!content_image_take(job, payload->public_url, payload->image_url, param, checker, &image, err))
        return false;
    if (!picture_optimize(job->work.arena, checker, &image, &optimized, &is_kept, err))
        return content_image_blame(param, err);
    return content_image_host(job, payload->public_url, &optimized, "brand", payload->image_url, hosted, err);
}

static bool settle(struct job *job, struct json_writer *answer, int *ret_status, struct error *err)
{
    const struct hosted_picture *hosted = job->result;
    const struct asset *asset = &hosted->asset;
    if (!assets_keep(&job->work, asset, 1, err))
        return false;
    *ret_status = STATUS_OK;
    json_object_begin(answer);
    json_member_text(answer, "url", hosted->url);
    json_member_int(answer, "width", asset->width);
    json_member_int(answer, "height", asset->height);
    json_member_text(answer, "aspectRatio", asset_aspect_ratio(job->work.arena, asset->width, asset->height));
    json_object_end(answer);
    return true;
}

const struct job_type job_add_image = {
    .max_attempts = ADD_MAX_ATTEMPTS,
    .execute = execute,
    .settle = settle,
};
