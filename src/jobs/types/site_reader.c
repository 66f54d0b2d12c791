#include "jobs/types/site_reader.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/json_read.h"
#include "base/json_write.h"
#include "base/log.h"
#include "base/panic.h"
#include "base/text.h"
#include "jobs/types/site_fetch.h"
#include "jobs/types/site_robots.h"
#include "jobs/types/site_view.h"
#include "render/renderer.h"

#include <stdio.h>
#include <string.h>

enum {
    PAGE_MAX_BYTES = 5 * 1000 * 1000,
    PAGES_MAX_BYTES = 16 * 1000 * 1000, /* of all together, which are in memory as base64 */
    SHOWN_MAX_BYTES = 4 * 1000 * 1000,  /* of a page, so that a request to the renderer holds it */
    REQUEST_MAX_BYTES = 8 * 1024 * 1024,
    STYLED_PAGES = 2, /* pages whose look is measured */
};

static bool give_up(struct site *site, const char *why, const char *detail)
{
    snprintf(site->reason, sizeof(site->reason), "%s%s.", why, detail);
    return true;
}

/* ---- Fetching pages ---- */

struct page_fetch {
    struct site *site;
    struct site_page *pages;         /* in the order of the addresses */
    char reason[FETCH_REASON_BYTES]; /* of the last page that failed */
};

static bool is_html(const char *content_type)
{
    return content_type[0] == '\0' || strstr(content_type, "html") != NULL;
}

static void page_arrived(void *context, size_t index, const struct fetch_answer *answer)
{
    struct page_fetch *fetch = context;
    struct arena *arena = fetch->site->arena;
    bool is_page = answer->outcome == FETCH_OK && is_html(answer->content_type) && answer->size <= SHOWN_MAX_BYTES;
    if (!is_page) {
        const char *reason = answer->outcome != FETCH_OK      ? answer->reason
                             : !is_html(answer->content_type) ? "it is not HTML"
                                                              : "it is too large";
        snprintf(fetch->reason, sizeof(fetch->reason), "%s", reason);
        return;
    }
    fetch->pages[index] = (struct site_page){
        .url = arena_dup(arena, answer->url),
        .content_type = arena_dup(arena, answer->content_type),
        .bytes = base64_encode(arena, answer->bytes, answer->size),
    };
}

/* ---- Reading pages ---- */

static void write_texts(struct json_writer *json, const char *name, struct text_list texts)
{
    json_key(json, name);
    json_array_begin(json);
    for (size_t i = 0; i < texts.count; i++)
        if (texts.items[i] != NULL)
            json_text(json, texts.items[i]);
    json_array_end(json);
}

/* The members of a request to read a page, without braces. */
static const char *read_request(struct arena *arena, const struct site *site, const struct site_page *page)
{
    struct buf *out = buf_in_arena(arena, REQUEST_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, out);
    json_object_begin(&json);
    json_member_text(&json, "url", page->url);
    json_member_text(&json, "contentType", page->content_type);
    json_member_text(&json, "bytes", page->bytes);
    json_key(&json, "site");
    json_object_begin(&json);
    json_member_text(&json, "host", site->host);
    json_member_bool(&json, "excludeSubdomains", site->request->exclude_subdomains);
    write_texts(&json, "includePaths", site->request->include_paths);
    write_texts(&json, "excludePaths", site->request->exclude_paths);
    json_object_end(&json);
    json_object_end(&json);
    char *text = arena_dup(arena, buf_text(out));
    text[strlen(text) - 1] = '\0';
    return text + 1;
}

/* A failure of the page itself is not one of the job. */
static bool is_fault_of_page(const struct error *err)
{
    return err->code == ERR_EMAIL_IMPORT_FAILED || err->code == ERR_INVALID_REQUEST || err->code == ERR_PAYLOAD_TOO_LARGE;
}

/* Leaves `page->read` NULL when the page cannot be read. */
static bool read_one(struct site *site, struct site_page *page, struct error *err)
{
    ARENA_SCOPE scratch = arena_new(0); /* requests of many pages would fill the arena of the job */
    struct error problem = { .code = ERR_NONE };
    if (renderer_site(site->renderer, site->arena, SITE_READ_PAGE, read_request(scratch, site, page), &page->read, &problem))
        return true;
    page->read = NULL;
    if (is_fault_of_page(&problem))
        return true;
    *err = problem;
    return false;
}

