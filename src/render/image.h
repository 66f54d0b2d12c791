/*
 * Image: what is this file, asked of posthorn-image, a confined process that
 * reads image headers (src/image). The process is started by the first question
 * and serves until it is freed; one that dies of an image is replaced.
 *
 * A checker belongs to one thread. It dies with the thread that asked first.
 */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum image_type { IMAGE_NONE, IMAGE_JPEG, IMAGE_PNG, IMAGE_GIF, IMAGE_WEBP, IMAGE_AVIF };

enum {
    IMAGE_MAX_BYTES = 15 * 1000 * 1000,
    IMAGE_MAX_PIXELS = 40 * 1000 * 1000,      /* of one frame */
    IMAGE_MAX_ALL_PIXELS = 100 * 1000 * 1000, /* of all frames together: what a viewer has to decode */
    IMAGE_MAX_FRAMES = 300,
    IMAGE_PROBLEM_BYTES = 128,
};

struct image_facts {
    enum image_type type; /* by content; IMAGE_NONE: not to be used */
    int64_t width;
    int64_t height;
    int64_t frames;
    char problem[IMAGE_PROBLEM_BYTES]; /* of IMAGE_NONE: a part of a sentence */
};

struct image_checker;

/* Starts nothing. `program` is the path of posthorn-image; it is copied. */
struct image_checker *image_checker_new(const char *program) NONNULL(1) RETURNS_NONNULL;
void image_checker_free(struct image_checker *checker);

/* Tells what the bytes are and whether they keep the bounds above. Bytes that kill the process are IMAGE_NONE.
 * Errors: SERVICE_UNAVAILABLE when the process cannot be started. */
MUST_CHECK bool image_check(struct image_checker *checker, const void *bytes, size_t size, struct image_facts *ret_facts,
                            struct error *err) NONNULL(1, 2, 4, 5);
