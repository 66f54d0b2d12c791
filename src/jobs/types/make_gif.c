/*
 * The job of content.gif: draws the frames of an image that moves, of a video, a
 * text, a countdown or a slideshow, makes a GIF of at most 1 MB of them and hosts it;
 * settling records it among the images of the brand and answers the caller.
 */
#include "base/json_read.h"
#include "base/text.h"
#include "catalogue/job_types.h"
#include "jobs/job_renderer.h"
#include "jobs/types/content_image.h"
#include "jobs/types/gif_prompt.h"
#include "jobs/types/page_picture.h"

#include <inttypes.h>

enum {
    MAKE_MAX_ATTEMPTS = 2,
    STATUS_OK = 200,
    SLIDE_DELAY_CS = 180,
    PAGE_MAX_HEIGHT = 16384,
    PPM_MAX_BYTES = 3 * GIF_MAX_PIXELS + 1024,
    MAX_NOTES = 6,
    VIDEO_MAX_BYTES = 6 * 1000 * 1000, /* in base64 it fits into one request of the renderer */
    VIDEO_MAX_FRAMES = 48,
};

/* The work, and the result of execute, for settle. */
struct making {
    struct job *job;
    struct image_checker *checker;
    struct picture image; /* from image */
    enum motion motion;
    struct gif_prompt prompt;
    struct text_list slides;
    const char *video; /* in base64 */
    struct gif gif;
    struct hosted_picture hosted;
    const char *notes[MAX_NOTES];
    size_t note_count;
};

static void note(struct making *making, const char *text)
{
    if (making->note_count < MAX_NOTES)
        making->notes[making->note_count++] = text;
}

/* ---- Raw pixels of a file ---- */

/* Decodes an image at a size: `crops` fills it. */
static bool decode(struct making *making, const struct picture *image, const char *size, bool crops, struct buf *pixels,
                   int64_t *ret_width, int64_t *ret_height, struct error *err)
{
    BUF_SCOPE ppm;
    buf_init(&ppm, PPM_MAX_BYTES);
    struct vips_run run = {
        .arguments = { "vipsthumbnail", "stdin[fail_on=truncated]", "--export-profile", "srgb", "--size", size, "--output",
                       ".ppm[background=255 255 255]", crops ? "--smartcrop" : NULL, crops ? "centre" : NULL },
        .input = image->bytes,
    };
    (void)making;
    if (!vips_run(&run, &ppm, err))
        return false;
    return gif_add_ppm((struct bytes){ (const unsigned char *)ppm.data, ppm.size }, pixels, ret_width, ret_height) ||
           fail(err, ERR_INVALID_REQUEST, NULL, "The image cannot be animated: it has an unusual form or too many pixels.");
}

/* ---- Frames ---- */

/* The largest width, at most `width`, at which so many frames of this shape stay within the bounds. */
static int64_t width_within(int64_t width, double ratio, size_t count)
{
    while (width > 1) {
        double height = (double)width * ratio;
        if (height * (double)width * (double)count <= GIF_MAX_PIXELS && height * (double)count <= GIF_MAX_HEIGHT)
            return width;
        width = width * 9 / 10;
    }
    return 1;
}

static bool draw_motion(void *context, int64_t width, struct gif_frames *frames, struct error *err)
{
    struct making *making = context;
    const struct image_facts *facts = &making->image.facts;
    BUF_SCOPE pixels;
    buf_init(&pixels, PPM_MAX_BYTES);
    double ratio = (double)facts->height / (double)facts->width;
    frames->width = width_within(width, ratio > 1 ? ratio : 1 / ratio, MOTION_FRAMES);
    /* A frame shows three quarters of the picture, which is decoded so much larger. */
    const char *size = arena_printf(making->job->work.arena, "%" PRId64 "x", frames->width * 4 / 3 + 1);
    struct motion_picture picture;
    if (!decode(making, &making->image, size, false, &pixels, &picture.width, &picture.height, err))
        return false;
    picture.pixels = (const unsigned char *)pixels.data;
    frames->height = (frames->width * picture.height + picture.width / 2) / picture.width;
    frames->height = frames->height > 0 ? frames->height : 1;
    motion_draw(making->motion, &picture, MOTION_FRAMES, MOTION_DELAY_CS, frames);
    return frames->count == MOTION_FRAMES ||
           fail(err, ERR_INVALID_REQUEST, NULL, "The image is too narrow or too flat to be animated.");
}

