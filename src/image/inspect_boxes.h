/*
 * AVIF boxes (ISO/IEC 14496-12 §4.2): a tree in which each box has a size and a
 * type. The parser reads only the boxes with image sizes and frame counts.
 */
#pragma once

#include "image/reader.h"

struct image_boxes {
    uint64_t width; /* the largest in the file; 0: none */
    uint64_t height;
    uint64_t samples; /* frames of an image sequence; 0: a still image */
};

/* Whether the file's brands (AV1 Image File Format §6) include AVIF. */
bool image_boxes_are_avif(struct reader file);

struct image_boxes image_boxes_read(struct reader file);
