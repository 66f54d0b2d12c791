#include "render/renderer.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/json_read.h"
#include "base/json_write.h"
#include "base/panic.h"
#include "base/text.h"
#include "render/child.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { LOG_LINE_MAX_BYTES = 4096, REPLY_MAX_DEPTH = 16, READ_BYTES = 64 * 1024, RETRY_AFTER_S = 1 };

struct renderer {
    struct arena *arena; /* holds the configuration's texts */
    struct renderer_config config;
    char heap_flag[48];
    _Atomic int64_t next_id;

    pthread_mutex_t mutex; /* guards is_busy */
    pthread_cond_t became_free;
    bool is_busy;

    /* Used only by the caller that has acquired the process. */
    struct child child;
    struct buf reply;    /* read so far */
    struct buf log_line; /* an incomplete line of standard error */
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
    if (renderer->config.deadline_ms == 0)
        renderer->config.deadline_ms = RENDERER_DEADLINE_MS;
    if (renderer->config.max_reply_bytes == 0)
        renderer->config.max_reply_bytes = RENDERER_MAX_REPLY_BYTES;
    int heap_mb = config->heap_mb != 0 ? config->heap_mb : RENDERER_HEAP_MB;
    snprintf(renderer->heap_flag, sizeof(renderer->heap_flag), "--max-old-space-size=%d", heap_mb);
    pthread_mutex_init(&renderer->mutex, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&renderer->became_free, &monotonic);
    pthread_condattr_destroy(&monotonic);
    renderer->child = CHILD_NONE;
    buf_init(&renderer->reply, renderer->config.max_reply_bytes);
    buf_init(&renderer->log_line, LOG_LINE_MAX_BYTES);
    return renderer;
}

void renderer_free(struct renderer *renderer)
{
    if (renderer == NULL)
        return;
    child_stop(&renderer->child);
    buf_done(&renderer->reply);
    buf_done(&renderer->log_line);
    pthread_cond_destroy(&renderer->became_free);
    pthread_mutex_destroy(&renderer->mutex);
    arena_free(renderer->arena);
    free(renderer);
}

/* The error for every failure of the process: retryable, with a private cause. */
static bool fail_unavailable(struct error *err, const char *message, const char *cause)
{
    fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "%s", message);
    err->retry_after_s = RETRY_AFTER_S;
    return error_because(err, "renderer process: %s", cause);
}

static bool fail_stopped(struct error *err, const char *cause)
{
    return fail_unavailable(err, "The HTML renderer stopped during this request. Try again.", cause);
}

static void log_flush(struct renderer *renderer)
{
    if (renderer->log_line.size > 0 && renderer->config.log != NULL)
        renderer->config.log(renderer->config.log_context, buf_text(&renderer->log_line));
    buf_clear(&renderer->log_line);
}

static void log_add(struct renderer *renderer, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] == '\n')
            log_flush(renderer);
        else if (renderer->log_line.size < LOG_LINE_MAX_BYTES) /* the rest of a longer line is dropped */
            buf_add_char(&renderer->log_line, bytes[i]);
    }
}

/* Reads available bytes. Returns their number, 0 at the end of the stream, -1 when none are available. */
static ssize_t read_some(int fd, char *bytes, size_t size)
{
    ssize_t count;
    do
        count = read(fd, bytes, size);
    while (count < 0 && errno == EINTR);
    if (count < 0 && errno != EAGAIN)
        return 0;
    return count;
}

static void drain_log(struct renderer *renderer)
{
    char bytes[LOG_LINE_MAX_BYTES];
    ssize_t count = read_some(renderer->child.err_fd, bytes, sizeof(bytes));
    while (count > 0) {
        log_add(renderer, bytes, (size_t)count);
        count = read_some(renderer->child.err_fd, bytes, sizeof(bytes));
    }
}

static void stop_child(struct renderer *renderer)
{
    if (renderer->child.err_fd >= 0)
        drain_log(renderer);
    log_flush(renderer);
    child_stop(&renderer->child);
    buf_clear(&renderer->reply);
}

static bool renderer_ensure_started(struct renderer *renderer, struct error *err)
{
    if (renderer->child.pid != 0 && !child_has_ended(&renderer->child))
        return true;
    if (renderer->child.in_fd >= 0)
        stop_child(renderer);
    const char *const arguments[] = { renderer->config.node_path, renderer->heap_flag, renderer->config.script_path, NULL };
    const struct child_program program = { .arguments = arguments, .script_path = renderer->config.script_path };
    return child_start(&program, &renderer->child, err);
}

