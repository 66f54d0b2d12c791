#include "render/renderer.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/json_write.h"
#include "base/panic.h"
#include "base/text.h"
#include "render/renderer_pool.h"

#include <stdatomic.h>
#include <stdlib.h>

/* Checks, pictures and websites have processes of their own, so that a design of a caller who waits is not held by them. */
enum renderer_side { DESIGN_SIDE, VIEW_SIDE, SIDE_COUNT };

struct renderer {
    struct arena *arena; /* holds the configuration's texts */
    struct renderer_config config;
    _Atomic int64_t next_id;
    struct renderer_pool *pools[SIDE_COUNT];
};

struct renderer *renderer_new(const struct renderer_config *config)
{
    struct renderer *renderer = calloc(1, sizeof(*renderer));
    if (renderer == NULL)
        panic(PANIC_NO_MEMORY);
    renderer->arena = arena_new(0);
    renderer->config = *config;
    renderer->config.node_path = arena_dup(renderer->arena, config->node_path);
    renderer->config.script_path = arena_dup(renderer->arena, config->script_path);
    if (config->deadline_ms == 0)
        renderer->config.deadline_ms = RENDERER_DEADLINE_MS;
    if (config->idle_ms == 0)
        renderer->config.idle_ms = RENDERER_IDLE_MS;
    if (config->heap_mb == 0)
        renderer->config.heap_mb = RENDERER_HEAP_MB;
    if (config->max_reply_bytes == 0)
        renderer->config.max_reply_bytes = RENDERER_MAX_REPLY_BYTES;
    for (int side = 0; side < SIDE_COUNT; side++)
        renderer->pools[side] = renderer_pool_new(&renderer->config);
    return renderer;
}

void renderer_free(struct renderer *renderer)
{
    if (renderer == NULL)
        return;
    for (int side = 0; side < SIDE_COUNT; side++)
        renderer_pool_free(renderer->pools[side]);
    arena_free(renderer->arena);
    free(renderer);
}

void renderer_end_idle(struct renderer *renderer)
{
    if (renderer == NULL)
        return;
    renderer_pool_end_idle(renderer->pools[DESIGN_SIDE], 1);
    renderer_pool_end_idle(renderer->pools[VIEW_SIDE], 0);
}

/* The members of a request; those that are NULL are omitted. */
struct request_members {
    enum renderer_side side;
    const char *op;
    const char *param; /* the argument of a request that is too large; NULL: source.content */
    const char *format;
    const char *content;
    const char *html;
    const char *text;
    const char *base_url;
    const char *subject;
    const char *images_json;       /* an object */
    const char *replacements_json; /* an array */
    const char *edits_json;        /* an array */
    const char *document_json;     /* objects from here on */
    const char *look_json;
    const char *brand_json;
    const char *client_json;
    const char *members; /* more members, without braces */
    const char *files_json;
    int64_t width; /* 0: none, also below */
    int64_t max_height;
    int64_t max_frames;
};

static void write_json_if(struct json_writer *json, const char *name, const char *text)
{
    if (text != NULL)
        json_member_raw(json, name, text);
}

static void write_int_if(struct json_writer *json, const char *name, int64_t value)
{
    if (value != 0)
        json_member_int(json, name, value);
}

/* Writes the request line. The id must be first: the process needs it to reply to lines that it cannot parse. */
static bool write_request(struct buf *line, int64_t id, const struct request_members *request, struct error *err)
{
    struct json_writer json;
    json_writer_init(&json, line);
    json_object_begin(&json);
    json_member_int(&json, "id", id);
    json_member_text(&json, "op", request->op);
    json_member_text_if(&json, "format", request->format);
    json_member_text_if(&json, "content", request->content);
    json_member_text_if(&json, "html", request->html);
    json_member_text_if(&json, "text", request->text);
    json_member_text_if(&json, "baseUrl", request->base_url);
    json_member_text_if(&json, "subject", request->subject);
    write_json_if(&json, "images", request->images_json);
    write_json_if(&json, "replacements", request->replacements_json);
    write_json_if(&json, "edits", request->edits_json);
    write_json_if(&json, "document", request->document_json);
    write_json_if(&json, "look", request->look_json);
    write_json_if(&json, "brand", request->brand_json);
    write_json_if(&json, "client", request->client_json);
    if (request->members != NULL) {
        buf_add_char(line, ',');
        buf_add_text(line, request->members);
    }
    write_json_if(&json, "files", request->files_json);
    write_int_if(&json, "width", request->width);
    write_int_if(&json, "maxHeight", request->max_height);
    write_int_if(&json, "maxFrames", request->max_frames);
    json_object_end(&json);
    buf_add_char(line, '\n');
    return !line->overflowed || fail(err, ERR_PAYLOAD_TOO_LARGE, request->param != NULL ? request->param : "source.content",
                                     "The content is too large.");
}

static bool renderer_request(struct renderer_caller caller, struct arena *arena, const struct request_members *members,
                             const json_t **ret_result, struct error *err)
{
    struct renderer *renderer = caller.renderer;
    int64_t deadline_us = clock_monotonic_us() + renderer->config.deadline_ms * US_PER_MS;
    int64_t id = atomic_fetch_add(&renderer->next_id, 1);
    BUF_SCOPE line;
    buf_init(&line, RENDERER_MAX_REQUEST_BYTES);
    return write_request(&line, id, members, err) && renderer_pool_exchange(renderer->pools[members->side], caller.organization_id,
                                                                            arena, &line, id, deadline_us, ret_result, err);
}

