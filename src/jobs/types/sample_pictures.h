/*
 * Pictures of a sample mail (engine/samples/sample_mail.h), for a browser that
 * shows it: what its HTML names, in one object.
 */
#pragma once

#include "engine/samples/sample_mail.h"
#include "jobs/types/page_files.h"

/* Collects the images of the mail for a view of `width` pixels. An HTML that cannot be read has none, and a note tells it. Errors:
 * SERVICE_UNAVAILABLE (the checker, the renderer, a caller that cancelled). */
MUST_CHECK bool sample_pictures_collect(struct job *job, struct image_checker *checker, const struct sample_mail *mail,
                                        int64_t width, struct page_files *ret_files, struct error *err) NONNULL(1, 2, 3, 5, 6);
