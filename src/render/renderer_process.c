#include "render/renderer_process.h"

#include "base/clock.h"
#include "base/json_read.h"
#include "base/panic.h"
#include "base/text.h"
#include "render/child.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LOG_LINE_MAX_BYTES = 4096, REPLY_MAX_DEPTH = 16, READ_BYTES = 64 * 1024, RETRY_AFTER_S = 1 };

struct renderer_process {
    const struct renderer_config *config;
    char heap_flag[48];

    struct child child;
    struct buf reply;    /* read so far */
    struct buf log_line; /* an incomplete line of standard error */
};

struct renderer_process *renderer_process_new(const struct renderer_config *config)
{
    struct renderer_process *process = calloc(1, sizeof(*process));
    if (process == NULL)
        panic(PANIC_NO_MEMORY);
    process->config = config;
    snprintf(process->heap_flag, sizeof(process->heap_flag), "--max-old-space-size=%d", config->heap_mb);
    process->child = CHILD_NONE;
    buf_init(&process->reply, config->max_reply_bytes);
    buf_init(&process->log_line, LOG_LINE_MAX_BYTES);
    return process;
}

void renderer_process_free(struct renderer_process *process)
{
    child_stop(&process->child);
    buf_done(&process->reply);
    buf_done(&process->log_line);
    free(process);
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

static void log_flush(struct renderer_process *process)
{
    if (process->log_line.size > 0 && process->config->log != NULL)
        process->config->log(process->config->log_context, buf_text(&process->log_line));
    buf_clear(&process->log_line);
}

static void log_add(struct renderer_process *process, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] == '\n')
            log_flush(process);
        else if (process->log_line.size < LOG_LINE_MAX_BYTES) /* the rest of a longer line is dropped */
            buf_add_char(&process->log_line, bytes[i]);
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

static void drain_log(struct renderer_process *process)
{
    char bytes[LOG_LINE_MAX_BYTES];
    ssize_t count = read_some(process->child.err_fd, bytes, sizeof(bytes));
    while (count > 0) {
        log_add(process, bytes, (size_t)count);
        count = read_some(process->child.err_fd, bytes, sizeof(bytes));
    }
}

static void stop_child(struct renderer_process *process)
{
    if (process->child.err_fd >= 0)
        drain_log(process);
    log_flush(process);
    child_stop(&process->child);
    buf_clear(&process->reply);
}

static bool ensure_started(struct renderer_process *process, struct error *err)
{
    if (process->child.pid != 0 && !child_has_ended(&process->child))
        return true;
    if (process->child.in_fd >= 0)
        stop_child(process);
    const char *const arguments[] = { process->config->node_path, process->heap_flag, process->config->script_path, NULL };
    const struct child_program program = { .arguments = arguments, .script_path = process->config->script_path };
    return child_start(&program, &process->child, err);
}

/* Sends as much of the request as the socket accepts. */
static bool send_request_bytes(struct renderer_process *process, const struct buf *request, size_t *sent, struct error *err)
{
    ssize_t count = send(process->child.in_fd, request->data + *sent, request->size - *sent, MSG_NOSIGNAL);
    if (count > 0)
        *sent += (size_t)count;
    if (count < 0 && errno != EAGAIN && errno != EINTR)
        return fail_stopped(err, errno == EPIPE ? "standard input closed" : strerror(errno));
    return true;
}

static bool receive_reply_bytes(struct renderer_process *process, struct error *err)
{
    if (process->reply.size == process->reply.max_bytes)
        return fail_stopped(err, "reply too large");
    size_t left = process->reply.max_bytes - process->reply.size;
    size_t size = left < READ_BYTES ? left : READ_BYTES;
    char *room = buf_room(&process->reply, size);
    ssize_t count = read_some(process->child.out_fd, room, size);
    if (count == 0)
        return fail_stopped(err, "standard output closed");
    if (count > 0)
        buf_grown(&process->reply, (size_t)count);
    return true;
}

/* Whether the last bytes read complete the reply line. */
static bool reply_is_complete(const struct renderer_process *process)
{
    return process->reply.size > 0 && process->reply.data[process->reply.size - 1] == '\n';
}

static int poll_timeout_ms(int64_t deadline_us)
{
    int64_t left_us = deadline_us - clock_monotonic_us();
    return left_us > 0 ? (int)((left_us + US_PER_MS - 1) / US_PER_MS) : 0;
}

/* Sends the request and reads the reply line into process->reply. It reads all streams, so that the process never blocks. */
static bool exchange(struct renderer_process *process, const struct buf *request, int64_t deadline_us, struct error *err)
{
    size_t sent = 0;
    buf_clear(&process->reply);
    while (!reply_is_complete(process)) {
        struct pollfd streams[] = {
            { .fd = process->child.out_fd, .events = POLLIN },
            { .fd = process->child.err_fd, .events = POLLIN },
            { .fd = sent < request->size ? process->child.in_fd : -1, .events = POLLOUT },
        };
        int ready = poll(streams, ARRAY_COUNT(streams), poll_timeout_ms(deadline_us));
        if (ready < 0 && errno != EINTR)
            return fail_stopped(err, strerror(errno));
        if (ready == 0)
            return fail_unavailable(err, "The HTML renderer took too long for this request.", "deadline");
        if (streams[1].revents != 0)
            drain_log(process);
        if (streams[2].revents != 0 && !send_request_bytes(process, request, &sent, err))
            return false;
        if (streams[0].revents != 0 && !receive_reply_bytes(process, err))
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
static bool read_reply(struct renderer_process *process, struct arena *arena, int64_t id, const json_t **ret_result,
                       bool *ret_is_protocol_intact, struct error *err)
{
    const json_t *reply = NULL;
    struct error malformed = { .code = ERR_NONE };
    const struct json_bounds bounds = { .max_bytes = process->config->max_reply_bytes, .max_depth = REPLY_MAX_DEPTH };
    *ret_is_protocol_intact = false;
    if (!json_read(arena, process->reply.data, process->reply.size, bounds, &reply, &malformed))
        return fail_stopped(err, malformed.message);
    if (!json_is_object(reply) || json_get_int(reply, "id", -1) != id)
        return fail_stopped(err, "reply to another request");
    *ret_is_protocol_intact = true;
    if (!json_get_bool(reply, "ok", false))
        return fail_as_reported(reply, err);
    *ret_result = json_object_get(reply, "result");
    return *ret_result != NULL || fail_stopped(err, "reply without a result");
}

void renderer_process_stop(struct renderer_process *process)
{
    stop_child(process);
}

bool renderer_process_exchange(struct renderer_process *process, struct arena *arena, const struct buf *request, int64_t id,
                               int64_t deadline_us, const json_t **ret_result, struct error *err)
{
    if (!ensure_started(process, err))
        return false;
    bool is_protocol_intact = false;
    bool done =
        exchange(process, request, deadline_us, err) && read_reply(process, arena, id, ret_result, &is_protocol_intact, err);
    if (!is_protocol_intact)
        stop_child(process);
    /* A reply may have megabytes, which are not kept between requests. */
    buf_done(&process->reply);
    return done;
}
