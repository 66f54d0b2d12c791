/*
 * Motion: the frames of an animation that moves over one picture. The movement
 * goes there and back, so that the last frame leads to the first. Pure
 * computation on raw pixels (three bytes each).
 */
#pragma once

#include "render/gif.h"

enum motion { MOTION_ZOOM_IN, MOTION_ZOOM_OUT, MOTION_PAN_LEFT, MOTION_PAN_RIGHT, MOTION_PAN_UP, MOTION_PAN_DOWN };

enum { MOTION_FRAMES = 24, MOTION_DELAY_CS = 10 };

/* The largest part of a side that the movement leaves outside of a frame. */
#define MOTION_REACH 0.25

struct motion_picture {
    const unsigned char *pixels;
    int64_t width;
    int64_t height;
};

/* The part of the picture that a frame shows, in pixels. */
struct motion_view {
    double left;
    double top;
    double width;
    double height;
};

/* The view of the frame `index` of `count`. It is within the picture. */
struct motion_view motion_view_at(enum motion motion, const struct motion_picture *picture, size_t index, size_t count) NONNULL(2);

/* Appends the frames to `frames`, which has width and height and an empty buffer; sets count and delays. */
void motion_draw(enum motion motion, const struct motion_picture *picture, size_t count, int delay_cs, struct gif_frames *frames)
    NONNULL(2, 5);
