/* Shows a page in the browser of the renderer, with the files that it needs. Each file is fetched once for a website. Private to
 * the reader of websites. */
#pragma once

#include "jobs/types/site_reader.h"

struct site_shown {
    const json_t *style; /* the measured look; NULL: the page could not be shown */
    const char *html;    /* the page after its scripts have run; NULL: it was shown without scripts */
};

struct site_files *site_files_new(struct arena *arena) NONNULL(1) RETURNS_NONNULL;

/* Shows a page up to four times: each time it is given the files that it missed before. Errors: SERVICE_UNAVAILABLE. */
MUST_CHECK bool site_show(struct site *site, const struct site_page *page, bool scripts, struct site_shown *ret_shown,
                          struct error *err) NONNULL(1, 2, 4, 5);
