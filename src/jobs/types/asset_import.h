/*
 * Re-hosting: the images that an imported design names are fetched through the
 * guarded client, checked, stored, and named by an address of this installation
 * instead. One image that fails does not fail the import: it stays where it is,
 * or is taken out of the design when it must not be shown, and a warning says so.
 *
 * Without a public address nothing is fetched: nobody could reach the copies.
 */
#pragma once

#include "engine/assets/asset_report.h"
#include "engine/assets/assets.h"
#include "jobs/jobs.h"

#include <jansson.h>

enum { ASSET_IMPORT_MAX_IMAGES = 100 };

struct imported_assets {
    const json_t *prepared; /* the answer of the renderer, with the HTML as it is now */
    struct asset_report report;
    const struct asset *assets; /* what is stored and has to be noted with assets_keep */
    size_t asset_count;
};

/* Takes care of all images of a prepared document; safe to repeat. Results live in the arena of the job.
 * Errors: SERVICE_UNAVAILABLE (the renderer; the caller cancelled). */
MUST_CHECK bool import_assets(struct job *job, const json_t *prepared, struct imported_assets *ret_imported_assets,
                              struct error *err) NONNULL(1, 2, 3, 4);
