/*
 * Preview images: a small picture of each design for lists. Once a minute
 * the workers enqueue the job draw_preview_images for brands whose designs have
 * got a new version. No call waits for a picture, and edits in quick succession
 * are drawn once.
 *
 * A picture is a file of the asset store without a row in `assets`, so it is no
 * image of the brand's library. A design keeps the picture of its earlier version
 * until the new one is drawn. Only an installation with a public URL draws.
 *
 * A picture that no design shows any more is spare. It stays for SPARE_PICTURE_DAYS,
 * because lists that were read before and backups still name it; then the upkeep of
 * the workers removes its file. An image of the library is spare from before it is
 * stored until assets_keep records it.
 */
#pragma once

#include "engine/assets/asset_store.h"
#include "engine/core/work.h"

enum { SPARE_PICTURE_DAYS = 7 };

/* Enqueues jobs for brands with designs to draw. `own` counts jobs of the caller that end with its transaction. Does nothing
 * without a public URL. */
MUST_CHECK bool preview_images_enqueue(const struct engine *engine, struct db_conn *conn, struct arena *arena, int64_t now_us,
                                       int64_t own, struct error *err) NONNULL(1, 2, 3, 6);

/* A version that is the latest of its design and has no picture. */
struct undrawn_email {
    int64_t id; /* 0: none is left */
    int64_t version_id;
};

/* Finds the next design of the brand to draw. */
MUST_CHECK bool preview_image_next(const struct work *work, struct undrawn_email *ret_email, struct error *err) NONNULL(1, 2, 3);

/* Saves the name of the stored picture; NULL: the version cannot be drawn, and is not tried again. A version that is not the latest
 * any more changes nothing. */
MUST_CHECK bool preview_image_set(const struct work *work, const struct undrawn_email *email, const char *image, struct error *err)
    NONNULL(1, 2, 4);

/* Puts the design off, because the browser did not answer: the brand gets no job for an hour, and draws its other designs first. */
MUST_CHECK bool preview_image_put_off(const struct work *work, const struct undrawn_email *email, struct error *err)
    NONNULL(1, 2, 3);

/* Notes the name of a picture that is about to be stored. A job that ends before preview_image_set or assets_keep leaves a spare
 * one. */
MUST_CHECK bool spare_picture_note(const struct work *work, const char *image, struct error *err) NONNULL(1, 2, 3);

struct spare_picture {
    int64_t brand_id;
    const char *image;
    struct asset_name name; /* parsed */
    bool is_used;           /* a design or a library of some brand shows it */
};

/* The pictures that have been spare for SPARE_PICTURE_DAYS, at most `limit`, the oldest first. */
MUST_CHECK bool spare_pictures_read(struct db_conn *conn, struct arena *arena, int64_t now_us, int64_t limit,
                                    struct spare_picture **ret_pictures, size_t *ret_count, struct error *err)
    NONNULL(1, 2, 5, 6, 7);

/* Forgets the first `count` of them: they are removed or used. One that became spare again meanwhile stays noted. */
MUST_CHECK bool spare_pictures_forget(struct db_conn *conn, struct arena *arena, int64_t now_us,
                                      const struct spare_picture *pictures, size_t count, struct error *err) NONNULL(1, 2, 4, 6);
