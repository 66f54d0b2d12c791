#include "render/motion.h"

#include <math.h>

/* 0 at the first frame, 1 in the middle, with a slow beginning and end. */
static double way(size_t index, size_t count)
{
    return (1 - cos(2 * M_PI * (double)index / (double)count)) / 2;
}

struct motion_view motion_view_at(enum motion motion, const struct motion_picture *picture, size_t index, size_t count)
{
    double at = way(index, count);
    double width = (double)picture->width;
    double height = (double)picture->height;
    double reach = motion == MOTION_ZOOM_IN    ? MOTION_REACH * at
                   : motion == MOTION_ZOOM_OUT ? MOTION_REACH * (1 - at)
                                               : MOTION_REACH;
    struct motion_view view = { .width = width * (1 - reach), .height = height * (1 - reach) };
    double room_x = width - view.width;
    double room_y = height - view.height;
    view.left = motion == MOTION_PAN_LEFT ? room_x * (1 - at) : motion == MOTION_PAN_RIGHT ? room_x * at : room_x / 2;
    view.top = motion == MOTION_PAN_UP ? room_y * (1 - at) : motion == MOTION_PAN_DOWN ? room_y * at : room_y / 2;
    return view;
}

/* The two neighbours of a position on one side, and the share of the second. */
struct neighbours {
    int64_t first;
    int64_t second;
    double share;
};

static struct neighbours neighbours_of(double position, int64_t side)
{
    double inside = position < 0 ? 0 : position > (double)(side - 1) ? (double)(side - 1) : position;
    int64_t first = (int64_t)inside;
    return (struct neighbours){ first, first + 1 < side ? first + 1 : first, inside - (double)first };
}

static void draw_pixel(const struct motion_picture *picture, struct neighbours x, struct neighbours y, unsigned char *ret_pixel)
{
    const unsigned char *above = picture->pixels + 3 * y.first * picture->width;
    const unsigned char *below = picture->pixels + 3 * y.second * picture->width;
    for (int i = 0; i < 3; i++) {
        double top = above[3 * x.first + i] * (1 - x.share) + above[3 * x.second + i] * x.share;
        double bottom = below[3 * x.first + i] * (1 - x.share) + below[3 * x.second + i] * x.share;
        ret_pixel[i] = (unsigned char)(top * (1 - y.share) + bottom * y.share + 0.5);
    }
}

static void draw_frame(const struct motion_picture *picture, struct motion_view view, int64_t width, int64_t height,
                       unsigned char *ret_pixels)
{
    for (int64_t row = 0; row < height; row++) {
        double top = view.top + ((double)row + 0.5) * view.height / (double)height - 0.5;
        struct neighbours y = neighbours_of(top, picture->height);
        for (int64_t column = 0; column < width; column++) {
            double left = view.left + ((double)column + 0.5) * view.width / (double)width - 0.5;
            draw_pixel(picture, neighbours_of(left, picture->width), y, ret_pixels + 3 * (row * width + column));
        }
    }
}

void motion_draw(enum motion motion, const struct motion_picture *picture, size_t count, int delay_cs, struct gif_frames *frames)
{
    size_t frame_bytes = (size_t)(3 * frames->width * frames->height);
    frames->count = 0;
    for (size_t i = 0; i < count && i < GIF_MAX_FRAMES; i++) {
        char *room = buf_room(frames->pixels, frame_bytes);
        if (room == NULL)
            return;
        draw_frame(picture, motion_view_at(motion, picture, i, count), frames->width, frames->height, (unsigned char *)room);
        buf_grown(frames->pixels, frame_bytes);
        frames->delays_cs[frames->count++] = delay_cs;
    }
}
