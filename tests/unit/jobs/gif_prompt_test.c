/* prompts of animations: the words that are known, dates, texts, and the pages of the frames. */
#include "jobs/types/gif_prompt.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const int64_t now_us = INT64_C(1900000000) * US_PER_S; /* 2030-03-17 17:46:40 */

static void assert_motion(const char *prompt, int expected)
{
    struct error err = { .code = ERR_NONE };
    enum motion motion;
    bool is_known = gif_prompt_motion(prompt, &motion, &err);
    assert_int_equal(is_known ? (int)motion : -1, expected);
    if (!is_known)
        assert_int_equal(err.code, ERR_SERVICE_UNAVAILABLE);
}

static void test_movements(void **state)
{
    (void)state;
    assert_motion(NULL, MOTION_ZOOM_IN);
    assert_motion("Slow zoom", MOTION_ZOOM_IN);
    assert_motion("Zoom OUT please", MOTION_ZOOM_OUT);
    assert_motion("pan", MOTION_PAN_RIGHT);
    assert_motion("pan to the left", MOTION_PAN_LEFT);
    assert_motion("pan up", MOTION_PAN_UP);
    assert_motion("let it snow", -1);
}

static enum error_code code_of(struct arena *arena, const char *text, struct gif_prompt *prompt)
{
    struct error err = { .code = ERR_NONE };
    bool is_read = gif_prompt_read(arena, text, now_us, prompt, &err);
    return is_read ? ERR_NONE : err.code;
}

static void test_subjects(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    struct gif_prompt prompt;
    assert_int_equal(code_of(arena, "Reveal the words \"Spring sale\"", &prompt), ERR_NONE);
    assert_int_equal(prompt.subject, GIF_REVEAL);
    assert_string_equal(prompt.text, "Spring sale");
    assert_int_equal(code_of(arena, "Text \u201cNur heute\u201d", &prompt), ERR_NONE);
    assert_string_equal(prompt.text, "Nur heute");
    assert_int_equal(code_of(arena, "countdown to 2030-03-18", &prompt), ERR_NONE);
    assert_int_equal(prompt.subject, GIF_COUNTDOWN);
    assert_true(prompt.until_us == INT64_C(1900022400) * US_PER_S);
    assert_int_equal(code_of(arena, "Count down: 2030-03-17 18:00", &prompt), ERR_NONE);
    assert_true(prompt.until_us == INT64_C(1900000800) * US_PER_S);
    assert_int_equal(code_of(arena, "Slideshow of our pictures", &prompt), ERR_NONE);
    assert_int_equal(prompt.subject, GIF_SLIDESHOW);
    assert_int_equal(code_of(arena, "countdown to Christmas", &prompt), ERR_INVALID_REQUEST);
    assert_int_equal(code_of(arena, "countdown to 2030-03-17", &prompt), ERR_INVALID_REQUEST);
    assert_int_equal(code_of(arena, "a dancing cat", &prompt), ERR_SERVICE_UNAVAILABLE);
    assert_int_equal(code_of(arena, "a dancing \"\"", &prompt), ERR_SERVICE_UNAVAILABLE);
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part))
        count++;
    return count;
}

static void test_pages(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    struct gif_frames frames = { .count = 0 };
    const char *page = gif_prompt_reveal_page(arena, "One <b>two</b> & three", 600, &frames);
    assert_int_equal(frames.count, 5);
    assert_int_equal(frames.height, 240);
    assert_int_equal(count_of(page, "<div class=\"f\">"), 5);
    assert_int_equal(count_of(page, "<b>two"), 0);
    assert_int_equal(count_of(page, "&lt;b>two"), 5);
    assert_int_equal(count_of(page, "<i>"), 4);
    char many[400] = "";
    for (int i = 0; i < 90; i++)
        memcpy(many + 2 * i, "a ", 3);
    gif_prompt_reveal_page(arena, many, 600, &frames);
    assert_int_equal(frames.count, GIF_REVEAL_FRAMES);
    page = gif_prompt_countdown_page(arena, now_us + 3 * US_PER_S, now_us, 300, &frames);
    assert_int_equal(frames.count, 4);
    assert_true(frames.plays_once);
    assert_int_equal(count_of(page, "<b>03<small>seconds"), 1);
    assert_int_equal(count_of(page, "<b>00<small>seconds"), 1);
    gif_prompt_countdown_page(arena, now_us + 90000 * US_PER_S, now_us, 300, &frames);
    assert_int_equal(frames.count, GIF_COUNTDOWN_FRAMES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_movements),
        cmocka_unit_test(test_subjects),
        cmocka_unit_test(test_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
