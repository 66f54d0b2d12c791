/*
 * Image checker: inspects an image file in the sandboxed subprocess
 * posthorn-image (src/image). The first check starts the process, which lives
 * until the checker is freed. A process that an image has killed is replaced.
 *
 * A checker belongs to one thread. Its process ends with the thread of the first
 * check.
 */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum image_type { IMAGE_NONE, IMAGE_JPEG, IMAGE_PNG, IMAGE_GIF, IMAGE_WEBP, IMAGE_AVIF };

enum {
    IMAGE_MAX_BYTES = 15 * 1000 * 1000,
    IMAGE_MAX_PIXELS = 40 * 1000 * 1000,      /* of one frame */
    IMAGE_MAX_ALL_PIXELS = 100 * 1000 * 1000, /* of all frames together, which a viewer has to decode */
    IMAGE_MAX_FRAMES = 300,
    IMAGE_PROBLEM_BYTES = 128,
};

struct image_facts {
    enum image_type type; /* by content; IMAGE_NONE: refused */
    int64_t width;
    int64_t height;
    int64_t frames;
    char problem[IMAGE_PROBLEM_BYTES]; /* for IMAGE_NONE: the reason, as a part of a sentence */
};

struct image_checker;

/* Does not start the process. `program` is the path of posthorn-image; it is copied. */
struct image_checker *image_checker_new(const char *program) NONNULL(1) RETURNS_NONNULL;
void image_checker_free(struct image_checker *checker);
void image_checker_cleanup(struct image_checker **checker);
#define IMAGE_CHECKER_SCOPE CLEANUP(image_checker_cleanup) struct image_checker *

/* Detects the type of the bytes and checks the bounds above. Bytes that kill the process are IMAGE_NONE.
 * Errors: SERVICE_UNAVAILABLE when the process cannot be started. */
MUST_CHECK bool image_check(struct image_checker *checker, const void *bytes, size_t size, struct image_facts *ret_facts,
                            struct error *err) NONNULL(1, 2, 4, 5);