/* Sends as much of the request as the socket accepts. */
static bool send_request_bytes(struct renderer *renderer, const struct buf *request, size_t *sent, struct error *err)
{
    ssize_t count = send(renderer->child.in_fd, request->data + *sent, request->size - *sent, MSG_NOSIGNAL);
    if (count > 0)
        *sent += (size_t)count;
    if (count < 0 && errno != EAGAIN && errno != EINTR)
        return fail_stopped(err, strerror(errno));
    return true;
}

static bool receive_reply_bytes(struct renderer *renderer, struct error *err)
{
    if (renderer->reply.size == renderer->reply.max_bytes)
        return fail_stopped(err, "reply too large");
    size_t left = renderer->reply.max_bytes - renderer->reply.size;
    size_t size = left < READ_BYTES ? left : READ_BYTES;
    char *room = buf_room(&renderer->reply, size);
    ssize_t count = read_some(renderer->child.out_fd, room, size);
    if (count == 0)
        return fail_stopped(err, "standard output closed");
    if (count > 0)
        buf_grown(&renderer->reply, (size_t)count);
    return true;
}

/* Whether the last bytes read complete the reply line. */
static bool reply_is_complete(const struct renderer *renderer)
{
    return renderer->reply.size > 0 && renderer->reply.data[renderer->reply.size - 1] == '\n';
}

static int poll_timeout_ms(int64_t deadline_us)
{
    int64_t left_us = deadline_us - clock_monotonic_us();
    return left_us > 0 ? (int)((left_us + US_PER_MS - 1) / US_PER_MS) : 0;
}

/* Sends the request and reads the reply line into renderer->reply. It reads all streams, so that the process never blocks. */
static bool exchange(struct renderer *renderer, const struct buf *request, int64_t deadline_us, struct error *err)
{
    size_t sent = 0;
    buf_clear(&renderer->reply);
    while (!reply_is_complete(renderer)) {
        struct pollfd streams[] = {
            { .fd = renderer->child.out_fd, .events = POLLIN },
            { .fd = renderer->child.err_fd, .events = POLLIN },
            { .fd = sent < request->size ? renderer->child.in_fd : -1, .events = POLLOUT },
        };
        int ready = poll(streams, ARRAY_COUNT(streams), poll_timeout_ms(deadline_us));
        if (ready < 0 && errno != EINTR)
            return fail_stopped(err, strerror(errno));
        if (ready == 0)
            return fail_unavailable(err, "The HTML renderer took too long for this request.", "deadline");
        if (streams[1].revents != 0)
            drain_log(renderer);
        if (streams[2].revents != 0 && !send_request_bytes(renderer, request, &sent, err))
            return false;
        if (streams[0].revents != 0 && !receive_reply_bytes(renderer, err))
            return false;
    }
    return true;
}

/* The error that the process reports about the request itself. */
static bool fail_as_reported(const json_t *reply, struct error *err)
{
    static const struct {
        const char *name;
        enum error_code code;
    } codes[] = {
        { "EMAIL_IMPORT_FAILED", ERR_EMAIL_IMPORT_FAILED },
        { "INVALID_REQUEST", ERR_INVALID_REQUEST },
        { "PAYLOAD_TOO_LARGE", ERR_PAYLOAD_TOO_LARGE },
        { "SERVICE_UNAVAILABLE", ERR_SERVICE_UNAVAILABLE },
    };
    const json_t *error = json_object_get(reply, "error");
    const char *name = json_get_text(error, "code");
    const char *message = json_get_text(error, "message");
    for (size_t i = 0; name != NULL && message != NULL && i < ARRAY_COUNT(codes); i++)
        if (strcmp(name, codes[i].name) == 0)
            return fail(err, codes[i].code, json_get_text(error, "param"), "%s", message);
    fail(err, ERR_INTERNAL_ERROR, NULL, "The HTML could not be processed because of an internal error.");
    return error_because(err, "renderer process: %s: %s", name != NULL ? name : "?", message != NULL ? message : "?");
}

