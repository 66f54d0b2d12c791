#include "render/side.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/json_read.h"
#include "base/json_write.h"
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

struct side {
    struct arena *arena; /* holds the configuration's texts */
    struct side_config config;
    char heap_flag[48];
    _Atomic int64_t next_id;

    pthread_mutex_t mutex; /* guards is_taken */
    pthread_cond_t freed;
    bool is_taken;

    /* Of the caller whose turn it is. */
    struct child child;
    struct buf reply;    /* read so far */
    struct buf log_line; /* of standard error, without its end yet */
};

struct side *side_new(const struct side_config *config)
{
    struct side *side = calloc(1, sizeof(*side));
    if (side == NULL)
        abort();
    side->arena = arena_new(0);
    side->config = *config;
    side->config.node_path = arena_dup(side->arena, config->node_path);
    side->config.script_path = arena_dup(side->arena, config->script_path);
    if (side->config.deadline_ms == 0)
        side->config.deadline_ms = SIDE_DEADLINE_MS;
    if (side->config.max_reply_bytes == 0)
        side->config.max_reply_bytes = SIDE_MAX_REPLY_BYTES;
    int heap_mb = config->heap_mb != 0 ? config->heap_mb : SIDE_HEAP_MB;
    snprintf(side->heap_flag, sizeof(side->heap_flag), "--max-old-space-size=%d", heap_mb);
    pthread_mutex_init(&side->mutex, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&side->freed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    side->child = CHILD_NONE;
    buf_init(&side->reply, side->config.max_reply_bytes);
    buf_init(&side->log_line, LOG_LINE_MAX_BYTES);
    return side;
}

void side_free(struct side *side)
{
    if (side == NULL)
        return;
    child_stop(&side->child);
    buf_done(&side->reply);
    buf_done(&side->log_line);
    pthread_cond_destroy(&side->freed);
    pthread_mutex_destroy(&side->mutex);
    arena_free(side->arena);
    free(side);
}

/* Every trouble with the process ends here: retryable, the reason private. */
static bool unavailable(struct error *err, const char *message, const char *cause)
{
    fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "%s", message);
    err->retry_after_s = RETRY_AFTER_S;
    return error_because(err, "side process: %s", cause);
}

static bool stopped(struct error *err, const char *cause)
{
    return unavailable(err, "The HTML service stopped while it worked on this request; try again.", cause);
}

static void log_flush(struct side *side)
{
    if (side->log_line.size > 0 && side->config.log != NULL)
        side->config.log(side->config.log_context, buf_text(&side->log_line));
    buf_clear(&side->log_line);
}

static void log_add(struct side *side, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] == '\n')
            log_flush(side);
        else if (side->log_line.size < LOG_LINE_MAX_BYTES) /* the rest of a longer line is dropped */
            buf_add_char(&side->log_line, bytes[i]);
    }
}

/* Reads what is there. Gives the bytes read, 0 at the end of the stream, -1 when nothing is there now. */
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

static void drain_log(struct side *side)
{
    char bytes[LOG_LINE_MAX_BYTES];
    ssize_t count = read_some(side->child.err_fd, bytes, sizeof(bytes));
    while (count > 0) {
        log_add(side, bytes, (size_t)count);
        count = read_some(side->child.err_fd, bytes, sizeof(bytes));
    }
}

static void stop_child(struct side *side)
{
    if (side->child.err_fd >= 0)
        drain_log(side);
    log_flush(side);
    child_stop(&side->child);
    buf_clear(&side->reply);
}

static bool ensure_started(struct side *side, struct error *err)
{
    if (side->child.pid != 0 && !child_has_ended(&side->child))
        return true;
    if (side->child.in_fd >= 0)
        stop_child(side);
    const char *const arguments[] = { side->config.node_path, side->heap_flag, side->config.script_path, NULL };
    const struct child_program program = { .arguments = arguments, .script_path = side->config.script_path };
    return child_start(&program, &side->child, err);
}

/* Sends what the socket takes of the request. */
static bool send_some(struct side *side, const struct buf *request, size_t *sent, struct error *err)
{
    ssize_t count = send(side->child.in_fd, request->data + *sent, request->size - *sent, MSG_NOSIGNAL);
    if (count > 0)
        *sent += (size_t)count;
    if (count < 0 && errno != EAGAIN && errno != EINTR)
        return stopped(err, strerror(errno));
    return true;
}

static bool receive_some(struct side *side, struct error *err)
{
    if (side->reply.size == side->reply.max_bytes)
        return stopped(err, "reply too large");
    size_t left = side->reply.max_bytes - side->reply.size;
    size_t size = left < READ_BYTES ? left : READ_BYTES;
    char *room = buf_room(&side->reply, size);
    ssize_t count = read_some(side->child.out_fd, room, size);
    if (count == 0)
        return stopped(err, "standard output closed");
    if (count > 0)
        buf_grown(&side->reply, (size_t)count);
    return true;
}

/* Whether the last bytes read complete the reply line. */
static bool reply_is_complete(const struct side *side)
{
    return side->reply.size > 0 && side->reply.data[side->reply.size - 1] == '\n';
}

static int wait_ms(int64_t deadline_us)
{
    int64_t left_us = deadline_us - clock_monotonic_us();
    return left_us > 0 ? (int)((left_us + US_PER_MS - 1) / US_PER_MS) : 0;
}

