/*
 * Image inspection: reads the type, the size and the number of frames of an image
 * from its headers. It decodes no pixels, so the time is linear in the file's size
 * and it allocates no memory, for any file.
 *
 * It supports JPEG (ITU T.81), PNG and APNG (W3C PNG 3), GIF (GIF89a), WebP
 * (RFC 9649) and AVIF (ISO/IEC 14496-12 boxes, AV1 Image File Format). If a file
 * states several sizes, the largest counts. A rotation is not applied. SVG is
 * refused, because it can contain scripts.
 *
 * It reads untrusted bytes, so it runs in the sandboxed process posthorn-image
 * (main.c). No state.
 */
#pragma once

#include "base/compiler.h"

#include <stddef.h>
#include <stdint.h>

enum image_kind { IMAGE_KIND_NONE, IMAGE_KIND_JPEG, IMAGE_KIND_PNG, IMAGE_KIND_GIF, IMAGE_KIND_WEBP, IMAGE_KIND_AVIF };

struct image_header {
    enum image_kind kind;
    uint64_t width; /* pixels; above 0 for every kind except IMAGE_KIND_NONE */
    uint64_t height;
    uint64_t frames;
    const char *problem; /* for IMAGE_KIND_NONE: the reason, as a part of a sentence */
};

struct image_header image_inspect(const unsigned char *bytes, size_t size) NONNULL(1) PURE;
