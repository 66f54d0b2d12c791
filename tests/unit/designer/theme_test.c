/* Themes: contrast of every look, and design texts. */
#include "base/json_read.h"
#include "base/text.h"
#include "designer/colour.h"
#include "designer/theme.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct arena *arena; /* one per test */

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

static struct colour read_colour(const char *text)
{
    struct colour colour;
    assert_true(colour_read(text, &colour));
    return colour;
}

static void test_colours_are_written_as_read(void **state)
{
    (void)state;
    static const char *const colours[] = { "#000000", "#ffffff", "#0b6b4a", "#ff0000", "#00ff00", "#0000ff", "#7f7f7f", "#fffe01" };
    for (size_t i = 0; i < sizeof(colours) / sizeof(colours[0]); i++) {
        char text[COLOUR_CHARS + 1];
        colour_write(read_colour(colours[i]), text);
        assert_string_equal(text, colours[i]);
    }
}

/* Contrasts that the definition of WCAG gives. */
static void test_contrast(void **state)
{
    (void)state;
    assert_true(fabs(colour_contrast(read_colour("#000000"), read_colour("#ffffff")) - 21) < 0.001);
    assert_true(fabs(colour_contrast(read_colour("#777777"), read_colour("#ffffff")) - 4.478) < 0.001);
    assert_true(fabs(colour_contrast(read_colour("#ff0000"), read_colour("#ffffff")) - 3.998) < 0.001);
}

static void test_a_readable_colour_keeps_its_hue(void **state)
{
    (void)state;
    struct colour white = read_colour("#ffffff");
    struct colour yellow = read_colour("#ffd400");
    struct colour found = colour_readable(yellow, white, white, 4.5);
    assert_true(colour_contrast(found, white) >= 4.5);
    assert_true(colour_contrast(found, white) < 4.8);
    assert_true(found.hue == yellow.hue);
    struct colour green = read_colour("#0b6b4a");
    assert_true(colour_readable(green, white, white, 4.5).lightness == green.lightness);
}

static uint64_t random_state;

static unsigned next_random(void)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(random_state >> 40);
}

static double contrast_of(const json_t *tone, const char *one, const char *other)
{
    return colour_contrast(read_colour(json_get_text(tone, one)), read_colour(json_get_text(tone, other)));
}

static void check_mode(const json_t *mode)
{
    static const char *const texts[] = { "ink", "muted", "link" };
    const char *name;
    json_t *tone;
    json_object_foreach (json_object_get(mode, "tones"), name, tone) {
        for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
            assert_true(contrast_of(tone, texts[i], "ground") >= 4.5);
            assert_true(contrast_of(tone, texts[i], "card") >= 4.5);
        }
        assert_true(contrast_of(tone, "onButton", "button") >= 4.5);
        assert_true(contrast_of(tone, "onBand", "band") >= 4.5);
    }
}

/* A caller's palette may be anything. */
static void test_every_palette_is_readable(void **state)
{
    (void)state;
    static const char *const members[] = { "ground", "surface", "ink", "muted", "accent", "onAccent" };
    for (int round = 0; round < 300; round++) {
        json_t *theme = json_in_arena(arena, json_object());
        json_t *dark = json_object();
        for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
            json_object_set_new(theme, members[i], json_string(arena_printf(arena, "#%06x", next_random() & 0xffffffU)));
            if (round % 2 == 0)
                json_object_set_new(dark, members[i], json_string(arena_printf(arena, "#%06x", next_random() & 0xffffffU)));
        }
        json_object_set_new(theme, "dark", dark);
        const json_t *look = theme_look(arena, theme, NULL);
        check_mode(json_object_get(look, "light"));
        check_mode(json_object_get(look, "dark"));
    }
}

static void test_the_document_comes_before_the_brand(void **state)
{
    (void)state;
    const json_t *brand = theme_read_design(arena, "- Accent: #0b6b4a\n- Corners: 12 px\n- Buttons: pill\n");
    const json_t *own = json_in_arena(arena, json_pack("{si}", "radius", 2));
    const json_t *look = theme_look(arena, own, brand);
    assert_int_equal(json_get_int(look, "radius", 0), 2);
    assert_string_equal(json_get_text(look, "buttonStyle"), "pill");
    const json_t *plain = json_object_get(json_object_get(json_object_get(look, "light"), "tones"), "plain");
    assert_string_equal(json_get_text(plain, "button"), "#0b6b4a");
}

static void test_design_texts(void **state)
{
    (void)state;
    static const char design[] = "Warm and quiet.\n* accent : #AA3300\n- Ground: red\n- Dark ink: #eeeeee\n- Dark ground: #101010\n"
                                 "- Heading font: Georgia, serif\n- Corners: 900 px\n- Width: 640 px\n- Voice: short sentences\n";
    const json_t *theme = theme_read_design(arena, design);
    const char *written = theme_write_design(arena, theme);
    assert_string_equal(written, "- Accent: #aa3300\n- Dark ground: #101010\n- Dark ink: #eeeeee\n- Heading font: Georgia, serif\n"
                                 "- Width: 640 px\n");
    assert_string_equal(theme_write_design(arena, theme_read_design(arena, written)), written);
    assert_int_equal(json_object_size(theme_read_design(arena, NULL)), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_colours_are_written_as_read, setup, teardown),
        cmocka_unit_test_setup_teardown(test_contrast, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_readable_colour_keeps_its_hue, setup, teardown),
        cmocka_unit_test_setup_teardown(test_every_palette_is_readable, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_document_comes_before_the_brand, setup, teardown),
        cmocka_unit_test_setup_teardown(test_design_texts, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