/* Parses the reply. `ret_is_protocol_intact` is false after a malformed reply, which must end the process. */
static bool read_reply(struct renderer *renderer, struct arena *arena, int64_t id, const json_t **ret_result,
                       bool *ret_is_protocol_intact, struct error *err)
{
    const json_t *reply = NULL;
    struct error malformed = { .code = ERR_NONE };
    const struct json_bounds bounds = { .max_bytes = renderer->config.max_reply_bytes, .max_depth = REPLY_MAX_DEPTH };
    *ret_is_protocol_intact = false;
    if (!json_read(arena, renderer->reply.data, renderer->reply.size, bounds, &reply, &malformed))
        return fail_stopped(err, malformed.message);
    if (!json_is_object(reply) || json_get_int(reply, "id", -1) != id)
        return fail_stopped(err, "reply to another request");
    *ret_is_protocol_intact = true;
    if (!json_get_bool(reply, "ok", false))
        return fail_as_reported(reply, err);
    *ret_result = json_object_get(reply, "result");
    return *ret_result != NULL || fail_stopped(err, "reply without a result");
}

/* Waits for exclusive use of the process, until the deadline. */
static bool acquire_process(struct renderer *renderer, int64_t deadline_us, struct error *err)
{
    const struct timespec until = { .tv_sec = deadline_us / US_PER_S, .tv_nsec = deadline_us % US_PER_S * 1000 };
    int status = 0;
    pthread_mutex_lock(&renderer->mutex);
    while (renderer->is_busy && status == 0)
        status = pthread_cond_timedwait(&renderer->became_free, &renderer->mutex, &until);
    bool acquired = !renderer->is_busy;
    if (acquired)
        renderer->is_busy = true;
    pthread_mutex_unlock(&renderer->mutex);
    return acquired || fail_unavailable(err, "The HTML renderer is busy. Try again.", "the process was busy until the deadline");
}

static void release_process(struct renderer **acquired)
{
    struct renderer *renderer = *acquired;
    pthread_mutex_lock(&renderer->mutex);
    renderer->is_busy = false;
    pthread_cond_signal(&renderer->became_free);
    pthread_mutex_unlock(&renderer->mutex);
}

/* One request of the caller that has acquired the process. */
static bool send_and_receive(struct renderer *renderer, struct arena *arena, const struct buf *request, int64_t id,
                             int64_t deadline_us, const json_t **ret_result, struct error *err)
{
    if (!renderer_ensure_started(renderer, err))
        return false;
    bool is_protocol_intact = false;
    bool done =
        exchange(renderer, request, deadline_us, err) && read_reply(renderer, arena, id, ret_result, &is_protocol_intact, err);
    if (!is_protocol_intact)
        stop_child(renderer);
    /* A reply may have megabytes, which are not kept between requests. */
    buf_done(&renderer->reply);
    return done;
}

/* The members of a request; those that are NULL are omitted. */
struct request_members {
    const char *op;
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
    return !line->overflowed || fail(err, ERR_PAYLOAD_TOO_LARGE, "source.content", "The content is too large.");
}

static bool renderer_request(struct renderer *renderer, struct arena *arena, const struct request_members *members,
                             const json_t **ret_result, struct error *err)
{
    int64_t deadline_us = clock_monotonic_us() + renderer->config.deadline_ms * US_PER_MS;
    int64_t id = atomic_fetch_add(&renderer->next_id, 1);
    BUF_SCOPE line;
    buf_init(&line, RENDERER_MAX_REQUEST_BYTES);
    if (!write_request(&line, id, members, err) || !acquire_process(renderer, deadline_us, err))
        return false;
    CLEANUP(release_process) struct renderer *acquired = renderer;
    return send_and_receive(acquired, arena, &line, id, deadline_us, ret_result, err);
}

bool renderer_prepare(struct renderer *renderer, struct arena *arena, const char *format, const char *content, const char *base_url,
                      const json_t **ret_result, struct error *err)
{
    const struct request_members members = { .op = "prepare", .format = format, .content = content, .base_url = base_url };
    return renderer_request(renderer, arena, &members, ret_result, err);
}

bool renderer_replace_images(struct renderer *renderer, struct arena *arena, const char *html, const char *images_json,
                             const json_t **ret_result, struct error *err)
{
    const struct request_members members = { .op = "replaceImages", .content = html, .images_json = images_json };
    return renderer_request(renderer, arena, &members, ret_result, err);
}

