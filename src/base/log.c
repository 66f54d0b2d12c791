#include "base/log.h"

#include "base/clock.h"
#include "base/text.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

/* A writable pipe takes up to this size atomically and without blocking. */
enum { LOG_LINE_MAX_BYTES = PIPE_BUF };

static _Atomic int lowest_level = LOG_INFO;

static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER; /* the result of poll is valid while it is held */
static int64_t lines_dropped;                               /* since the last written line; protected by the lock */

void log_set_level(enum log_level level)
{
    atomic_store(&lowest_level, (int)level);
}

bool log_is_on(enum log_level level)
{
    return (int)level >= atomic_load_explicit(&lowest_level, memory_order_relaxed);
}

void log_begin(struct log_line *line, enum log_level level, const char *event)
{
    static const char *const names[] = { "debug", "info", "warning", "error" };
    char now[CLOCK_ISO_CHARS + 1];
    clock_format_iso(clock_now_us(), now);

    buf_init(&line->out, LOG_LINE_MAX_BYTES);
    json_writer_init(&line->json, &line->out);
    json_object_begin(&line->json);
    json_member_text(&line->json, "time", now);
    json_member_text(&line->json, "level", names[level]);
    json_member_text(&line->json, "event", event);
}

void log_end(struct log_line *line)
{
    pthread_mutex_lock(&writing);
    /* A log without a reader must not block the process. */
    struct pollfd output = { .fd = STDERR_FILENO, .events = POLLOUT };
    bool has_room = poll(&output, 1, 0) > 0;
    if (lines_dropped > 0)
        json_member_int(&line->json, "linesDropped", lines_dropped);
    json_object_end(&line->json);
    buf_add_char(&line->out, '\n');
    bool taken = has_room && !line->out.overflowed;
    if (taken) {
        /* One write per line keeps the lines of several threads and processes separate. */
        ssize_t written;
        do
            written = write(STDERR_FILENO, line->out.data, line->out.size);
        while (written < 0 && errno == EINTR);
    }
    lines_dropped = taken ? 0 : lines_dropped + 1;
    pthread_mutex_unlock(&writing);
    buf_done(&line->out);
}

void log_event(enum log_level level, const char *event, const char *format, ...)
{
    if (!log_is_on(level))
        return;
    char message[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    utf8_drop_malformed(message);

    struct log_line line;
    log_begin(&line, level, event);
    json_member_text(&line.json, "message", message);
    log_end(&line);
}

static void add_texts(struct log_line *line, const struct error *err)
{
    json_member_text(&line->json, "message", err->message);
    if (err->cause[0] != '\0')
        json_member_text(&line->json, "cause", err->cause);
}

static void add_members(struct log_line *line, const struct error *err, bool with_texts)
{
    json_member_text(&line->json, "errorCode", error_info(err->code)->name);
    if (with_texts)
        add_texts(line, err);
    if (err->sqlstate[0] != '\0')
        json_member_text(&line->json, "sqlstate", err->sqlstate);
    if (err->file != NULL) {
        json_key(&line->json, "at");
        char place[256];
        snprintf(place, sizeof(place), "%s:%d", err->file, err->line);
        json_text(&line->json, place);
    }
}

void log_error_members(struct log_line *line, const struct error *err)
{
    bool is_of_server = error_info(err->code)->http_status >= 500; /* other errors quote what a caller has sent */
    add_members(line, err, is_of_server);
}

void log_operator_error_members(struct log_line *line, const struct error *err)
{
    add_members(line, err, true);
}