/* Reads a page; when it is empty without its scripts, as it is after they have run. Some pages are shown for their look. */
static bool read_and_show(struct site *site, struct site_page *page, struct error *err)
{
    if (!read_one(site, page, err))
        return false;
    bool is_empty = page->read != NULL && json_get_bool(page->read, "isEmpty", false);
    bool is_styled = json_array_size(site->styles) < STYLED_PAGES;
    if (page->read == NULL || (!is_empty && !is_styled))
        return true;
    struct site_shown shown;
    if (!site_show(site, page, is_empty, &shown, err))
        return false;
    if (shown.style != NULL && is_styled && json_array_append(site->styles, json_for_iteration(shown.style)) != 0)
        panic(PANIC_NO_MEMORY);
    if (shown.html == NULL)
        return true;
    page->content_type = "text/html; charset=utf-8";
    page->bytes = base64_encode(site->arena, shown.html, strlen(shown.html));
    return read_one(site, page, err);
}

/* ---- Choosing pages ---- */

static bool has_page(const struct site *site, const char *url)
{
    for (size_t i = 0; i < site->page_count; i++)
        if (strcmp(site->pages[i].url, url) == 0)
            return true;
    return false;
}

struct chosen {
    const char *urls[SITE_MAX_PAGES];
    size_t count;
};

static void choose(struct site *site, struct chosen *chosen, const char *url)
{
    bool has_room = site->page_count + chosen->count < SITE_MAX_PAGES;
    for (size_t i = 0; i < chosen->count; i++)
        has_room = has_room && strcmp(chosen->urls[i], url) != 0;
    if (has_room && !has_page(site, url) && site_robots_allow(site, url))
        chosen->urls[chosen->count++] = url;
}

/* Paths that the caller named are read, also those that no page links to. */
static void choose_named(struct site *site, struct chosen *chosen)
{
    const struct text_list *paths = &site->request->include_paths;
    const char *scheme_end = strstr(site->pages[0].url, "://");
    for (size_t i = 0; i < paths->count; i++) {
        const char *path = paths->items[i];
        if (path == NULL || strchr(path, '*') != NULL)
            continue;
        choose(site, chosen,
               arena_printf(site->arena, "%.*s://%s%s%s", (int)(scheme_end - site->pages[0].url), site->pages[0].url, site->host,
                            path[0] == '/' ? "" : "/", path));
    }
}

static void choose_linked(struct site *site, struct chosen *chosen)
{
    size_t i;
    const json_t *link;
    json_array_foreach (json_object_get(site->pages[0].read, "links"), i, link) {
        const char *url = json_get_text(link, "url");
        if (url != NULL)
            choose(site, chosen, url);
    }
}

/* ---- The website ---- */

static bool read_start(struct site *site, struct error *err)
{
    struct page_fetch fetch = { .site = site, .pages = site->pages };
    const char *url = site->request->url;
    site->host = site_host_of(site->arena, url);
    if (!site_robots_allow(site, url))
        return give_up(site, "The rules of the website (robots.txt) do not allow to read it", "");
    site_fetch(site, &url, 1, PAGE_MAX_BYTES, PAGE_MAX_BYTES, page_arrived, &fetch);
    if (site->pages[0].url == NULL)
        return give_up(site, "The start page cannot be read: ", fetch.reason);
    site->host = site_host_of(site->arena, site->pages[0].url);
    if (!site_robots_allow(site, site->pages[0].url))
        return give_up(site, "The rules of the website (robots.txt) do not allow to read it", "");
    site->page_count = 1;
    extraction_note(&site->job->work, site->job->id, "reading", 25, 1);
    if (!read_and_show(site, &site->pages[0], err))
        return false;
    return site->pages[0].read != NULL || give_up(site, "The start page cannot be read: it is too large or too deeply nested", "");
}

/* Keeps pages that were fetched, each once. */
static void keep_pages(struct site *site, const struct site_page *fetched, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (fetched[i].url != NULL && !has_page(site, fetched[i].url) && site_robots_allow(site, fetched[i].url))
            site->pages[site->page_count++] = fetched[i];
}

static bool read_others(struct site *site, struct error *err)
{
    struct chosen chosen = { .count = 0 };
    struct site_page *fetched = arena_array(site->arena, SITE_MAX_PAGES, sizeof(*fetched));
    struct page_fetch fetch = { .site = site, .pages = fetched };
    choose_named(site, &chosen);
    choose_linked(site, &chosen);
    site_fetch(site, chosen.urls, chosen.count, PAGE_MAX_BYTES, PAGES_MAX_BYTES, page_arrived, &fetch);
    keep_pages(site, fetched, chosen.count);
    extraction_note(&site->job->work, site->job->id, "colours", 45, (int64_t)site->page_count);
    for (size_t i = 1; i < site->page_count && clock_monotonic_us() < site->until_us; i++)
        if (!read_and_show(site, &site->pages[i], err))
            return false;
    return true;
}

bool site_read(struct site *site, struct error *err)
{
    site->styles = json_in_arena(site->arena, json_array());
    site->robots = site_robots_new(site->arena);
    site->files = site_files_new(site->arena);
    if (!read_start(site, err))
        return false;
    return site->reason[0] != '\0' || read_others(site, err);
}
