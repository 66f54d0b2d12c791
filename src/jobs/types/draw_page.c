/*
 * The job of content.htmlToPng: draws the page with its images and hosts the
 * picture; settling records it among the images of the brand and answers the
 * caller.
 */
#include "catalogue/job_types.h"
#include "jobs/types/content_image.h"
#include "jobs/types/page_picture.h"

enum { DRAW_MAX_ATTEMPTS = 2, STATUS_OK = 200 };

/* The result of execute, for settle. */
struct drawn_page {
    struct page_picture page;
    struct hosted_picture hosted;
};

static bool execute(struct job *job, struct error *err)
{
    const struct draw_page_payload *payload = job->payload;
    struct drawn_page *drawn = arena_alloc(job->work.arena, sizeof(*drawn));
    IMAGE_CHECKER_SCOPE checker = image_checker_new(job->services->image_program);
    job->result = drawn;
    if (!page_picture_draw(job, checker, payload->html, payload->width, payload->max_height, &drawn->page, err))
        return content_image_blame("html", err);
    return content_image_host(job, payload->public_url, &drawn->page.picture, "generated", NULL, &drawn->hosted, err);
}

static bool settle(struct job *job, struct json_writer *answer, int *ret_status, struct error *err)
{
    const struct drawn_page *drawn = job->result;
    if (!assets_keep(&job->work, &drawn->hosted.asset, 1, err))
        return false;
    *ret_status = STATUS_OK;
    json_object_begin(answer);
    json_member_text(answer, "url", drawn->hosted.url);
    json_member_int(answer, "width", drawn->hosted.asset.width);
    json_member_int(answer, "height", drawn->hosted.asset.height);
    content_image_write_notes(answer, &drawn->page.notes);
    json_object_end(answer);
    return true;
}

const struct job_type job_draw_page = {
    .max_attempts = DRAW_MAX_ATTEMPTS,
    .execute = execute,
    .settle = settle,
};
