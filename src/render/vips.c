#include "render/vips.h"

#include "base/clock.h"
#include "render/child.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    READ_BYTES = 256 * 1024,
    COMPLAINT_BYTES = 256,
    PROCESSOR_S = 20,
    EXIT_MS = 5000, /* from the end of its output to its exit */
    STATUS_OF_SIGNAL = 128,
    PROGRAM_PATH_BYTES = 4096,
};

/* The decoded frames of the largest image that the checker admits take 400 MB. */
#define MEMORY_BYTES (INT64_C(2) * 1024 * 1024 * 1024)

/* One thread computes, so that a job takes one core. The image is not decoded to a temporary file: the child cannot write one. */
static const char *const variables[] = { "VIPS_CONCURRENCY=1", "VIPS_DISC_THRESHOLD=1500m", "MALLOC_ARENA_MAX=2",
                                         "VIPS_BLOCK_UNTRUSTED=1", NULL };
static const char *const variables_of_own_input[] = { "VIPS_CONCURRENCY=1", "VIPS_DISC_THRESHOLD=1500m", "MALLOC_ARENA_MAX=2",
                                                      NULL };

/* ---- Finding ---- */

static bool is_in_folder(const char *folder, size_t folder_size, const char *name)
{
    char path[PROGRAM_PATH_BYTES];
    int size = snprintf(path, sizeof(path), "%.*s/%s", (int)folder_size, folder, name);
    return folder_size > 0 && size < (int)sizeof(path) && access(path, X_OK) == 0;
}

static bool is_in_path(const char *name)
{
    const char *path = getenv("PATH");
    for (const char *at = path != NULL ? path : "/usr/bin:/bin"; *at != '\0';) {
        size_t size = strcspn(at, ":");
        if (is_in_folder(at, size, name))
            return true;
        at += size + (at[size] == ':');
    }
    return false;
}

bool vips_is_installed(void)
{
    return is_in_path("vips") && is_in_path("vipsthumbnail");
}

/* ---- One run ---- */

struct exchange {
    struct child child;
    struct bytes input;
    size_t sent;
    struct buf *output;
    bool is_complete; /* the output has ended */
    char complaint[COMPLAINT_BYTES];
    size_t complaint_size;
};

static void exchange_done(struct exchange *exchange)
{
    child_stop(&exchange->child);
}

static bool is_transient(ssize_t count)
{
    return count < 0 && (errno == EAGAIN || errno == EINTR);
}

/* The program sees the end of its input when all is sent. It may also stop reading early, which is no fault. */
static void send_input(struct exchange *exchange)
{
    const unsigned char *from = exchange->input.data + exchange->sent;
    ssize_t count = send(exchange->child.in_fd, from, exchange->input.size - exchange->sent, MSG_NOSIGNAL);
    if (count > 0)
        exchange->sent += (size_t)count;
    else if (!is_transient(count))
        exchange->sent = exchange->input.size;
    if (exchange->sent == exchange->input.size)
        shutdown(exchange->child.in_fd, SHUT_WR);
}

static void receive_output(struct exchange *exchange)
{
    static const size_t least = 1;
    size_t left = exchange->output->max_bytes - exchange->output->size;
    size_t size = left < READ_BYTES ? left : READ_BYTES;
    char *room = buf_room(exchange->output, size > 0 ? size : least);
    if (room == NULL) {
        exchange->is_complete = true; /* output->overflowed tells it */
        return;
    }
    ssize_t count = read(exchange->child.out_fd, room, size);
    if (count > 0)
        buf_grown(exchange->output, (size_t)count);
    exchange->is_complete = count == 0 || (count < 0 && !is_transient(count));
}

static void receive_complaint(struct exchange *exchange)
{
    char bytes[COMPLAINT_BYTES];
    ssize_t count = read(exchange->child.err_fd, bytes, sizeof(bytes));
    if (count == 0) {
        close(exchange->child.err_fd);
        exchange->child.err_fd = -1;
    }
    size_t left = sizeof(exchange->complaint) - 1 - exchange->complaint_size;
    size_t taken = count > 0 && (size_t)count < left ? (size_t)count : left;
    if (count > 0) {
        memcpy(exchange->complaint + exchange->complaint_size, bytes, taken);
        exchange->complaint_size += taken;
    }
}

/* False: the deadline has passed. */
static bool run_until(struct exchange *exchange, int64_t until_us)
{
    while (!exchange->is_complete) {
        bool all_sent = exchange->sent == exchange->input.size;
        struct pollfd streams[] = {
            { .fd = exchange->child.out_fd, .events = POLLIN },
            { .fd = exchange->child.err_fd, .events = POLLIN },
            { .fd = all_sent ? -1 : exchange->child.in_fd, .events = POLLOUT },
        };
        int64_t left_us = until_us - clock_monotonic_us();
        int ready = poll(streams, ARRAY_COUNT(streams), left_us > 0 ? (int)(left_us / US_PER_MS) : 0);
        if (ready == 0)
            return false;
        if (ready < 0)
            continue;
        if (streams[2].revents != 0)
            send_input(exchange);
        if (streams[1].revents != 0)
            receive_complaint(exchange);
        if (streams[0].revents != 0)
            receive_output(exchange);
    }
    return true;
}

static bool fail_killed(struct error *err, const char *cause, int number)
{
    fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "The image program stopped during this request. Try again.");
    return error_because(err, "vips: %s %d", cause, number);
}

static bool fail_unreadable(struct exchange *exchange, struct error *err)
{
    exchange->complaint[strcspn(exchange->complaint, "\n")] = '\0';
    fail(err, ERR_INVALID_REQUEST, NULL, "The image cannot be read: its file is damaged or incomplete.");
    return error_because(err, "vips: %s", exchange->complaint);
}

/* A program that is over its processor time or its memory ends itself; any other signal came from outside. */
static bool judge_exit(struct exchange *exchange, int status, struct error *err)
{
    if (exchange->output->overflowed)
        return fail(err, ERR_INVALID_REQUEST, NULL, "The image becomes too large.");
    if (status == STATUS_OF_SIGNAL + SIGXCPU)
        return fail(err, ERR_INVALID_REQUEST, NULL, "The image takes too long to read.");
    if (status < 0 || (status > STATUS_OF_SIGNAL && status < STATUS_OF_SIGNAL + NSIG)) /* a failed run of the program has 255 */
        return fail_killed(err, "status", status);
    return (status == 0 && exchange->output->size > 0) || fail_unreadable(exchange, err);
}

bool vips_run(const struct vips_run *run, struct buf *output, struct error *err)
{
    CLEANUP(exchange_done) struct exchange exchange = { .child = CHILD_NONE, .input = run->input, .output = output };
    const struct child_program program = {
        .arguments = run->arguments,
        .variables = run->is_own_input ? variables_of_own_input : variables,
        .memory_bytes = MEMORY_BYTES,
        .processor_s = PROCESSOR_S,
    };
    if (!vips_is_installed())
        return fail(
            err, ERR_SERVICE_UNAVAILABLE, NULL,
            "Images cannot be changed here: the programs of libvips are missing. Install the Debian package libvips-tools.");
    if (!child_start(&program, &exchange.child, err))
        return false;
    if (!run_until(&exchange, clock_monotonic_us() + VIPS_DEADLINE_MS * US_PER_MS))
        return fail_killed(err, "deadline of ms", VIPS_DEADLINE_MS);
    int status = output->overflowed ? 0 : child_await_exit(&exchange.child, clock_monotonic_us() + EXIT_MS * US_PER_MS);
    return judge_exit(&exchange, status, err);
}
