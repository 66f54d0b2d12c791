/*
 * Content images: what the jobs of content operations share. They take an image
 * from an address of the caller, and host a picture that they have made.
 *
 * An image of this installation is read from the asset store; any other is
 * fetched through the guarded client. Both are checked (render/image.h). Results
 * live in the arena of the job.
 */
#pragma once

#include "engine/assets/assets.h"
#include "jobs/jobs.h"
#include "render/picture.h"

/* Takes the image at `url`. `param` names the argument in errors. Errors: INVALID_REQUEST (the address, the fetch, the file);
 * SERVICE_UNAVAILABLE (the checker, the store, a caller that cancelled). */
MUST_CHECK bool content_image_take(struct job *job, const char *public_url, const char *url, const char *param,
                                   struct image_checker *checker, struct picture *ret_image, struct error *err)
    NONNULL(1, 2, 3, 4, 5, 6, 7);

/* The name of an image that this installation hosts; false for any other address. */
bool content_image_own_name(const char *public_url, const char *url, struct asset_name *ret_name) NONNULL(1, 2, 3);

/* Fetches any file of at most `max_bytes` through the guarded client. `what` names it in errors ("image"). Errors: INVALID_REQUEST
 * (the address, the fetch), SERVICE_UNAVAILABLE (the caller cancelled). */
MUST_CHECK bool content_image_fetch(struct job *job, const char *url, const char *param, const char *what, size_t max_bytes,
                                    struct bytes *ret_bytes, struct error *err) NONNULL(1, 2, 3, 4, 6, 7);

/* Reads an image of the asset store into the arena. Errors: SERVICE_UNAVAILABLE. */
MUST_CHECK bool content_image_read(struct arena *arena, struct asset_store *store, const struct asset_name *name,
                                   struct bytes *ret_bytes, bool *ret_found, struct error *err) NONNULL(1, 2, 3, 4, 5, 6);

/* Names the argument in an INVALID_REQUEST that has no param yet. Returns false. */
bool content_image_blame(const char *param, struct error *err) NONNULL(1, 2);

/* The type of an asset with this content, which is not IMAGE_NONE. */
enum asset_type content_image_type(enum image_type type) PURE;

/* Stores the bytes of an image, which is noted as spare before: when the job ends before assets_keep, the upkeep removes the file.
 * Errors: SERVICE_UNAVAILABLE (the store), those of the database. */
MUST_CHECK bool content_image_store(struct job *job, const struct asset_name *name, struct bytes bytes, struct error *err)
    NONNULL(1, 2, 4);

struct hosted_picture {
    struct asset asset; /* for assets_keep */
    const char *url;
};

/* Stores a picture below `public_url`; safe to repeat. `kind` is a kind of assets; `source_url` may be NULL. Errors:
 * INVALID_REQUEST (the brand hosts as many images as it may), SERVICE_UNAVAILABLE. */
MUST_CHECK bool content_image_host(struct job *job, const char *public_url, const struct picture *picture, const char *kind,
                                   const char *source_url, struct hosted_picture *ret_hosted, struct error *err)
    NONNULL(1, 2, 3, 4, 6, 7);

/* Writes the member `notes`, unless there are none. */
void content_image_write_notes(struct json_writer *json, const struct text_list *notes) NONNULL(1, 2);
