#include "jobs/types/sample_pictures.h"

#include "base/text.h"
#include "jobs/job_renderer.h"

#include <jansson.h>

enum { IMAGES_MAX = 100 };

static struct text_list urls_of(struct arena *arena, const json_t *listed)
{
    const json_t *array = json_object_get(listed, "urls");
    size_t size = json_array_size(array);
    size_t count = size < IMAGES_MAX ? size : IMAGES_MAX;
    const char **urls = arena_array(arena, count + 1, sizeof(*urls));
    for (size_t i = 0; i < count; i++)
        urls[i] = json_string_value(json_array_get(array, i));
    return (struct text_list){ urls, count };
}

bool sample_pictures_collect(struct job *job, struct image_checker *checker, const struct sample_mail *mail, int64_t width,
                             struct page_files *ret_files, struct error *err)
{
    static const char *const unreadable[] = { "The images of this mail cannot be listed." };
    const json_t *listed;
    if (!renderer_list_images(job_renderer(job), job->work.arena, mail->html, &listed, err)) {
        if (err->code == ERR_SERVICE_UNAVAILABLE)
            return false;
        error_clear(err);
        *ret_files = (struct page_files){ .json = "{}", .facts = "{}", .notes = { unreadable, ARRAY_COUNT(unreadable) } };
        return true;
    }
    const struct page_files_request request = {
        .urls = urls_of(job->work.arena, listed),
        .public_url = job->work.engine->public_url,
        .width = width,
        .max_bytes = page_files_room(mail->html, mail->text),
    };
    return page_files_collect(job, checker, &request, ret_files, err);
}
