/*
 * Page picture: draws an HTML page with its images. The browser has no network:
 * the images that it asks for are fetched through the guarded client, checked,
 * made as small as the page is wide, and given to it in a second drawing.
 *
 * An image that fails does not fail the drawing; a note tells it. Results live in
 * the arena of the job.
 */
#pragma once

#include "jobs/jobs.h"
#include "render/picture.h"

#include <jansson.h>

/* Takes the checked picture from the reply of renderer_draw_page. Errors: SERVICE_UNAVAILABLE (the checker), INVALID_REQUEST
 * (without a param: the picture is too large). */
MUST_CHECK bool page_picture_take(struct job *job, struct image_checker *checker, const json_t *drawn, struct picture *ret_picture,
                                  struct error *err) NONNULL(1, 2, 3, 4, 5);

struct page_picture {
    struct picture picture;
    struct text_list notes;
};

/* Errors: those of renderer_draw_page; SERVICE_UNAVAILABLE (the checker, a caller that cancelled); INVALID_REQUEST (without a
 * param: the picture is too large). The caller names the argument that has the page. */
MUST_CHECK bool page_picture_draw(struct job *job, struct image_checker *checker, const char *html, int64_t width,
                                  int64_t max_height, struct page_picture *ret_page, struct error *err) NONNULL(1, 2, 3, 6, 7);
