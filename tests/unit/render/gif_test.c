/*
 * R-389, GIF: the times of frames, leaving out frames, reading raw pixels, and the views
 * of a movement. The encoder itself is tested with real programs by
 * tests/integration/designs/content.test.mjs.
 */
#include "render/gif.h"

#include "render/motion.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Two frames of one pixel: a global table of two colours, a loop, a comment, a control before the first image only. */
static const unsigned char two_frames[] = "GIF89a\1\0\1\0\x80\0\0\1\2\3\4\5\6"
                                          "\x21\xFF\x0BNETSCAPE2.0\3\1\0\0\0"
                                          "\x21\xFE\2hi\0"
                                          "\x21\xF9\4\5\0\0\1\0"
                                          "\x2C\0\0\0\0\1\0\1\0\0\2\2\x44\1\0"
                                          "\x2C\0\0\0\0\1\0\1\0\0\2\2\x44\1\0;";

static struct bytes file_of(const unsigned char *bytes, size_t size)
{
    return (struct bytes){ bytes, size };
}

static void test_frames_get_times(void **state)
{
    (void)state;
    BUF_SCOPE output;
    buf_init(&output, 1000);
    struct gif_frames frames = { .count = 2, .delays_cs = { 35, 300 } };
    assert_true(gif_set_times(file_of(two_frames, sizeof(two_frames) - 1), &frames, &output));
    assert_non_null(memmem(output.data, output.size, "NETSCAPE2.0", 11));
    assert_null(memmem(output.data, output.size, "hi", 2));
    assert_non_null(memmem(output.data, output.size, "\x21\xF9\4\5\x23\0\1\0\x2C", 9));
    assert_non_null(memmem(output.data, output.size, "\x21\xF9\4\4\x2C\1\0\0\x2C", 9));
    buf_clear(&output);
    frames.plays_once = true;
    assert_true(gif_set_times(file_of(two_frames, sizeof(two_frames) - 1), &frames, &output));
    assert_null(memmem(output.data, output.size, "NETSCAPE2.0", 11));
}

static void test_a_damaged_file_is_refused(void **state)
{
    (void)state;
    struct gif_frames frames = { .count = 2, .delays_cs = { 1, 1 } };
    for (size_t size = 0; size + 1 < sizeof(two_frames); size++) {
        BUF_SCOPE output;
        buf_init(&output, 1000);
        if (gif_set_times(file_of(two_frames, size), &frames, &output))
            fail_msg("%zu bytes are accepted", size);
    }
    for (size_t count = 0; count < 4; count++) {
        BUF_SCOPE output;
        buf_init(&output, 1000);
        frames.count = count;
        assert_int_equal(gif_set_times(file_of(two_frames, sizeof(two_frames) - 1), &frames, &output), count == 2);
    }
}

static void test_left_out_frames_give_their_time_away(void **state)
{
    (void)state;
    BUF_SCOPE pixels;
    buf_init(&pixels, 100);
    buf_add(&pixels, "aaabbbcccdddeee", 15);
    struct gif_frames frames = { .pixels = &pixels, .width = 1, .height = 1, .count = 5, .delays_cs = { 1, 2, 3, 4, 5 } };
    gif_drop_frames(&frames);
    assert_int_equal(frames.count, 3);
    assert_int_equal(pixels.size, 9);
    assert_memory_equal(pixels.data, "aaaccceee", 9);
    assert_int_equal(frames.delays_cs[0], 3);
    assert_int_equal(frames.delays_cs[1], 7);
    assert_int_equal(frames.delays_cs[2], 5);
}

static bool reads(const char *file, size_t size, struct buf *pixels)
{
    int64_t width = 0;
    int64_t height = 0;
    buf_clear(pixels);
    return gif_add_ppm(file_of((const unsigned char *)file, size), pixels, &width, &height) && width == 2 && height == 1;
}

static void test_raw_pixels_are_read(void **state)
{
    (void)state;
    BUF_SCOPE pixels;
    buf_init(&pixels, 100);
    static const char colour[] = "P6\n#vips2ppm\n2 1\n255\nABCDEF";
    static const char grey[] = "P5\n2 1\n255\nAB";
    assert_true(reads(colour, sizeof(colour) - 1, &pixels));
    assert_memory_equal(pixels.data, "ABCDEF", 6);
    assert_true(reads(grey, sizeof(grey) - 1, &pixels));
    assert_memory_equal(pixels.data, "AAABBB", 6);
    for (size_t size = 0; size + 1 < sizeof(colour); size++)
        assert_false(reads(colour, size, &pixels));
    assert_false(reads("P6\n2 1\n65535\nABCDEFABCDEF", 25, &pixels));
    assert_false(reads("P6\n99999 99999\n255\nABCDEF", 25, &pixels));
}

static void test_views_stay_within_the_picture(void **state)
{
    (void)state;
    const struct motion_picture picture = { .width = 400, .height = 200 };
    for (int motion = MOTION_ZOOM_IN; motion <= MOTION_PAN_DOWN; motion++)
        for (size_t i = 0; i < MOTION_FRAMES; i++) {
            struct motion_view view = motion_view_at((enum motion)motion, &picture, i, MOTION_FRAMES);
            assert_true(view.left >= 0 && view.top >= 0 && view.left + view.width <= 400.001 && view.top + view.height <= 200.001);
        }
    assert_true(motion_view_at(MOTION_ZOOM_IN, &picture, 0, 24).width > 399.9);
    assert_true(motion_view_at(MOTION_ZOOM_IN, &picture, 12, 24).width < 300.1);
    assert_true(motion_view_at(MOTION_PAN_RIGHT, &picture, 0, 24).left < 0.1);
    assert_true(motion_view_at(MOTION_PAN_RIGHT, &picture, 12, 24).left > 99.9);
    assert_true(motion_view_at(MOTION_PAN_LEFT, &picture, 0, 24).left > 99.9);
    assert_true(motion_view_at(MOTION_PAN_DOWN, &picture, 12, 24).top > 49.9);
}

static void test_a_flat_picture_stays_flat(void **state)
{
    (void)state;
    BUF_SCOPE pixels;
    buf_init(&pixels, 100000);
    unsigned char flat[3 * 8 * 6];
    memset(flat, 77, sizeof(flat));
    const struct motion_picture picture = { .pixels = flat, .width = 8, .height = 6 };
    struct gif_frames frames = { .pixels = &pixels, .width = 5, .height = 4 };
    motion_draw(MOTION_ZOOM_OUT, &picture, 6, 12, &frames);
    assert_int_equal(frames.count, 6);
    assert_int_equal(frames.delays_cs[5], 12);
    assert_int_equal(pixels.size, 6 * 5 * 4 * 3);
    for (size_t i = 0; i < pixels.size; i++)
        assert_int_equal(pixels.data[i], 77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames_get_times),
        cmocka_unit_test(test_a_damaged_file_is_refused),
        cmocka_unit_test(test_left_out_frames_give_their_time_away),
        cmocka_unit_test(test_raw_pixels_are_read),
        cmocka_unit_test(test_views_stay_within_the_picture),
        cmocka_unit_test(test_a_flat_picture_stays_flat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