/* Sends the request and reads the reply line into side->reply, reading all streams so that no side can block. */
static bool exchange(struct side *side, const struct buf *request, int64_t deadline_us, struct error *err)
{
    size_t sent = 0;
    buf_clear(&side->reply);
    while (!reply_is_complete(side)) {
        struct pollfd streams[] = {
            { .fd = side->child.out_fd, .events = POLLIN },
            { .fd = side->child.err_fd, .events = POLLIN },
            { .fd = sent < request->size ? side->child.in_fd : -1, .events = POLLOUT },
        };
        int ready = poll(streams, ARRAY_COUNT(streams), wait_ms(deadline_us));
        if (ready < 0 && errno != EINTR)
            return stopped(err, strerror(errno));
        if (ready == 0)
            return unavailable(err, "The HTML service took too long for this request.", "deadline");
        if (streams[1].revents != 0)
            drain_log(side);
        if (streams[2].revents != 0 && !send_some(side, request, &sent, err))
            return false;
        if (streams[0].revents != 0 && !receive_some(side, err))
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
    return error_because(err, "side process: %s: %s", name != NULL ? name : "?", message != NULL ? message : "?");
}

/* Reads the reply. `ret_is_sane` tells whether the process may go on living. */
static bool read_reply(struct side *side, struct arena *arena, int64_t id, const json_t **ret_result, bool *ret_is_sane,
                       struct error *err)
{
    const json_t *reply = NULL;
    struct error malformed = { .code = ERR_NONE };
    const struct json_bounds bounds = { .max_bytes = side->config.max_reply_bytes, .max_depth = REPLY_MAX_DEPTH };
    *ret_is_sane = false;
    if (!json_read(arena, side->reply.data, side->reply.size, bounds, &reply, &malformed))
        return stopped(err, malformed.message);
    if (!json_is_object(reply) || json_get_int(reply, "id", -1) != id)
        return stopped(err, "reply to another request");
    *ret_is_sane = true;
    if (!json_get_bool(reply, "ok", false))
        return fail_as_reported(reply, err);
    *ret_result = json_object_get(reply, "result");
    return *ret_result != NULL || stopped(err, "reply without a result");
}

/* Waits until nobody else talks to the process, within the deadline. */
static bool take_turn(struct side *side, int64_t deadline_us, struct error *err)
{
    const struct timespec until = { .tv_sec = deadline_us / US_PER_S, .tv_nsec = deadline_us % US_PER_S * 1000 };
    int status = 0;
    pthread_mutex_lock(&side->mutex);
    while (side->is_taken && status == 0)
        status = pthread_cond_timedwait(&side->freed, &side->mutex, &until);
    bool got_it = !side->is_taken;
    if (got_it)
        side->is_taken = true;
    pthread_mutex_unlock(&side->mutex);
    return got_it || unavailable(err, "The HTML service is busy; try again.", "waited for its turn");
}

static void give_turn(struct side *side)
{
    pthread_mutex_lock(&side->mutex);
    side->is_taken = false;
    pthread_cond_signal(&side->freed);
    pthread_mutex_unlock(&side->mutex);
}

/* One request on its turn. */
static bool request_now(struct side *side, struct arena *arena, const struct buf *request, int64_t id, int64_t deadline_us,
                        const json_t **ret_result, struct error *err)
{
    if (!ensure_started(side, err))
        return false;
    bool is_sane = false;
    bool done = exchange(side, request, deadline_us, err) && read_reply(side, arena, id, ret_result, &is_sane, err);
    if (!is_sane)
        stop_child(side);
    /* A reply may be megabytes; what is kept between requests should not. */
    buf_done(&side->reply);
    return done;
}

/* The members of a request; NULL ones are left out. */
struct request {
    const char *op;
    const char *format;
    const char *content;
    const char *base_url;
    const char *images_json; /* an object; NULL: none */
};

/* The request line. The id comes first: the process relies on it for lines that it cannot parse. */
static bool write_request(struct buf *line, int64_t id, const struct request *request, struct error *err)
{
    struct json_writer json;
    json_writer_init(&json, line);
    json_object_begin(&json);
    json_member_int(&json, "id", id);
    json_member_text(&json, "op", request->op);
    json_member_text_if(&json, "format", request->format);
    json_member_text_if(&json, "content", request->content);
    json_member_text_if(&json, "baseUrl", request->base_url);
    if (request->images_json != NULL)
        json_member_raw(&json, "images", request->images_json);
    json_object_end(&json);
    buf_add_char(line, '\n');
    return !line->overflowed || fail(err, ERR_PAYLOAD_TOO_LARGE, "source.content", "The content is too large.");
}

static bool request(struct side *side, struct arena *arena, const struct request *members, const json_t **ret_result,
                    struct error *err)
{
    int64_t deadline_us = clock_monotonic_us() + side->config.deadline_ms * US_PER_MS;
    int64_t id = atomic_fetch_add(&side->next_id, 1);
    BUF_SCOPE line;
    buf_init(&line, SIDE_MAX_REQUEST_BYTES);
    if (!write_request(&line, id, members, err) || !take_turn(side, deadline_us, err))
        return false;
    bool done = request_now(side, arena, &line, id, deadline_us, ret_result, err);
    give_turn(side);
    return done;
}

bool side_prepare(struct side *side, struct arena *arena, const char *format, const char *content, const char *base_url,
                  const json_t **ret_result, struct error *err)
{
    const struct request members = { .op = "prepare", .format = format, .content = content, .base_url = base_url };
    return request(side, arena, &members, ret_result, err);
}

bool side_rehost(struct side *side, struct arena *arena, const char *html, const char *images_json, const json_t **ret_result,
                 struct error *err)
{
    const struct request members = { .op = "rehost", .content = html, .images_json = images_json };
    return request(side, arena, &members, ret_result, err);
}

bool side_ping(struct side *side, struct arena *arena, const json_t **ret_result, struct error *err)
{
    const struct request members = { .op = "ping" };
    return request(side, arena, &members, ret_result, err);
}
