/*
 * Search of a brand's images by words: their alternative text, description,
 * heading, page, file name and colours. A word that no image has is replaced by
 * the one that is spelt most like it. The search reads the rows of one brand.
 */
#pragma once

#include "engine/assets/assets.h"

enum { ASSETS_FOUND_MAX = 1000 }; /* on all pages of a search */

/* Writes a page of the images that have a word of `query`, the best first; equal ones by `filter->oldest_first`. The cursor
 * belongs to the query and the filter; images that are added later are not on its pages. Errors: INVALID_REQUEST (aspectRatio,
 * cursor). */
MUST_CHECK bool asset_search(const struct work *work, const char *query, const struct asset_filter *filter, int64_t limit,
                             const char *cursor, struct json_writer *json, struct error *err) NONNULL(1, 2, 3, 6, 7);
