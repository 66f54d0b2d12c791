#include "jobs/types/site_view.h"

#include "base/buf.h"
#include "base/json_read.h"
#include "base/json_write.h"
#include "base/text.h"
#include "jobs/types/site_fetch.h"
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

struct site_files {
    struct file files[FILES_MAX];
    size_t count;
    size_t total_bytes;
    size_t asked_from;       /* the files that are not fetched yet begin here */
    size_t asked[FILES_MAX]; /* index in `files` of each address that is fetched */
    struct arena *arena;
};

struct view {
    struct site *site;
    const struct site_page *page;
    bool scripts;
};

struct site_files *site_files_new(struct arena *arena)
{
    struct site_files *files = arena_alloc(arena, sizeof(*files));
    files->arena = arena;
    return files;
}

static bool has_file(const struct site_files *files, const char *url)
{
    for (size_t i = 0; i < files->count; i++)
        if (strcmp(files->files[i].url, url) == 0)
            return true;
    return false;
}

static void want(struct site_files *files, const char *url)
{
    if (url != NULL && files->count < FILES_MAX && !has_file(files, url))
        files->files[files->count++] = (struct file){ .url = url, .type = "text/plain" };
}

static void file_arrived(void *context, size_t index, const struct fetch_answer *answer)
{
    struct site_files *files = context;
    struct file *file = &files->files[files->asked[index]];
    if (answer->outcome != FETCH_OK)
        return;
    files->total_bytes += answer->size;
    file->type = arena_dup(files->arena, answer->content_type);
    file->bytes = base64_encode(files->arena, answer->bytes, answer->size);
}

/* Fetches the files that were added since the last round. */
static void fetch_files(struct site *site)
{
    struct site_files *files = site->files;
    const char **urls = arena_array(site->arena, FILES_MAX, sizeof(*urls));
    size_t count = 0;
    for (size_t i = files->asked_from; i < files->count; i++) {
        if (!site_robots_allow(site, files->files[i].url))
            continue;
        files->asked[count] = i;
        urls[count++] = files->files[i].url;
    }
    files->asked_from = files->count;
    size_t left = files->total_bytes < FILES_MAX_BYTES ? FILES_MAX_BYTES - files->total_bytes : 1;
    site_fetch(site, urls, count, FILE_MAX_BYTES, left, file_arrived, files);
}

static void write_files(const struct site_files *files, struct json_writer *json)
{
    json_key(json, "files");
    json_object_begin(json);
    for (size_t i = 0; i < files->count; i++) {
        json_key(json, files->files[i].url);
        json_object_begin(json);
        json_member_text(json, "type", files->files[i].type);
        json_member_text(json, "bytes", files->files[i].bytes);
        json_object_end(json);
    }
    json_object_end(json);
}

static const char *view_request(struct arena *arena, const struct view *view)
{
    struct buf *out = buf_in_arena(arena, VIEW_REQUEST_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, out);
    json_object_begin(&json);
    json_member_text(&json, "url", view->page->url);
    json_member_text(&json, "contentType", view->page->content_type);
    json_member_text(&json, "bytes", view->page->bytes);
    json_member_bool(&json, "scripts", view->scripts);
    write_files(view->site->files, &json);
    json_object_end(&json);
    char *text = arena_dup(arena, buf_text(out));
    text[strlen(text) - 1] = '\0';
    return text + 1;
}

static void want_all(struct site_files *files, const json_t *urls)
{
    size_t i;
    const json_t *url;
    json_array_foreach (urls, i, url)
        want(files, json_is_string(url) ? json_string_value(url) : json_get_text(url, "url"));
}

/* Shows the page with the files that are there. */
static bool show_once(const struct view *view, const json_t **ret_result, struct error *err)
{
    ARENA_SCOPE scratch = arena_new(0);
    const struct site *site = view->site;
    return renderer_site(site->renderer, site->arena, SITE_SHOW_PAGE, view_request(scratch, view), ret_result, err);
}

bool site_show(struct site *site, const struct site_page *page, bool scripts, struct site_shown *ret_shown, struct error *err)
{
    struct site_files *files = site->files;
    const struct view view = { .site = site, .page = page, .scripts = scripts };
    *ret_shown = (struct site_shown){ .style = NULL };
    want_all(files, json_object_get(page->read, "sheets"));
    if (scripts)
        want_all(files, json_object_get(page->read, "scripts"));
    for (int round = 0; round < ROUNDS; round++) {
        const json_t *result;
        size_t known = files->count;
        fetch_files(site);
        struct error problem = { .code = ERR_NONE };
        if (!show_once(&view, &result, &problem)) {
            *err = problem;
            return problem.code != ERR_SERVICE_UNAVAILABLE;
        }
        const json_t *style = json_object_get(result, "style");
        ret_shown->style = json_is_object(style) ? style : NULL;
        ret_shown->html = json_get_text(result, "html");
        want_all(files, json_object_get(result, "missed"));
        if (files->count == known)
            break;
    }
    return true;
}
