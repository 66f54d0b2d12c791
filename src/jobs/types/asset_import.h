/*
 * Hosting of images: each image that an imported design names is fetched through
 * the guarded client, checked and stored; the design then names its copy on this
 * installation. An image that fails does not fail the import: it keeps its
 * address, or leaves the design when it must not be shown, and a warning reports
 * it.
 *
 * Without a public address no image is fetched, because recipients could not
 * reach the copies.
 */
#pragma once

#include "engine/assets/asset_report.h"
#include "engine/assets/assets.h"
#include "jobs/jobs.h"

#include <jansson.h>

enum { ASSET_IMPORT_MAX_IMAGES = 100 };

struct imported_assets {
    const json_t *prepared;  /* the answer of the renderer, with the changed HTML */
    const json_t *addresses; /* the new addresses by the old ones; null: the image was removed. NULL when nothing changed */
    struct asset_report report;
    const struct asset *assets; /* stored images, which assets_keep has to record */
    size_t asset_count;
};

/* Hosts all images of a prepared document below `public_url`, or below that of this process when NULL; safe to repeat. Results
 * live in the arena of the job. Errors: SERVICE_UNAVAILABLE (the renderer fails; the caller cancelled). */
MUST_CHECK bool import_assets(struct job *job, const char *public_url, const json_t *prepared,
                              struct imported_assets *ret_imported_assets, struct error *err) NONNULL(1, 3, 4, 5);
