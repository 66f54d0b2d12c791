/*
 * Assets: the images that a brand hosts here. The bytes are in an asset store,
 * shared by all brands; rows say which brand uses which (and how much), and are
 * written with the design that needs them.
 */
#pragma once

#include "engine/assets/asset_store.h"
#include "engine/core/work.h"

/* What one brand may host. A store of this size still answers how full it is within milliseconds. */
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
};

/* What the brand may still host. */
struct asset_room {
    int64_t count;
    int64_t bytes;
};
MUST_CHECK bool asset_room_left(const struct work *work, struct asset_room *ret_room, struct error *err) NONNULL(1, 2, 3);

/* Notes that the brand of the work uses these; again is no error. */
MUST_CHECK bool assets_keep(const struct work *work, const struct asset *assets, size_t count, struct error *err) NONNULL(1, 4);

/* Which images of a brand are meant; NULL: all. */
struct asset_filter {
    const char *type;         /* as asset_type_name has it */
    const char *kind;         /* logo, brand, generated */
    const char *aspect_ratio; /* landscape, portrait, square, or W:H */
    bool oldest_first;
};

/* A page of the brand's images. They have an address where the installation has a public one. Errors: INVALID_REQUEST
 * (aspectRatio, cursor). */
MUST_CHECK bool asset_list(const struct work *work, const struct asset_filter *filter, int64_t limit, const char *cursor,
                           struct json_writer *json, struct error *err) NONNULL(1, 2, 5, 6);

/* The address under which anybody can read it; `public_url` has no slash at its end. */
char *asset_url(struct arena *arena, const char *public_url, const struct asset_name *name) NONNULL(1, 2, 3) RETURNS_NONNULL;
