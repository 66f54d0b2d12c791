/*
 * Search of a brand's images by words: their alternative text, description,
 * heading, page, file name and colours. A word that no image has is replaced by
 * the one that is spelt most like it. The search reads the rows of one brand.
 *
 * With the vector of the query (asset_vectors.h), images are found by meaning as
 * well: both rankings are joined by reciprocal rank fusion.
 */
#pragma once

#include "engine/assets/asset_vectors.h"
#include "engine/core/page_cursor.h"

enum { ASSETS_FOUND_MAX = 1000 }; /* on all pages of a search */

struct asset_search {
    const char *query;
    struct asset_filter filter; /* equal images are ordered by `oldest_first` */
    int64_t limit;
    const char *cursor; /* NULL: the first page */

    /* Set by asset_search_begin. */
    struct asset_shape shape;
    struct page_cursor start; /* number: the images on earlier pages; id: the newest image of the search */
    bool is_by_words;         /* a following page of a search by words */
    int64_t until_vector;     /* a following page of a search by meaning; 0: a first page, or by words */
};

/* Reads the cursor, which belongs to the query and the filter, and the shape; no query of the database. Errors: INVALID_REQUEST
 * (aspectRatio, cursor). */
MUST_CHECK bool asset_search_begin(const struct work *work, struct asset_search *search, struct error *err) NONNULL(1, 2, 3);

/* Writes a page of the images that match, the best first. `nearest` NULL: by words only. Images and vectors that are added later
 * are not on its following pages. Errors: SERVICE_UNAVAILABLE (a following page of a search by meaning, without `nearest`). */
MUST_CHECK bool asset_search_write(const struct work *work, const struct asset_search *search, const struct asset_nearest *nearest,
                                   struct json_writer *json, struct error *err) NONNULL(1, 2, 4, 5);
