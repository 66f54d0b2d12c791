#include "jobs/types/page_picture.h"

#include "base/json_read.h"
#include "base/text.h"
#include "jobs/job_renderer.h"
#include "jobs/types/page_files.h"

bool page_picture_take(struct job *job, struct image_checker *checker, const json_t *drawn, struct picture *ret_picture,
                       struct error *err)
{
    const char *png = json_get_text(drawn, "png");
    size_t size;
    const unsigned char *bytes = png != NULL ? base64_decode(job->work.arena, png, &size) : NULL;
    if (bytes == NULL) {
        fail(err, ERR_INTERNAL_ERROR, NULL, "The browser returned no picture.");
        return error_because(err, "drawPage: png is missing");
    }
    ret_picture->bytes = (struct bytes){ bytes, size };
    return image_check(checker, bytes, size, &ret_picture->facts, err) &&
           (ret_picture->facts.type == IMAGE_PNG ||
            fail(err, ERR_INVALID_REQUEST, NULL, "The picture cannot be used: %s.", ret_picture->facts.problem));
}

static struct text_list missing_urls(struct arena *arena, const json_t *drawn)
{
    const json_t *missing = json_object_get(drawn, "missing");
    size_t count = json_array_size(missing);
    const char **urls = arena_array(arena, count + 1, sizeof(*urls));
    for (size_t i = 0; i < count; i++)
        urls[i] = json_string_value(json_array_get(missing, i));
    return (struct text_list){ urls, count };
}

static struct text_list with_note(struct arena *arena, struct text_list notes, const char *note)
{
    const char **all = arena_array(arena, notes.count + 1, sizeof(*all));
    for (size_t i = 0; i < notes.count; i++)
        all[i] = notes.items[i];
    all[notes.count] = note;
    return (struct text_list){ all, notes.count + 1 };
}

bool page_picture_draw(struct job *job, struct image_checker *checker, const char *html, int64_t width, int64_t max_height,
                       struct page_picture *ret_page, struct error *err)
{
    struct arena *arena = job->work.arena;
    struct renderer_caller renderer = job_renderer(job);
    struct page_files files = { .count = 0 };
    const json_t *drawn;
    if (!renderer_draw_page(renderer, arena, html, width, max_height, "{}", &drawn, err))
        return false;
    const struct page_files_request request = {
        .urls = missing_urls(arena, drawn),
        .public_url = job->work.engine->public_url,
        .width = width,
        .max_bytes = page_files_room(html, NULL),
    };
    if (request.urls.count > 0 && !page_files_collect(job, checker, &request, &files, err))
        return false;
    if (files.count > 0 &&
        (!job_renew(job, err) || !renderer_draw_page(renderer, arena, html, width, max_height, files.json, &drawn, err)))
        return false;
    ret_page->notes = files.notes;
    if (json_get_bool(drawn, "isCut", false))
        ret_page->notes = with_note(arena, files.notes, "The page is higher than the picture, which is cut at its end.");
    return page_picture_take(job, checker, drawn, &ret_page->picture, err);
}
