#include "jobs/types/site_view.h"

#include "base/buf.h"
#include "base/json_read.h"
#include "base/json_write.h"
#include "base/text.h"
#include "jobs/types/site_robots.h"
#include "render/renderer.h"

#include <string.h>

enum {
    ROUNDS = 4,
    FILES_MAX = 80,
    FILE_MAX_BYTES = 2 * 1000 * 1000,
    FILES_MAX_BYTES = 3 * 1000 * 1000, /* of one page; with the page and as base64 less than a request to the renderer */
    VIEW_REQUEST_MAX_BYTES = 8 * 1024 * 1024,
    FILE_TYPE_BYTES = 160,
};

struct file {
    const char *url;
    const char *type;
    const char *bytes; /* base64; NULL: it could not be fetched */
};

struct view {
    struct site *site;
    const struct site_page *page;
    bool scripts;
    struct file files[FILES_MAX];
    size_t count;
    size_t total_bytes;
    size_t asked_from;       /* the files of this round begin here */
    size_t asked[FILES_MAX]; /* index in `files` of each address that is fetched */
};

static bool has_file(const struct view *view, const char *url)
{
    for (size_t i = 0; i < view->count; i++)
        if (strcmp(view->files[i].url, url) == 0)
            return true;
    return false;
}

static void want(struct view *view, const char *url)
{
    if (url != NULL && view->count < FILES_MAX && !has_file(view, url))
        view->files[view->count++] = (struct file){ .url = url, .type = "text/plain" };
}

static void file_arrived(void *context, size_t index, const struct fetch_answer *answer)
{
    struct view *view = context;
    struct file *file = &view->files[view->asked[index]];
    if (answer->outcome != FETCH_OK)
        return;
    view->total_bytes += answer->size;
    file->type = arena_dup(view->site->arena, answer->content_type);
    file->bytes = base64_encode(view->site->arena, answer->bytes, answer->size);
}

/* Fetches the files that were added since the last round. */
static void fetch_files(struct view *view)
{
    const char **urls = arena_array(view->site->arena, FILES_MAX, sizeof(*urls));
    size_t count = 0;
    for (size_t i = view->asked_from; i < view->count; i++) {
        if (!site_robots_allow(view->site, view->files[i].url))
            continue;
        view->asked[count] = i;
        urls[count++] = view->files[i].url;
    }
    view->asked_from = view->count;
    size_t left = view->total_bytes < FILES_MAX_BYTES ? FILES_MAX_BYTES - view->total_bytes : 1;
    site_fetch(view->site, urls, count, FILE_MAX_BYTES, left, file_arrived, view);
}

static void write_files(const struct view *view, struct json_writer *json)
{
    json_key(json, "files");
    json_object_begin(json);
    for (size_t i = 0; i < view->count; i++) {
        json_key(json, view->files[i].url);
        json_object_begin(json);
        json_member_text(json, "type", view->files[i].type);
        json_member_text(json, "bytes", view->files[i].bytes);
        json_object_end(json);
    }
    json_object_end(json);
}

static const char *view_request(const struct view *view)
{
    struct buf *out = buf_in_arena(view->site->arena, VIEW_REQUEST_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, out);
    json_object_begin(&json);
    json_member_text(&json, "url", view->page->url);
    json_member_text(&json, "contentType", view->page->content_type);
    json_member_text(&json, "bytes", view->page->bytes);
    json_member_bool(&json, "scripts", view->scripts);
    write_files(view, &json);
    json_object_end(&json);
    char *text = arena_dup(view->site->arena, buf_text(out));
    text[strlen(text) - 1] = '\0';
    return text + 1;
}

static void want_all(struct view *view, const json_t *urls)
{
    size_t i;
    const json_t *url;
    json_array_foreach (urls, i, url)
        want(view, json_is_string(url) ? json_string_value(url) : json_get_text(url, "url"));
}

bool site_show(struct site *site, const struct site_page *page, bool scripts, struct site_shown *ret_shown, struct error *err)
{
    struct view *view = arena_alloc(site->arena, sizeof(*view));
    *view = (struct view){ .site = site, .page = page, .scripts = scripts };
    *ret_shown = (struct site_shown){ .style = NULL };
    want_all(view, json_object_get(page->read, "sheets"));
    if (scripts)
        want_all(view, json_object_get(page->read, "scripts"));
    for (int round = 0; round < ROUNDS; round++) {
        const json_t *result;
        size_t known = view->count;
        fetch_files(view);
        struct error problem = { .code = ERR_NONE };
        if (!renderer_site(site->renderer, site->arena, SITE_SHOW_PAGE, view_request(view), &result, &problem)) {
            *err = problem;
            return problem.code != ERR_SERVICE_UNAVAILABLE;
        }
        const json_t *style = json_object_get(result, "style");
        ret_shown->style = json_is_object(style) ? style : NULL;
        ret_shown->html = json_get_text(result, "html");
        want_all(view, json_object_get(result, "missed"));
        if (view->count == known)
            break;
    }
    return true;
}
