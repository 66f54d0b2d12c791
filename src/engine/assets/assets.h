/*
 * Assets: the images that a brand hosts here. All brands share one asset store
 * for the bytes. Rows record the images of each brand and their sizes; they are
 * written together with the design that uses them.
 */
#pragma once

#include "engine/assets/asset_store.h"
#include "engine/core/work.h"
#include "sql/assets.h"

enum { ASSET_TEXT_MAX_CHARS = 500 };

/* The quota of one brand. With so many rows, the usage query still takes only milliseconds. */
enum { ASSETS_MAX_COUNT = 100 * 1000 };
#define ASSETS_MAX_BYTES (INT64_C(10) * 1024 * 1024 * 1024)

struct asset {
    unsigned char hash[SECRET_HASH_BYTES];
    enum asset_type type;
    int64_t bytes;
    int64_t width;
    int64_t height;
    int64_t frames;
    const char *source_url; /* NULL: it was embedded in a document */

    /* What is known of it besides; NULL: nothing. Texts are cut to ASSET_TEXT_MAX_CHARS. */
    const char *kind;        /* logo, brand, generated; NULL: brand */
    const char *alt;         /* its alternative text */
    const char *description; /* its caption, or the text beside it */
    const char *heading;     /* above it */
    const char *page_title;  /* of the page or the design that shows it */
    const char *page_url;    /* of this page */
    const char *colours;     /* "#rrggbb,#rrggbb", the largest area first */
};

/* The remaining quota of a brand. */
struct asset_quota {
    int64_t count;
    int64_t bytes;
};
MUST_CHECK bool asset_quota_left(const struct work *work, struct asset_quota *ret_left, struct error *err) NONNULL(1, 2, 3);

/* Records that the brand of the work uses these images, which are not spare any more (engine/emails/preview_images.h). Recording an
 * image again is not an error: it adds the texts of an image that has had none. Jobs take the colours of images that come without,
 * and make their vectors (asset_vectors.h). */
MUST_CHECK bool assets_keep(const struct work *work, const struct asset *assets, size_t count, struct error *err) NONNULL(1, 4);

/* The oldest images whose colours were not taken yet, at most `limit`. */
MUST_CHECK bool assets_without_colours(const struct work *work, int64_t limit, struct assets_without_colours_row **ret_rows,
                                       size_t *ret_count, struct error *err) NONNULL(1, 3, 4, 5);

/* Saves the colours of an image, as in struct asset; empty: it has none. */
MUST_CHECK bool asset_colours_save(const struct work *work, int64_t id, const char *colours, struct error *err) NONNULL(1, 3, 4);

/* The public URLs of the newest images of the brand's library that do not move and are no icons; at most `limit`. */
MUST_CHECK bool asset_slides(const struct work *work, const char *public_url, int64_t limit, struct text_list *ret_urls,
                             struct error *err) NONNULL(1, 2, 4, 5);

/* Filter for the images of a brand; NULL: any. */
struct asset_filter {
    const char *type;         /* a name of asset_type_name */
    const char *kind;         /* logo, brand, generated */
    const char *aspect_ratio; /* landscape, portrait, square, or W:H */
    bool oldest_first;
};

/* An image as a member of a page. */
void asset_write(const struct work *work, const struct asset_row *row, struct json_writer *json) NONNULL(1, 2, 3);

/* The shape filter: a named shape, a range of ratios, or none. Errors: INVALID_REQUEST (aspectRatio). */
struct asset_shape {
    const char *name; /* NULL: a ratio, or nothing */
    struct opt_number min_ratio;
    struct opt_number max_ratio;
};
MUST_CHECK bool asset_shape_read(const struct work *work, const char *text, struct asset_shape *ret_shape, struct error *err)
    NONNULL(1, 3, 4);

/* Writes a page of the brand's images. They have a URL if the installation has a public URL. Errors: INVALID_REQUEST
 * (aspectRatio, cursor). */
MUST_CHECK bool asset_list(const struct work *work, const struct asset_filter *filter, int64_t limit, const char *cursor,
                           struct json_writer *json, struct error *err) NONNULL(1, 2, 5, 6);

/* The ratio of width to height in lowest terms: 16:9. */
const char *asset_aspect_ratio(struct arena *arena, int64_t width, int64_t height) NONNULL(1) RETURNS_NONNULL;

/* The public URL of an image; `public_url` has no trailing slash. */
char *asset_url(struct arena *arena, const char *public_url, const struct asset_name *name) NONNULL(1, 2, 3) RETURNS_NONNULL;

/* The public URL of the image with this name in the database; NULL without a name, and without a public URL of the installation. */
char *asset_public_url(const struct work *work, const char *text) NONNULL(1);
