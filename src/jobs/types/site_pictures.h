/* Hosts the logo and the pictures of a website. Private to the reader of websites. */
#pragma once

#include "engine/assets/assets.h"
#include "jobs/types/site_reader.h"

enum { SITE_MAX_PICTURES = 24 };

struct site_pictures {
    struct asset assets[SITE_MAX_PICTURES + 1];
    size_t count;
    const char *logo; /* the name of its file in the asset store; NULL: none was found */
};

/* Fetches, checks and stores what `summary` (of the renderer) names as logos and pictures. A picture that fails is left out.
 * Errors: SERVICE_UNAVAILABLE (the renderer). */
MUST_CHECK bool site_host_pictures(struct site *site, const json_t *summary, struct site_pictures *ret_pictures, struct error *err)
    NONNULL(1, 2, 3, 4);
