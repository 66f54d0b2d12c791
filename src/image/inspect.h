/*
 * Inspect: what an image file says about itself, from its headers alone: its
 * type by content, its size and how many frames it has. Nothing is decoded, so
 * the work is linear in the file and needs no memory, whatever the file claims.
 *
 * Five formats: JPEG (ITU T.81), PNG and APNG (W3C PNG 3), GIF (GIF89a), WebP
 * (RFC 9649), AVIF (ISO/IEC 14496-12 boxes, AV1 Image File Format). Where a file
 * states sizes at several places the largest counts; a rotation is not applied. SVG is refused: it can
 * carry scripts.
 *
 * Reads hostile bytes: runs in posthorn-image, a process that can do nothing
 * but answer (main.c). No state.
 */
#pragma once

#include "base/compiler.h"

#include <stddef.h>
#include <stdint.h>

enum image_kind { IMAGE_KIND_NONE, IMAGE_KIND_JPEG, IMAGE_KIND_PNG, IMAGE_KIND_GIF, IMAGE_KIND_WEBP, IMAGE_KIND_AVIF };

struct image_header {
    enum image_kind kind;
    uint64_t width; /* pixels; above 0 for every kind but none */
    uint64_t height;
    uint64_t frames;
    const char *problem; /* of IMAGE_KIND_NONE: a part of a sentence */
};

struct image_header image_inspect(const unsigned char *bytes, size_t size) NONNULL(1) PURE;
