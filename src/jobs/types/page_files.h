/*
 * Page files: the images of a page for a browser without network. Images of this
 * installation come from the asset store, others through the guarded client. They
 * are checked, and made as small as the page is wide.
 *
 * An image that fails is left out, and a note tells it. Results live in the arena
 * of the job.
 */
#pragma once

#include "jobs/jobs.h"
#include "render/picture.h"

struct page_files_request {
    struct text_list urls;  /* others than those of the web are ignored */
    const char *public_url; /* of this installation; NULL: none */
    int64_t width;          /* of the page, in pixels */
    size_t max_bytes;       /* of all images, in base64 */
};

struct page_files {
    const char *json;  /* an object from the addresses to objects with type and data, as renderer_draw_page has it */
    const char *facts; /* an object from the addresses to objects with frames and loops, as renderer_check_mail has it */
    size_t count;
    struct text_list notes;
};

/* The bytes of images that a request of the renderer has room for beside this HTML and plain text, with their escapes. `text` may
 * be NULL. */
size_t page_files_room(const char *html, const char *text) NONNULL(1) PURE;

/* Errors: SERVICE_UNAVAILABLE (the caller cancelled). */
MUST_CHECK bool page_files_collect(struct job *job, struct image_checker *checker, const struct page_files_request *request,
                                   struct page_files *ret_files, struct error *err) NONNULL(1, 2, 3, 4, 5);
