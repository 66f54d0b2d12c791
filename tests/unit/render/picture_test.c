/* plans of resizing and optimizing: sizes that are refused, and the arguments of the programs. Then a real run and its
 * faults. */
#include "render/picture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *param_of(int64_t width, int64_t height, int64_t frames, struct picture_size size)
{
    static struct error err;
    const struct image_facts facts = { .type = IMAGE_PNG, .width = width, .height = height, .frames = frames };
    err = (struct error){ .code = ERR_NONE };
    return picture_check_size(&facts, size, &err) ? "" : err.param;
}

static void test_sizes(void **state)
{
    (void)state;
    assert_string_equal(param_of(600, 400, 1, (struct picture_size){ .width = 300 }), "");
    assert_string_equal(param_of(600, 400, 1, (struct picture_size){ .width = 4096, .height = 4096 }), "");
    assert_string_equal(param_of(1, 5, 1, (struct picture_size){ .width = 4096 }), "width");
    assert_string_equal(param_of(5, 1, 1, (struct picture_size){ .height = 4096 }), "height");
    assert_string_equal(param_of(100, 100, 300, (struct picture_size){ .width = 600 }), "width");
    assert_string_equal(param_of(100, 50, 3, (struct picture_size){ .width = 60, .height = 60 }), "height");
    assert_string_equal(param_of(100, 50, 3, (struct picture_size){ .width = 60, .height = 30 }), "");
}

/* The arguments, joined by spaces. */
static const char *plan(struct arena *arena, enum image_type type, int64_t frames, const char *content, struct picture_size size)
{
    const struct picture image = { .bytes = { (const unsigned char *)content, strlen(content) },
                                   .facts = { .type = type, .width = 100, .height = 50, .frames = frames } };
    struct vips_run run;
    picture_plan_resize(arena, &image, size, &run);
    const char *text = "";
    for (size_t i = 0; run.arguments[i] != NULL; i++)
        text = arena_printf(arena, "%s %s", text, run.arguments[i]);
    return text;
}

static void test_plans(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    assert_string_equal(plan(arena, IMAGE_JPEG, 1, "", (struct picture_size){ .width = 60 }),
                        " vipsthumbnail stdin[fail_on=truncated] --size 60x --output .jpg[strip,Q=85,optimize_coding]");
    assert_string_equal(
        plan(arena, IMAGE_PNG, 1, "xxiCCPxx", (struct picture_size){ .height = 60 }),
        " vipsthumbnail stdin[fail_on=truncated] --size x60 --output .png[strip,compression=6] --export-profile srgb");
    assert_string_equal(
        plan(arena, IMAGE_PNG, 1, "", (struct picture_size){ .width = 60, .height = 60 }),
        " vipsthumbnail stdin[fail_on=truncated] --size 60x60 --output .png[strip,compression=6] --smartcrop centre");
    assert_string_equal(plan(arena, IMAGE_GIF, 3, "", (struct picture_size){ .width = 60, .height = 30 }),
                        " vipsthumbnail stdin[n=-1,fail_on=truncated] --size 60x30! --output .gif");
    assert_non_null(strstr(plan(arena, IMAGE_WEBP, 1, "RIFF....WEBPVP8L......", (struct picture_size){ .width = 9 }), "lossless"));
    assert_null(strstr(plan(arena, IMAGE_WEBP, 1, "RIFF....WEBPVP8 ......", (struct picture_size){ .width = 9 }), "lossless"));
    assert_non_null(strstr(plan(arena, IMAGE_AVIF, 1, "", (struct picture_size){ .width = 9 }), ".jpg["));
}

static enum error_code code_of_run(const struct vips_run *run, size_t max_output)
{
    BUF_SCOPE output;
    buf_init(&output, max_output);
    struct error err = { .code = ERR_NONE };
    return vips_run(run, &output, &err) ? ERR_NONE : err.code;
}

static void test_runs(void **state)
{
    (void)state;
    static const unsigned char raw[] = "P6\n2 1\n255\nABCDEF";
    const struct bytes input = { raw, sizeof(raw) - 1 };
    struct vips_run run = { .arguments = { "vips", "copy", "stdin", ".png" }, .input = input, .is_own_input = true };
    assert_true(vips_is_installed());
    assert_int_equal(code_of_run(&run, 1000), ERR_NONE);
    assert_int_equal(code_of_run(&run, 20), ERR_INVALID_REQUEST);
    run.is_own_input = false; /* the loader of raw pixels is blocked for files of callers */
    assert_int_equal(code_of_run(&run, 1000), ERR_INVALID_REQUEST);
    const struct vips_run writes_a_file = { .arguments = { "vips", "copy", "stdin", "/tmp/posthorn-must-not-exist.png" },
                                            .input = input,
                                            .is_own_input = true };
    assert_int_equal(code_of_run(&writes_a_file, 1000), ERR_INVALID_REQUEST);
    const char *path = getenv("PATH");
    setenv("PATH", "/nowhere", 1);
    assert_false(vips_is_installed());
    assert_int_equal(code_of_run(&run, 1000), ERR_SERVICE_UNAVAILABLE);
    setenv("PATH", path, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_plans),
        cmocka_unit_test(test_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
