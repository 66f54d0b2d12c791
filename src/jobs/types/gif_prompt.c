#include "jobs/types/gif_prompt.h"

#include "base/clock.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
    TEXT_MAX_CHARS = 200,
    WORD_DELAY_CS = 35,
    LAST_DELAY_CS = 250,
    SECOND_CS = 100,
    PAGE_MAX_BYTES = 256 * 1024,
    SMALLEST_FONT = 10,
    DATE_FIELDS_MIN = 3,
    DATE_FIELDS_WITH_TIME = 5,
};

static const char what_can_be_made[] = "An animation can show a text in quotes that is revealed, a countdown to a date such as "
                                       "2030-12-24, or a slideshow of the brand's "
                                       "images.";

/* ---- Reading ---- */

static bool has_word(const char *lower, const char *word)
{
    return strstr(lower, word) != NULL;
}

bool gif_prompt_motion(const char *prompt, enum motion *ret_motion, struct error *err)
{
    static const struct {
        const char *verb;
        const char *where;
        enum motion motion;
    } motions[] = {
        { "zoom", "out", MOTION_ZOOM_OUT }, { "zoom", "", MOTION_ZOOM_IN },     { "pan", "left", MOTION_PAN_LEFT },
        { "pan", "up", MOTION_PAN_UP },     { "pan", "down", MOTION_PAN_DOWN }, { "pan", "", MOTION_PAN_RIGHT },
    };
    ARENA_SCOPE arena = arena_new(0);
    const char *lower = prompt != NULL ? text_lower(arena, prompt) : "zoom";
    for (size_t i = 0; i < ARRAY_COUNT(motions); i++) {
        if (!has_word(lower, motions[i].verb) || !has_word(lower, motions[i].where))
            continue;
        *ret_motion = motions[i].motion;
        return true;
    }
    return fail(err, ERR_SERVICE_UNAVAILABLE, "prompt", "An image can zoom in, zoom out, or pan left, right, up or down.");
}

/* The text between the first quotes of a pair; NULL: none. */
static const char *quoted_text(struct arena *arena, const char *prompt)
{
    static const char *const pairs[][2] = {
        { "\"", "\"" }, { "\u201c", "\u201d" }, { "\u201e", "\u201c" }, { "\u00ab", "\u00bb" }
    };
    for (size_t i = 0; i < ARRAY_COUNT(pairs); i++) {
        const char *begin = strstr(prompt, pairs[i][0]);
        begin = begin != NULL ? begin + strlen(pairs[i][0]) : NULL;
        const char *end = begin != NULL ? strstr(begin, pairs[i][1]) : NULL;
        if (end != NULL && end > begin)
            return text_trim(arena, arena_dup_bytes(arena, begin, (size_t)(end - begin)));
    }
    return NULL;
}

/* Reads "2030-12-24", with "18:00" or "T18:00" behind it; the time is UTC. */
static bool read_date(const char *prompt, int64_t *ret_us)
{
    for (const char *at = prompt; *at != '\0'; at++) {
        struct tm date = { .tm_mday = 0 };
        char between;
        int fields =
            sscanf(at, "%4d-%2d-%2d%c%2d:%2d", &date.tm_year, &date.tm_mon, &date.tm_mday, &between, &date.tm_hour, &date.tm_min);
        bool is_date = fields >= DATE_FIELDS_MIN && date.tm_year >= 2000 && date.tm_mon >= 1 && date.tm_mon <= 12 &&
                       date.tm_mday >= 1 && date.tm_mday <= 31;
        if (!is_date)
            continue;
        if (fields <= DATE_FIELDS_WITH_TIME || date.tm_hour > 23 || date.tm_min > 59 || date.tm_hour < 0 || date.tm_min < 0)
            date.tm_hour = date.tm_min = 0;
        date.tm_year -= 1900;
        date.tm_mon -= 1;
        *ret_us = (int64_t)timegm(&date) * US_PER_S;
        return true;
    }
    return false;
}

static bool read_countdown(const char *prompt, int64_t now_us, struct gif_prompt *ret_prompt, struct error *err)
{
    ret_prompt->subject = GIF_COUNTDOWN;
    if (!read_date(prompt, &ret_prompt->until_us))
        return fail(err, ERR_INVALID_REQUEST, "prompt",
                    "A countdown needs its date, such as 2030-12-24 or 2030-12-24 18:00 (UTC).");
    return ret_prompt->until_us > now_us || fail(err, ERR_INVALID_REQUEST, "prompt", "The date of the countdown has passed.");
}

bool gif_prompt_read(struct arena *arena, const char *prompt, int64_t now_us, struct gif_prompt *ret_prompt, struct error *err)
{
    const char *lower = text_lower(arena, prompt);
    *ret_prompt = (struct gif_prompt){ .subject = GIF_REVEAL, .text = quoted_text(arena, prompt) };
    if (has_word(lower, "countdown") || has_word(lower, "count down"))
        return read_countdown(prompt, now_us, ret_prompt, err);
    if (has_word(lower, "slideshow") || has_word(lower, "slide show")) {
        ret_prompt->subject = GIF_SLIDESHOW;
        return true;
    }
    if (ret_prompt->text == NULL || ret_prompt->text[0] == '\0')
        return fail(err, ERR_SERVICE_UNAVAILABLE, "prompt", "%s", what_can_be_made);
    return utf8_length(ret_prompt->text) <= TEXT_MAX_CHARS ||
           fail(err, ERR_INVALID_REQUEST, "prompt", "The text of an animation has at most %d characters.", TEXT_MAX_CHARS);
}