bool renderer_prepare(struct renderer_caller caller, struct arena *arena, const char *format, const char *content,
                      const char *base_url, const json_t **ret_result, struct error *err)
{
    const struct request_members members = { .op = "prepare", .format = format, .content = content, .base_url = base_url };
    return renderer_request(caller, arena, &members, ret_result, err);
}

bool renderer_replace_images(struct renderer_caller caller, struct arena *arena, const char *html, const char *images_json,
                             const json_t **ret_result, struct error *err)
{
    const struct request_members members = { .op = "replaceImages", .content = html, .images_json = images_json };
    return renderer_request(caller, arena, &members, ret_result, err);
}

bool renderer_replace_text(struct renderer_caller caller, struct arena *arena, const char *html, const char *subject,
                           const char *replacements_json, const json_t **ret_result, struct error *err)
{
    const struct request_members members = {
        .op = "replaceText", .content = html, .subject = subject, .replacements_json = replacements_json
    };
    return renderer_request(caller, arena, &members, ret_result, err);
}

bool renderer_outline(struct renderer_caller caller, struct arena *arena, const char *html, const json_t **ret_result,
                      struct error *err)
{
    const struct request_members members = { .op = "outline", .content = html };
    return renderer_request(caller, arena, &members, ret_result, err);
}

bool renderer_list_images(struct renderer_caller caller, struct arena *arena, const char *html, const json_t **ret_result,
                          struct error *err)
{
    const struct request_members members = { .side = VIEW_SIDE, .op = "listImages", .content = html };
    return renderer_request(caller, arena, &members, ret_result, err);
}

bool renderer_splice(struct renderer_caller caller, struct arena *arena, const char *html, const char *edits_json,
                     const json_t **ret_result, struct error *err)
{
    const struct request_members members = { .op = "spliceHtml", .content = html, .edits_json = edits_json };
    return renderer_request(caller, arena, &members, ret_result, err);
}

bool renderer_draw_document(struct renderer_caller caller, struct arena *arena, const char *document_json, const char *look_json,
                            const char *brand_json, const json_t **ret_result, struct error *err)
{
    const struct request_members members = {
        .op = "drawDocument", .document_json = document_json, .look_json = look_json, .brand_json = brand_json
    };
    return renderer_request(caller, arena, &members, ret_result, err);
}

bool renderer_read_page(struct renderer_caller caller, struct arena *arena, const char *url, struct bytes page,
                        const json_t **ret_result, struct error *err)
{
    const struct request_members members = {
        .op = "readPage",
        .content = base64_encode(arena, page.data, page.size),
        .base_url = url,
    };
    return renderer_request(caller, arena, &members, ret_result, err);
}

bool renderer_site(struct renderer_caller caller, struct arena *arena, enum renderer_site_op op, const char *members,
                   const json_t **ret_result, struct error *err)
{
    static const char *const names[] = {
        [SITE_READ_PAGE] = "readSitePage",
        [SITE_SHOW_PAGE] = "showPage",
        [SITE_DRAW_PICTURE] = "drawPicture",
        [SITE_SUMMARISE] = "summariseSite",
    };
    const struct request_members request = { .side = VIEW_SIDE, .op = names[op], .members = members };
    return renderer_request(caller, arena, &request, ret_result, err);
}

bool renderer_draw_page(struct renderer_caller caller, struct arena *arena, const char *html, int64_t width, int64_t max_height,
                        const char *files_json, const json_t **ret_result, struct error *err)
{
    const struct request_members members = { .side = VIEW_SIDE,
                                             .op = "drawPage",
                                             .param = "html",
                                             .content = html,
                                             .width = width,
                                             .max_height = max_height,
                                             .files_json = files_json };
    return renderer_request(caller, arena, &members, ret_result, err);
}

bool renderer_draw_client(struct renderer_caller caller, struct arena *arena, const char *html, const char *text,
                          const char *client_json, const char *files_json, const json_t **ret_result, struct error *err)
{
    const struct request_members members = {
        .side = VIEW_SIDE, .op = "drawClient", .html = html, .text = text, .client_json = client_json, .files_json = files_json
    };
    return renderer_request(caller, arena, &members, ret_result, err);
}

bool renderer_draw_frames(struct renderer_caller caller, struct arena *arena, const char *video, int64_t width, int64_t max_frames,
                          const json_t **ret_result, struct error *err)
{
    const struct request_members members = {
        .side = VIEW_SIDE, .op = "drawFrames", .content = video, .width = width, .max_frames = max_frames
    };
    return renderer_request(caller, arena, &members, ret_result, err);
}

bool renderer_check_mail(struct renderer_caller caller, struct arena *arena, const char *members_json, const json_t **ret_result,
                         struct error *err)
{
    const struct request_members members = { .side = VIEW_SIDE, .op = "checkMail", .members = members_json };
    return renderer_request(caller, arena, &members, ret_result, err);
}

bool renderer_check_shown(struct renderer_caller caller, struct arena *arena, const char *html, const char *files_json,
                          const json_t **ret_result, struct error *err)
{
    const struct request_members members = { .side = VIEW_SIDE, .op = "checkShown", .content = html, .files_json = files_json };
    return renderer_request(caller, arena, &members, ret_result, err);
}

bool renderer_ping(struct renderer_caller caller, struct arena *arena, const json_t **ret_result, struct error *err)
{
    const struct request_members members = { .op = "ping" };
    return renderer_request(caller, arena, &members, ret_result, err);
}
