#include "jobs/types/brief_pages.h"

#include "base/json_read.h"
#include "base/text.h"
#include "jobs/job_renderer.h"
#include "net/fetch.h"

#include <string.h>

enum {
    PAGE_MAX_BYTES = 3 * 1024 * 1024,
    PAGES_MAX_BYTES = 12 * 1024 * 1024,
    PAGE_MS = 15 * 1000,
    PAGES_MS = 30 * 1000,
    SHOWN_URL_CHARS = 200,
};

struct page_reading {
    struct job *job;
    struct text_list urls;
    struct brief_page *pages;
    struct bytes *bodies; /* of the pages that were fetched */
};

static void set_problem(struct page_reading *reading, size_t index, const char *reason)
{
    struct arena *arena = reading->job->work.arena;
    const char *url = text_visible(arena, reading->urls.items[index], SHOWN_URL_CHARS);
    reading->pages[index].problem = arena_printf(arena, "The page %s was not used: %s.", url, reason);
}

static void page_arrived(void *context, size_t index, const struct fetch_answer *answer)
{
    struct page_reading *reading = context;
    if (answer->outcome != FETCH_OK) {
        set_problem(reading, index, answer->reason);
        return;
    }
    const char *copy = arena_dup_bytes(reading->job->work.arena, (const char *)answer->bytes, answer->size);
    reading->bodies[index] = (struct bytes){ (const unsigned char *)copy, answer->size };
}

static void fetch_pages(struct page_reading *reading)
{
    struct fetch_config config = fetch_config_default();
    config.max_bytes = PAGE_MAX_BYTES;
    config.max_total_bytes = PAGES_MAX_BYTES;
    config.each_ms = PAGE_MS;
    config.all_ms = PAGES_MS;
    config.allow_loopback = reading->job->services->fetch_allow_loopback;
    config.arrived = page_arrived;
    config.context = reading;
    if (reading->urls.count > 0)
        fetch_all(&config, reading->urls.items, reading->urls.count);
}

/* A page that the renderer refuses is a warning. A renderer that fails is an error, so that the job is tried again. */
static bool read_page(struct page_reading *reading, size_t index, struct error *err)
{
    struct brief_page *page = &reading->pages[index];
    struct error why = { .code = ERR_NONE };
    const json_t *read;
    if (!renderer_read_page(job_renderer(reading->job), reading->job->work.arena, page->url, reading->bodies[index], &read, &why)) {
        if (error_info(why.code)->retryable || why.code == ERR_INTERNAL_ERROR) {
            *err = why;
            return false;
        }
        set_problem(reading, index, "it is too large or has no text");
        return true;
    }
    page->title = json_get_text(read, "title");
    page->description = json_get_text(read, "description");
    page->text = json_get_text(read, "text");
    page->products = json_object_get(read, "products");
    page->events = json_object_get(read, "events");
    page->pictures = json_object_get(read, "pictures");
    return true;
}

bool read_brief_pages(struct job *job, struct text_list urls, const struct brief_page **ret_pages, struct error *err)
{
    struct arena *arena = job->work.arena;
    struct page_reading reading = { .job = job, .urls = urls };
    reading.pages = arena_array(arena, urls.count + 1, sizeof(*reading.pages));
    reading.bodies = arena_array(arena, urls.count + 1, sizeof(*reading.bodies));
    for (size_t i = 0; i < urls.count; i++)
        reading.pages[i].url = urls.items[i];
    fetch_pages(&reading);
    for (size_t i = 0; i < urls.count; i++)
        if (reading.pages[i].problem == NULL && (!job_renew(job, err) || !read_page(&reading, i, err)))
            return false;
    *ret_pages = reading.pages;
    return true;
}
