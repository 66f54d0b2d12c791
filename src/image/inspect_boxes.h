/*
 * The boxes of an AVIF file (ISO/IEC 14496-12 §4.2): a tree in which each box
 * tells its size and its type. Only those that state sizes and counts are read.
 */
#pragma once

#include "image/reader.h"

struct image_boxes {
    uint64_t width; /* the largest stated anywhere; 0: none is */
    uint64_t height;
    uint64_t samples; /* frames of an image sequence; 0: it is a still */
};

/* Whether the file's brands (AV1 Image File Format §6) say that it is AVIF. */
bool image_boxes_are_avif(struct reader file);

struct image_boxes image_boxes_read(struct reader file);
