/* Main colours of images, by the real program. */
#include "render/colours.h"

#include "base/text.h"
#include "render/gif.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct arena *arena;

/* A PNG of 64 by 64 pixels, made of raw ones: the upper half is `upper`. */
static struct bytes image_of(const unsigned char *upper, const unsigned char *lower, const char *output)
{
    enum { SIDE = 64 };
    struct error err = { .code = ERR_NONE };
    struct buf *ppm = buf_in_arena(arena, 64 * 1024);
    struct buf *file = buf_in_arena(arena, 64 * 1024);
    buf_printf(ppm, "P6\n%d %d\n255\n", SIDE, SIDE);
    for (int i = 0; i < SIDE * SIDE; i++)
        buf_add(ppm, (const char *)(i < SIDE * SIDE / 2 ? upper : lower), 3);
    struct vips_run run = {
        .arguments = { "vips", "copy", "stdin", output },
        .input = { (const unsigned char *)ppm->data, ppm->size },
        .is_own_input = true,
    };
    if (!vips_run(&run, file, &err))
        fail_msg("%s: %s", err.message, err.cause);
    return (struct bytes){ (const unsigned char *)file->data, file->size };
}

static const char *colours_in(enum image_type type, struct bytes image)
{
    struct error err = { .code = ERR_NONE };
    const char *colours;
    if (!colours_of_picture(arena, type, image, &colours, &err))
        fail_msg("%s: %s", err.message, err.cause);
    return colours;
}

static const unsigned char red[] = { 200, 20, 40 };
static const unsigned char sand[] = { 250, 240, 210 };

static void test_colours(void **state)
{
    (void)state;
    assert_string_equal(colours_in(IMAGE_PNG, image_of(red, sand, ".png")), "#faefd2,#c81428");
    assert_string_equal(colours_in(IMAGE_PNG, image_of(red, red, ".png")), "#c81428");
    assert_string_equal(colours_in(IMAGE_PNG, image_of(red, red, ".gif")), "#c81428");
    const char *colours = colours_in(IMAGE_JPEG, image_of(red, red, ".jpg[Q=100]"));
    assert_int_equal(strlen(colours), 7);
}

/* A transparent part has no colour, whatever its pixels are. */
static void test_transparent_parts(void **state)
{
    (void)state;
    static const unsigned char transparent_gif[] = {
        'G', 'I', 'F', '8', '9', 'a',  1, 0, 1, 0, 0x80, 0, 0, 0xff, 0xff, 0xff, 0, 0,    0, 0x21, 0xf9, 4,
        1,   0,   0,   0,   0,   0x2c, 0, 0, 0, 0, 1,    0, 1, 0,    0,    2,    2, 0x44, 1, 0,    0x3b,
    };
    assert_string_equal(colours_in(IMAGE_PNG, (struct bytes){ transparent_gif, sizeof(transparent_gif) }), "");
}

static void test_what_is_no_image(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    const char *colours;
    assert_false(colours_of_picture(arena, IMAGE_PNG, (struct bytes){ (const unsigned char *)"no image", 8 }, &colours, &err));
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
}

static int setup(void **state)
{
    (void)state;
    arena = arena_new(0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_colours, setup, teardown),
        cmocka_unit_test_setup_teardown(test_transparent_parts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_is_no_image, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