bool renderer_replace_text(struct renderer *renderer, struct arena *arena, const char *html, const char *subject,
                           const char *replacements_json, const json_t **ret_result, struct error *err)
{
    const struct request_members members = {
        .op = "replaceText", .content = html, .subject = subject, .replacements_json = replacements_json
    };
    return renderer_request(renderer, arena, &members, ret_result, err);
}

bool renderer_outline(struct renderer *renderer, struct arena *arena, const char *html, const json_t **ret_result,
                      struct error *err)
{
    const struct request_members members = { .op = "outline", .content = html };
    return renderer_request(renderer, arena, &members, ret_result, err);
}

bool renderer_list_images(struct renderer *renderer, struct arena *arena, const char *html, const json_t **ret_result,
                          struct error *err)
{
    const struct request_members members = { .op = "listImages", .content = html };
    return renderer_request(renderer, arena, &members, ret_result, err);
}

bool renderer_splice(struct renderer *renderer, struct arena *arena, const char *html, const char *edits_json,
                     const json_t **ret_result, struct error *err)
{
    const struct request_members members = { .op = "spliceHtml", .content = html, .edits_json = edits_json };
    return renderer_request(renderer, arena, &members, ret_result, err);
}

bool renderer_draw_document(struct renderer *renderer, struct arena *arena, const char *document_json, const char *look_json,
                            const char *brand_json, const json_t **ret_result, struct error *err)
{
    const struct request_members members = {
        .op = "drawDocument", .document_json = document_json, .look_json = look_json, .brand_json = brand_json
    };
    return renderer_request(renderer, arena, &members, ret_result, err);
}

bool renderer_read_page(struct renderer *renderer, struct arena *arena, const char *url, struct bytes page,
                        const json_t **ret_result, struct error *err)
{
    const struct request_members members = {
        .op = "readPage",
        .content = base64_encode(arena, page.data, page.size),
        .base_url = url,
    };
    return renderer_request(renderer, arena, &members, ret_result, err);
}

bool renderer_site(struct renderer *renderer, struct arena *arena, enum renderer_site_op op, const char *members,
                   const json_t **ret_result, struct error *err)
{
    static const char *const names[] = {
        [SITE_READ_PAGE] = "readSitePage",
        [SITE_SHOW_PAGE] = "showPage",
        [SITE_DRAW_PICTURE] = "drawPicture",
        [SITE_SUMMARISE] = "summariseSite",
    };
    const struct request_members request = { .op = names[op], .members = members };
    return renderer_request(renderer, arena, &request, ret_result, err);
}

bool renderer_draw_page(struct renderer *renderer, struct arena *arena, const char *html, int64_t width, int64_t max_height,
                        const char *files_json, const json_t **ret_result, struct error *err)
{
    const struct request_members members = {
        .op = "drawPage", .content = html, .width = width, .max_height = max_height, .files_json = files_json
    };
    return renderer_request(renderer, arena, &members, ret_result, err);
}

bool renderer_draw_client(struct renderer *renderer, struct arena *arena, const char *html, const char *text,
                          const char *client_json, const char *files_json, const json_t **ret_result, struct error *err)
{
    const struct request_members members = {
        .op = "drawClient", .html = html, .text = text, .client_json = client_json, .files_json = files_json
    };
    return renderer_request(renderer, arena, &members, ret_result, err);
}

bool renderer_draw_frames(struct renderer *renderer, struct arena *arena, const char *video, int64_t width, int64_t max_frames,
                          const json_t **ret_result, struct error *err)
{
    const struct request_members members = { .op = "drawFrames", .content = video, .width = width, .max_frames = max_frames };
    return renderer_request(renderer, arena, &members, ret_result, err);
}

bool renderer_check_mail(struct renderer *renderer, struct arena *arena, const char *members_json, const json_t **ret_result,
                         struct error *err)
{
    const struct request_members members = { .op = "checkMail", .members = members_json };
    return renderer_request(renderer, arena, &members, ret_result, err);
}

bool renderer_check_shown(struct renderer *renderer, struct arena *arena, const char *html, const char *files_json,
                          const json_t **ret_result, struct error *err)
{
    const struct request_members members = { .op = "checkShown", .content = html, .files_json = files_json };
    return renderer_request(renderer, arena, &members, ret_result, err);
}

bool renderer_ping(struct renderer *renderer, struct arena *arena, const json_t **ret_result, struct error *err)
{
    const struct request_members members = { .op = "ping" };
    return renderer_request(renderer, arena, &members, ret_result, err);
}
