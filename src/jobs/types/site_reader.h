/*
 * Reader of websites: fetches the pages of a website through the guarded client,
 * as robots.txt allows, and has the renderer read them. What the browser needs to
 * show a page is fetched here too; the browser itself has no network.
 *
 * A page that cannot be fetched or read is left out. Everything belongs to the
 * arena of the job. One job, one thread.
 */
#pragma once

#include "engine/brands/extraction.h"
#include "jobs/jobs.h"
#include "render/renderer.h"

#include <jansson.h>

enum { SITE_MAX_PAGES = 12, SITE_REASON_BYTES = 200 };

struct site_robots;
struct site_files;

struct site_page {
    const char *url; /* after redirects */
    const char *content_type;
    const char *bytes;  /* base64 */
    const json_t *read; /* of the renderer; NULL: the page is not used */
};

struct site {
    struct job *job;
    struct arena *arena;
    struct renderer_caller renderer;
    const struct extraction_claim_row *request;
    int64_t until_us; /* monotonic */
    struct site_robots *robots;
    struct site_files *files; /* of the pages that were shown */
    const char *host;         /* of the start page, with its port */
    struct site_page pages[SITE_MAX_PAGES];
    size_t page_count;
    json_t *styles;                 /* measured looks of pages */
    char reason[SITE_REASON_BYTES]; /* why the website cannot be read, as a sentence; "": it can */
};

/* Reads the pages of a website. The reason is set when the start page cannot be read. Errors: SERVICE_UNAVAILABLE (the renderer).
 */
MUST_CHECK bool site_read(struct site *site, struct error *err) NONNULL(1, 2);