static bool draw_slides(void *context, int64_t width, struct gif_frames *frames, struct error *err)
{
    struct making *making = context;
    static const double shape = 2.0 / 3;
    frames->width = width_within(width, shape, making->slides.count);
    frames->height = (frames->width * 2 + 1) / 3;
    const char *size = arena_printf(making->job->work.arena, "%" PRId64 "x%" PRId64, frames->width, frames->height);
    for (size_t i = 0; i < making->slides.count; i++) {
        const struct make_gif_payload *payload = making->job->payload;
        struct picture image;
        int64_t ignored_width;
        int64_t ignored_height;
        if (!content_image_take(making->job, payload->public_url, making->slides.items[i], "prompt", making->checker, &image,
                                err) ||
            !decode(making, &image, size, true, frames->pixels, &ignored_width, &ignored_height, err))
            return false;
        frames->delays_cs[frames->count++] = SLIDE_DELAY_CS;
    }
    return true;
}

static bool draw_page(struct making *making, const char *page, struct gif_frames *frames, struct error *err)
{
    struct page_picture drawn;
    int64_t width;
    int64_t height;
    const char *size = arena_printf(making->job->work.arena, "%" PRId64 "x", frames->width);
    return page_picture_draw(making->job, making->checker, page, frames->width, frames->height * (int64_t)frames->count, &drawn,
                             err) &&
           decode(making, &drawn.picture, size, false, frames->pixels, &width, &height, err) &&
           (height == frames->height * (int64_t)frames->count ||
            fail(err, ERR_INTERNAL_ERROR, NULL, "The frames of the animation could not be drawn."));
}

static bool draw_text(void *context, int64_t width, struct gif_frames *frames, struct error *err)
{
    struct making *making = context;
    static const int64_t most = (int64_t)PAGE_MAX_HEIGHT / GIF_REVEAL_FRAMES * 5 / 2;
    int64_t fits = width_within(width < most ? width : most - 2, 0.4, GIF_REVEAL_FRAMES);
    const char *page = gif_prompt_reveal_page(making->job->work.arena, making->prompt.text, fits, frames);
    return draw_page(making, page, frames, err);
}

static bool draw_countdown(void *context, int64_t width, struct gif_frames *frames, struct error *err)
{
    struct making *making = context;
    static const int64_t most = (int64_t)PAGE_MAX_HEIGHT / GIF_COUNTDOWN_FRAMES * 10 / 3;
    int64_t fits = width_within(width < most ? width : most - 4, 0.3, GIF_COUNTDOWN_FRAMES);
    const char *page =
        gif_prompt_countdown_page(making->job->work.arena, making->prompt.until_us, making->job->work.now_us, fits, frames);
    return draw_page(making, page, frames, err);
}

static bool draw_video(void *context, int64_t width, struct gif_frames *frames, struct error *err)
{
    struct making *making = context;
    struct arena *arena = making->job->work.arena;
    struct picture drawn;
    const json_t *result;
    int64_t height;
    if (!renderer_draw_frames(job_renderer(making->job), arena, making->video, width, VIDEO_MAX_FRAMES, &result, err))
        return false;
    const char *png = json_get_text(result, "png");
    size_t size = 0;
    const unsigned char *bytes = png != NULL ? base64_decode(arena, png, &size) : NULL;
    drawn.bytes = (struct bytes){ bytes, size };
    frames->height = json_get_int(result, "height", 0);
    frames->count = (size_t)json_get_int(result, "frames", 0);
    if (bytes == NULL || frames->count == 0 || frames->count > VIDEO_MAX_FRAMES)
        return fail(err, ERR_INTERNAL_ERROR, NULL, "The frames of the video could not be drawn.");
    for (size_t i = 0; i < frames->count; i++)
        frames->delays_cs[i] = (int)((json_get_int(result, "everyMs", 0) + 5) / 10);
    const char *same = arena_printf(arena, "%" PRId64 "x", json_get_int(result, "width", 1));
    return image_check(making->checker, bytes, size, &drawn.facts, err) &&
           (drawn.facts.type == IMAGE_PNG ||
            fail(err, ERR_INVALID_REQUEST, "videoUrl", "The frames of the video are too large.")) &&
           decode(making, &drawn, same, false, frames->pixels, &frames->width, &height, err) &&
           (height == frames->height * (int64_t)frames->count ||
            fail(err, ERR_INTERNAL_ERROR, NULL, "The frames of the video could not be drawn."));
}

static bool take_video(struct making *making, const char *url, struct error *err)
{
    struct bytes video;
    if (!content_image_fetch(making->job, url, "videoUrl", "video", VIDEO_MAX_BYTES, &video, err))
        return false;
    making->video = base64_encode(making->job->work.arena, video.data, video.size);
    note(making, "It shows the first 6 seconds of the video at most.");
    return true;
}