/* ---- Pages ---- */

static struct buf *begin_page(struct arena *arena, const struct gif_frames *frames, double font)
{
    struct buf *page = buf_in_arena(arena, PAGE_MAX_BYTES);
    buf_printf(
        page,
        "<!DOCTYPE html><meta charset=\"utf-8\"><style>*{margin:0;padding:0;box-sizing:border-box}"
        ".f{width:%" PRId64 "px;height:%" PRId64 "px;padding:0 5%%;overflow:hidden;display:flex;align-items:center;"
        "justify-content:center;text-align:center;background:#fff;color:#1b1b1f;"
        "font:700 %.1fpx/1.25 Helvetica,Arial,'Liberation Sans','DejaVu Sans',sans-serif}"
        "i{visibility:hidden;font-style:normal}b{min-width:1.7em;margin:0 .12em;padding:.12em 0;background:#1b1b1f;color:#fff;"
        "border-radius:.12em}b small{display:block;font-size:.28em;font-weight:400}</style>",
        frames->width, frames->height, font);
    return page;
}

static void add_escaped(struct buf *page, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '<' || text[i] == '&')
            buf_add_text(page, text[i] == '<' ? "&lt;" : "&amp;");
        else
            buf_add_char(page, text[i]);
    }
}

/* The size at which so many characters fill about two thirds of a frame. */
static double font_for(const struct gif_frames *frames, size_t chars)
{
    double room = 0.62 * (double)frames->width * (double)frames->height;
    double font = sqrt(room / (1.25 * 0.6 * (double)(chars > 4 ? chars : 4)));
    double most = (double)frames->height * 0.4;
    return font < SMALLEST_FONT ? SMALLEST_FONT : font > most ? most : font;
}

static size_t count_words(const char *text)
{
    size_t count = 0;
    for (const char *at = text; *at != '\0';) {
        at += strspn(at, " \t\n\r");
        size_t size = strcspn(at, " \t\n\r");
        count += size > 0;
        at += size;
    }
    return count;
}

/* One frame: the first `shown` words are visible, the others keep their places. */
static void add_reveal_frame(struct buf *page, const char *text, size_t shown)
{
    size_t word = 0;
    buf_add_text(page, "<div class=\"f\"><span>");
    for (const char *at = text; *at != '\0';) {
        at += strspn(at, " \t\n\r");
        size_t size = strcspn(at, " \t\n\r");
        if (size == 0)
            break;
        if (word++ == shown)
            buf_add_text(page, "<i>");
        add_escaped(page, at, size);
        buf_add_char(page, ' ');
        at += size;
    }
    buf_add_text(page, word > shown ? "</i></span></div>" : "</span></div>");
}

const char *gif_prompt_reveal_page(struct arena *arena, const char *text, int64_t width, struct gif_frames *frames)
{
    size_t words = count_words(text);
    size_t steps = words < GIF_REVEAL_FRAMES - 1 ? words : GIF_REVEAL_FRAMES - 1;
    frames->width = width;
    frames->height = (width * 2 + 2) / 5;
    frames->count = steps + 1;
    struct buf *page = begin_page(arena, frames, font_for(frames, utf8_length(text)));
    for (size_t i = 0; i <= steps; i++) {
        add_reveal_frame(page, text, steps > 0 ? (words * i + steps - 1) / steps : 0);
        frames->delays_cs[i] = i < steps ? WORD_DELAY_CS : LAST_DELAY_CS;
    }
    return buf_text(page);
}

static void add_countdown_frame(struct buf *page, int64_t seconds)
{
    static const int64_t day = 86400;
    buf_printf(page,
               "<div class=\"f\"><b>%" PRId64
               "<small>days</small></b><b>%02d<small>hours</small></b><b>%02d<small>minutes</small></b>"
               "<b>%02d<small>seconds</small></b></div>",
               seconds / day, (int)(seconds % day / 3600), (int)(seconds % 3600 / 60), (int)(seconds % 60));
}

const char *gif_prompt_countdown_page(struct arena *arena, int64_t until_us, int64_t now_us, int64_t width,
                                      struct gif_frames *frames)
{
    int64_t left = (until_us - now_us) / US_PER_S;
    frames->width = width;
    frames->height = (width * 3 + 5) / 10;
    frames->count = left + 1 < GIF_COUNTDOWN_FRAMES ? (size_t)left + 1 : GIF_COUNTDOWN_FRAMES;
    frames->plays_once = true;
    struct buf *page = begin_page(arena, frames, (double)width / 10);
    for (size_t i = 0; i < frames->count; i++) {
        add_countdown_frame(page, left - (int64_t)i);
        frames->delays_cs[i] = SECOND_CS;
    }
    return buf_text(page);
}
