/*
 * Gif prompt: what a prompt of content.gif asks for, read by a few fixed words,
 * and the pages of which the frames of a text or a countdown are drawn. A page
 * has all frames below each other. No I/O; texts live in the arena.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "render/gif.h"
#include "render/motion.h"

enum { GIF_SLIDES_MAX = 6, GIF_REVEAL_FRAMES = 16, GIF_COUNTDOWN_FRAMES = 30 };

/* How an image moves; `prompt` may be NULL: it is zoomed in. Errors: SERVICE_UNAVAILABLE (prompt) that says which words are known.
 */
MUST_CHECK bool gif_prompt_motion(const char *prompt, enum motion *ret_motion, struct error *err) NONNULL(2, 3);

enum gif_subject { GIF_REVEAL, GIF_COUNTDOWN, GIF_SLIDESHOW };

struct gif_prompt {
    enum gif_subject subject;
    const char *text; /* of GIF_REVEAL */
    int64_t until_us; /* of GIF_COUNTDOWN */
};

/* Errors: INVALID_REQUEST (prompt: no date, a date that has passed, a text that is too long), SERVICE_UNAVAILABLE (prompt: it asks
 * for anything else; the message says what can be made). */
MUST_CHECK bool gif_prompt_read(struct arena *arena, const char *prompt, int64_t now_us, struct gif_prompt *ret_prompt,
                                struct error *err) NONNULL(1, 2, 4, 5);

/* The page of a text whose words appear one after the other. Sets everything of `frames` but the pixels. */
const char *gif_prompt_reveal_page(struct arena *arena, const char *text, int64_t width, struct gif_frames *frames)
    NONNULL(1, 2, 4) RETURNS_NONNULL;

/* The page of the seconds that are left, from `now_us` on. As above. */
const char *gif_prompt_countdown_page(struct arena *arena, int64_t until_us, int64_t now_us, int64_t width,
                                      struct gif_frames *frames) NONNULL(1, 5) RETURNS_NONNULL;
