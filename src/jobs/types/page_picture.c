#include "jobs/types/page_picture.h"

#include "base/json_read.h"
#include "base/text.h"
#include "net/fetch.h"
#include "render/renderer.h"

#include <string.h>

enum {
    FETCH_ALL_MS = 15 * 1000,
    FILES_MAX_BYTES = 5 * 1000 * 1000, /* of all images, in base64; the rest of a request is for the page */
    SMALL_BYTES = 100 * 1000,          /* a smaller file is not resized */
    MAX_NOTES = 20,
    SHOWN_URL_CHARS = 200,
};

struct drawing {
    struct job *job;
    struct image_checker *checker;
    int64_t width;
    const char *const *urls;
    struct buf *files; /* the object of renderer_draw_page */
    struct json_writer json;
    size_t file_count;
    const char *notes[MAX_NOTES];
    size_t note_count;
    bool is_cancelled;
};

static void note(struct drawing *drawing, const char *text)
{
    if (drawing->note_count < MAX_NOTES)
        drawing->notes[drawing->note_count++] = text;
}

static void note_image(struct drawing *drawing, const char *url, const char *reason)
{
    struct arena *arena = drawing->job->work.arena;
    note(drawing, arena_printf(arena, "The image %s is not shown: %s.", text_visible(arena, url, SHOWN_URL_CHARS), reason));
}

/* ---- Images ---- */

static const char *content_type(enum image_type type)
{
    switch (type) {
    case IMAGE_JPEG:
        return "image/jpeg";
    case IMAGE_PNG:
        return "image/png";
    case IMAGE_GIF:
        return "image/gif";
    case IMAGE_WEBP:
        return "image/webp";
    case IMAGE_AVIF:
    case IMAGE_NONE:
        break;
    }
    return "image/avif";
}

/* A large image is shown no wider than the page. When libvips is missing or fails, the image stays as it is. */
static void make_small(struct drawing *drawing, struct picture *image)
{
    struct error ignored = { .code = ERR_NONE };
    struct picture_size size = { .width = drawing->width };
    struct picture small;
    bool is_large = image->bytes.size > SMALL_BYTES && image->facts.width > drawing->width;
    if (is_large && picture_resize(drawing->job->work.arena, drawing->checker, image, size, &small, &ignored) &&
        small.bytes.size < image->bytes.size)
        *image = small;
}

static void add_file(struct drawing *drawing, const char *url, const struct picture *image)
{
    const char *data = base64_encode(drawing->job->work.arena, image->bytes.data, image->bytes.size);
    if (drawing->files->size + strlen(data) > FILES_MAX_BYTES) {
        note_image(drawing, url, "the images of the page are too large together");
        return;
    }
    json_key(&drawing->json, url);
    json_object_begin(&drawing->json);
    json_member_text(&drawing->json, "type", content_type(image->facts.type));
    json_member_text(&drawing->json, "data", data);
    json_object_end(&drawing->json);
    drawing->file_count++;
}

static void take_image(struct drawing *drawing, const char *url, const struct fetch_answer *answer)
{
    struct error err = { .code = ERR_NONE };
    struct picture image = { .bytes = { answer->bytes, answer->size } };
    if (!image_check(drawing->checker, answer->bytes, answer->size, &image.facts, &err)) {
        note_image(drawing, url, "images cannot be checked right now");
    } else if (image.facts.type == IMAGE_NONE) {
        note_image(drawing, url, image.facts.problem);
    } else {
        make_small(drawing, &image);
        add_file(drawing, url, &image);
    }
}

static void image_arrived(void *context, size_t index, const struct fetch_answer *answer)
{
    struct drawing *drawing = context;
    if (answer->outcome == FETCH_OK)
        take_image(drawing, drawing->urls[index], answer);
    else
        note_image(drawing, drawing->urls[index], answer->reason);
}

static bool asked_to_stop(void *context)
{
    struct drawing *drawing = context;
    drawing->is_cancelled = drawing->is_cancelled || job_is_cancelled(drawing->job);
    return drawing->is_cancelled;
}

static bool fetch_missing(struct drawing *drawing, const json_t *missing, struct error *err)
{
    size_t count = json_array_size(missing);
    const char **urls = arena_array(drawing->job->work.arena, count, sizeof(*urls));
    for (size_t i = 0; i < count; i++)
        urls[i] = json_string_value(json_array_get(missing, i));
    drawing->urls = urls;
    struct fetch_config config = fetch_config_default();
    config.all_ms = FETCH_ALL_MS;
    config.allow_loopback = drawing->job->services->fetch_allow_loopback;
    config.arrived = image_arrived;
    config.should_stop = asked_to_stop;
    config.context = drawing;
    fetch_all(&config, urls, count);
    return !drawing->is_cancelled || fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "The call was cancelled.");
}

/* ---- Drawing ---- */

static bool take_picture(struct drawing *drawing, const json_t *drawn, struct picture *ret_picture, struct error *err)
{
    const char *png = json_get_text(drawn, "png");
    size_t size;
    const unsigned char *bytes = png != NULL ? base64_decode(drawing->job->work.arena, png, &size) : NULL;
    if (bytes == NULL) {
        fail(err, ERR_INTERNAL_ERROR, NULL, "The browser returned no picture.");
        return error_because(err, "drawPage: png is missing");
    }
    ret_picture->bytes = (struct bytes){ bytes, size };
    return image_check(drawing->checker, bytes, size, &ret_picture->facts, err) &&
           (ret_picture->facts.type == IMAGE_PNG ||
            fail(err, ERR_INVALID_REQUEST, "html", "The picture cannot be used: %s.", ret_picture->facts.problem));
}

bool page_picture_draw(struct job *job, struct image_checker *checker, const char *html, int64_t width, int64_t max_height,
                       struct page_picture *ret_page, struct error *err)
{
    struct arena *arena = job->work.arena;
    struct drawing drawing = {
        .job = job, .checker = checker, .width = width, .files = buf_in_arena(arena, RENDERER_MAX_REQUEST_BYTES)
    };
    struct renderer *renderer = job->services->renderer;
    const json_t *drawn;
    json_writer_init(&drawing.json, drawing.files);
    json_object_begin(&drawing.json);
    if (!renderer_draw_page(renderer, arena, html, width, max_height, "{}", &drawn, err) ||
        (json_array_size(json_object_get(drawn, "missing")) > 0 &&
         !fetch_missing(&drawing, json_object_get(drawn, "missing"), err)))
        return false;
    json_object_end(&drawing.json);
    if (drawing.file_count > 0 &&
        !renderer_draw_page(renderer, arena, html, width, max_height, buf_text(drawing.files), &drawn, err))
        return false;
    if (json_get_bool(drawn, "isCut", false))
        note(&drawing, "The page is higher than the picture, which is cut at its end.");
    const char **notes = arena_array(arena, drawing.note_count + 1, sizeof(*notes));
    memcpy(notes, drawing.notes, drawing.note_count * sizeof(*notes));
    ret_page->notes = (struct text_list){ notes, drawing.note_count };
    return take_picture(&drawing, drawn, &ret_page->picture, err);
}