/* ---- The job ---- */

static bool find_slides(struct making *making, const char *public_url, struct error *err)
{
    static const size_t least = 2;
    if (!asset_slides(&making->job->work, public_url, GIF_SLIDES_MAX, &making->slides, err))
        return false;
    return making->slides.count >= least ||
           fail(err, ERR_INVALID_REQUEST, "prompt", "A slideshow needs at least two images in the library of the brand.");
}

/* Finds what is drawn and how. */
static bool choose_source(struct making *making, struct gif_source *ret_source, struct error *err)
{
    const struct make_gif_payload *payload = making->job->payload;
    *ret_source = (struct gif_source){ .context = making, .draw = draw_motion, .bits = GIF_BITS_MAX };
    if (payload->image_url != NULL)
        return gif_prompt_motion(payload->prompt, &making->motion, err) &&
               content_image_take(making->job, payload->public_url, payload->image_url, "imageUrl", making->checker, &making->image,
                                  err);
    if (payload->video_url != NULL) {
        ret_source->draw = draw_video;
        return take_video(making, payload->video_url, err);
    }
    if (!gif_prompt_read(making->job->work.arena, payload->prompt, making->job->work.now_us, &making->prompt, err))
        return false;
    switch (making->prompt.subject) {
    case GIF_REVEAL:
        ret_source->draw = draw_text;
        ret_source->bits = GIF_BITS_MIN;
        return true;
    case GIF_COUNTDOWN:
        ret_source->draw = draw_countdown;
        ret_source->bits = GIF_BITS_MIN;
        note(making, "The countdown begins at the time when the animation was made, and plays once.");
        return true;
    case GIF_SLIDESHOW:
        break;
    }
    ret_source->draw = draw_slides;
    return find_slides(making, payload->public_url, err);
}

static void note_losses(struct making *making, int64_t wanted_width)
{
    struct arena *arena = making->job->work.arena;
    const struct gif *gif = &making->gif;
    if (gif->has_fewer_colours)
        note(making, arena_printf(arena, "It has %d colours so that the file is small enough for mail.", gif->colours));
    if (gif->has_fewer_frames)
        note(making, "Every second frame was left out so that the file is small enough for mail.");
    if (gif->width < wanted_width)
        note(making, arena_printf(arena, "It is %" PRId64 " pixels wide instead of %" PRId64 ".", gif->width, wanted_width));
}

static bool execute(struct job *job, struct error *err)
{
    const struct make_gif_payload *payload = job->payload;
    struct making *making = arena_alloc(job->work.arena, sizeof(*making));
    IMAGE_CHECKER_SCOPE checker = image_checker_new(job->services->image_program);
    struct gif_source source;
    struct picture picture;
    *making = (struct making){ .job = job, .checker = checker };
    job->result = making;
    if (!choose_source(making, &source, err))
        return false;
    if (!gif_make(job->work.arena, &source, payload->width, &making->gif, err))
        return content_image_blame(payload->image_url != NULL   ? "imageUrl"
                                   : payload->video_url != NULL ? "videoUrl"
                                                                : "prompt",
                                   err);
    note_losses(making, payload->width);
    picture.bytes = making->gif.bytes;
    if (!image_check(checker, picture.bytes.data, picture.bytes.size, &picture.facts, err))
        return false;
    if (picture.facts.type != IMAGE_GIF)
        return fail(err, ERR_INTERNAL_ERROR, NULL, "The animation could not be encoded.");
    return content_image_host(job, payload->public_url, &picture, "generated", NULL, &making->hosted, err);
}

static bool settle(struct job *job, struct json_writer *answer, int *ret_status, struct error *err)
{
    const struct making *making = job->result;
    const struct asset *asset = &making->hosted.asset;
    struct text_list notes = { making->notes, making->note_count };
    if (!assets_keep(&job->work, asset, 1, err))
        return false;
    *ret_status = STATUS_OK;
    json_object_begin(answer);
    json_member_text(answer, "gifUrl", making->hosted.url);
    json_member_int(answer, "width", asset->width);
    json_member_int(answer, "height", asset->height);
    json_member_int(answer, "bytes", asset->bytes);
    json_member_int(answer, "frames", (int64_t)making->gif.frames);
    json_member_int(answer, "colours", making->gif.colours);
    content_image_write_notes(answer, &notes);
    json_object_end(answer);
    return true;
}

const struct job_type job_make_gif = {
    .max_attempts = MAKE_MAX_ATTEMPTS,
    .execute = execute,
    .settle = settle,
};
