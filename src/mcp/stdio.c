/*
 * MCP over stdio: one JSON-RPC message per line, in UTF-8, on descriptors that
 * carry nothing else. One thread reads, answers what needs no database, and
 * writes; it runs an event loop on poll. Other threads add the answers of slow
 * calls. No thread blocks on the output: while a client does not read, no more
 * input is taken. At the end of input, running calls may finish within a
 * second.
 */
#include "base/clock.h"
#include "base/json_read.h"
#include "base/panic.h"
#include "mcp/batch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    READ_BYTES = 64 * 1024,
    KEEP_BYTES = 256 * 1024,          /* an input buffer larger than this is freed when empty */
    GATHER_BYTES = 64 * 1024,         /* unsent output above this is written although more input is available */
    OUTPUT_PAUSE_BYTES = 1024 * 1024, /* no more input is taken while more output than this is unsent */
    MAX_DEFERRED = 256,               /* no more input is taken while this many calls run */
    /* A pipe that polls as writable accepts this much without blocking (POSIX: PIPE_BUF). */
    PIPE_CHUNK_BYTES = 4096,
};

static const int64_t CANCEL_US = 250 * US_PER_MS; /* time for cancelled calls to answer, after the drain */

struct stdio {
    struct mcp_server *server;
    struct mcp_peer peer;
    struct credentials credentials;
    struct mcp_listener *listener;
    int in_fd;
    int out_fd;
    bool out_is_socket;
    size_t pipe_bytes; /* the capacity of the output when it is a pipe, else 0 */
    bool reads_block;  /* the reader may block in read: its descriptor blocks, and the provider announces no changes */
    int wake_fd;
    struct buf in;
    size_t scanned; /* bytes of `in` that contain no line end */
    bool skipping;  /* inside a line that is too long */
    bool at_end;
    struct arena *spare_arena; /* the arena of an answered message, kept for the next one; used by the reader only */
    struct buf spare_out;

    pthread_mutex_t lock; /* guards the members below */
    struct buf out;
    size_t written; /* bytes at the front of `out` */
    bool broken;
    unsigned deferred;
    unsigned references; /* the reader, and each deferred call */
};

/* ---- Output ---- */

static ssize_t write_some(const struct stdio *stdio, const char *bytes, size_t size)
{
    if (stdio->out_is_socket)
        return send(stdio->out_fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    /* An empty pipe accepts its whole capacity. A partly filled one may accept less than its free bytes, because its pages are
     * partly used. */
    int unread = 0;
    if (stdio->pipe_bytes > 0 && ioctl(stdio->out_fd, FIONREAD, &unread) == 0 && unread == 0)
        return write(stdio->out_fd, bytes, size < stdio->pipe_bytes ? size : stdio->pipe_bytes);
    struct pollfd ready = { .fd = stdio->out_fd, .events = POLLOUT };
    if (poll(&ready, 1, 0) <= 0) {
        errno = EAGAIN;
        return -1;
    }
    return write(stdio->out_fd, bytes, size < PIPE_CHUNK_BYTES ? size : PIPE_CHUNK_BYTES);
}

/* Writes as much as possible without blocking. Under the lock. */
static void flush_output(struct stdio *stdio)
{
    while (!stdio->broken && stdio->written < stdio->out.size) {
        ssize_t size = write_some(stdio, stdio->out.data + stdio->written, stdio->out.size - stdio->written);
        if (size > 0)
            stdio->written += (size_t)size;
        else if (size < 0 && errno == EAGAIN)
            break;
        else if (size < 0 && errno != EINTR)
            stdio->broken = true;
    }
    bool is_flushed = stdio->broken || stdio->written == stdio->out.size;
    /* The buffer must not grow while a slow client keeps reading. */
    if (!is_flushed && stdio->written < OUTPUT_PAUSE_BYTES)
        return;
    buf_drop_front(&stdio->out, is_flushed ? stdio->out.size : stdio->written);
    stdio->written = 0;
    if (is_flushed && stdio->out.capacity > KEEP_BYTES)
        buf_done(&stdio->out);
}

static size_t unsent_bytes(const struct stdio *stdio)
{
    return stdio->out.size - stdio->written;
}

static void wake_reader(const struct stdio *stdio)
{
    uint64_t one = 1;
    ssize_t ignored = write(stdio->wake_fd, &one, sizeof(one));
    (void)ignored;
}

/* Under the lock. */
static void add_line(struct stdio *stdio, const char *message, size_t size)
{
    if (size == 0 || stdio->broken)
        return;
    buf_add(&stdio->out, message, size);
    buf_add_char(&stdio->out, '\n');
    if (stdio->out.overflowed)
        stdio->broken = true;
}

static void stdio_release(struct stdio *stdio)
{
    pthread_mutex_lock(&stdio->lock);
    bool last = --stdio->references == 0;
    pthread_mutex_unlock(&stdio->lock);
    if (!last)
        return;
    mcp_peer_done(&stdio->peer);
    buf_done(&stdio->in);
    buf_done(&stdio->out);
    buf_done(&stdio->spare_out);
    arena_free(stdio->spare_arena);
    close(stdio->wake_fd);
    pthread_mutex_destroy(&stdio->lock);
    free(stdio);
}

/* A deferred call of this connection begins or ends. */
static void begin_deferred(struct stdio *stdio)
{
    pthread_mutex_lock(&stdio->lock);
    stdio->deferred++;
    stdio->references++;
    pthread_mutex_unlock(&stdio->lock);
}

static void end_deferred(struct stdio *stdio, const char *message, size_t size)
{
    pthread_mutex_lock(&stdio->lock);
    add_line(stdio, message, size);
    flush_output(stdio);
    stdio->deferred--;
    wake_reader(stdio);
    pthread_mutex_unlock(&stdio->lock);
    stdio_release(stdio);
}

static void send_now(struct stdio *stdio, const char *message, size_t size)
{
    pthread_mutex_lock(&stdio->lock);
    add_line(stdio, message, size);
    flush_output(stdio);
    if (unsent_bytes(stdio) > 0)
        wake_reader(stdio);
    pthread_mutex_unlock(&stdio->lock);
}

/* ---- Memory of a message ---- */

static struct arena *take_arena(struct stdio *stdio)
{
    struct arena *spare = TAKE_PTR(stdio->spare_arena);
    return spare != NULL ? spare : arena_new(0);
}

/* Keeps the memory of an answered message for the next one, unless it is large. */
static void recycle(struct stdio *stdio, struct mcp_request *request)
{
    struct arena *arena = request->arena;
    buf_done(&stdio->spare_out);
    stdio->spare_out = request->out;
    buf_clear(&stdio->spare_out);
    if (stdio->spare_out.capacity > KEEP_BYTES)
        buf_done(&stdio->spare_out);
    if (arena_used_bytes(arena) > KEEP_BYTES || stdio->spare_arena != NULL) {
        arena_free(arena);
        return;
    }
    arena_reset(arena);
    stdio->spare_arena = arena;
}

/* ---- Requests ---- */

static void send_stdio_message(struct mcp_request *request, const char *message, size_t size)
{
    send_now(request->writer_data, message, size);
}

static void on_stdio_request_completed(struct mcp_request *request)
{
    struct stdio *stdio = request->writer_data;
    size_t size = request->is_silenced ? 0 : request->out.size;
    if (request->deferred) {
        struct arena *arena = request->arena;
        struct buf out = request->out;
        end_deferred(stdio, out.data, size);
        buf_done(&out);
        arena_free(arena);
        return;
    }
    pthread_mutex_lock(&stdio->lock);
    add_line(stdio, request->out.data, size);
    pthread_mutex_unlock(&stdio->lock);
    recycle(stdio, request);
}

static const struct mcp_response_writer stdio_writer = { .send = send_stdio_message, .complete = on_stdio_request_completed };

static void fill_stdio_request(void *data, struct mcp_request *request)
{
    struct stdio *stdio = data;
    request->transport = TRANSPORT_STDIO;
    request->peer = &stdio->peer;
    request->credentials = stdio->credentials;
    request->guard = &stdio->peer.lock;
}

static void send_stdio_change(void *data, const char *message, size_t size)
{
    send_now(data, message, size);
}

static void refuse_line(struct stdio *stdio, const json_t *id, int code, const char *message)
{
    BUF_SCOPE out;
    buf_init(&out, MCP_ANSWER_MAX_BYTES);
    rpc_error(&out, id, code, message, NULL);
    pthread_mutex_lock(&stdio->lock);
    add_line(stdio, out.data, out.size);
    pthread_mutex_unlock(&stdio->lock);
}

/* ---- Batches ---- */

struct stdio_batch {
    struct stdio *stdio;
    struct arena *arena;
    struct mcp_batch *batch;
};

static void fill_batch_request(void *data, struct mcp_request *request)
{
    fill_stdio_request(((struct stdio_batch *)data)->stdio, request);
}

static void send_stdio_batch_message(void *data, const char *message, size_t size)
{
    send_now(((struct stdio_batch *)data)->stdio, message, size);
}

static void on_stdio_batch_completed(void *data, struct buf *out)
{
    struct stdio_batch *batch = data;
    end_deferred(batch->stdio, out->data, out->size);
    arena_free(batch->arena);
}

static void serve_batch(struct stdio *stdio, struct arena *arena, const json_t *messages)
{
    static const struct mcp_batch_callbacks callbacks = { .fill = fill_batch_request,
                                                          .send = send_stdio_batch_message,
                                                          .on_completed = on_stdio_batch_completed };
    size_t count = json_array_size(messages);
    const char *version = stdio->peer.version;
    if (version == NULL || strcmp(version, MCP_BATCH_VERSION) != 0 || count == 0 || count > MCP_BATCH_MAX_MESSAGES) {
        refuse_line(stdio, NULL, RPC_INVALID_REQUEST,
                    "A batch needs version " MCP_BATCH_VERSION " and must have 1 to 64 messages.");
        arena_free(arena);
        return;
    }
    struct stdio_batch *batch = arena_alloc(arena, sizeof(*batch));
    *batch = (struct stdio_batch){ .stdio = stdio, .arena = arena };
    batch->batch = mcp_batch_new(stdio->server, arena, messages, &callbacks, batch);
    begin_deferred(stdio);
    mcp_batch_run(batch->batch);
}

/* ---- Lines ---- */

static void serve_message(struct stdio *stdio, struct arena *arena, const json_t *json, size_t size)
{
    struct rpc_message message;
    const char *fault = NULL;
    if (!rpc_read(json, &message, &fault)) {
        refuse_line(stdio, message.id, RPC_INVALID_REQUEST, fault);
        arena_free(arena);
        return;
    }
    struct mcp_request *request = mcp_request_new(stdio->server, arena, &message, mcp_era_of(&message, NULL));
    fill_stdio_request(stdio, request);
    request->writer = &stdio_writer;
    request->writer_data = stdio;
    request->message_bytes = size;
    request->out = stdio->spare_out;
    buf_init(&stdio->spare_out, MCP_ANSWER_MAX_BYTES);
    bool was_settled = stdio->peer.version != NULL;
    mcp_prepare(request, NULL);
    if (request->deferred)
        begin_deferred(stdio);
    mcp_run(request);

    if (!was_settled && stdio->peer.version != NULL) {
        static const struct mcp_interests all = { .tools = true, .prompts = true, .resources = true };
        stdio->listener = mcp_listener_open(stdio->server, &all, &stdio->peer, NULL, send_stdio_change, stdio);
    }
}

/* A message with U+0000 in a text is refused, but it is valid JSON, and its sender waits for an answer with its id. */
static const json_t *id_of_refused(struct arena *arena, const char *line, size_t size, struct json_bounds bounds)
{
    const json_t *json = NULL;
    struct error ignored = { 0 };
    bounds.allow_nul = true;
    if (!json_read(arena, line, size, bounds, &json, &ignored))
        return NULL;
    const json_t *id = json_object_get(json, "id");
    bool is_text = json_is_string(id) && strlen(json_string_value(id)) == json_string_length(id);
    return is_text || json_is_integer(id) ? id : NULL;
}

static void serve_line(struct stdio *stdio, const char *line, size_t size)
{
    if (size > 0 && line[size - 1] == '\r')
        size--;
    if (size == 0)
        return;
    struct arena *arena = take_arena(stdio);
    struct error err = { 0 };
    const json_t *json = NULL;
    struct json_bounds bounds = { .max_bytes = stdio->server->config.message_max_bytes,
                                  .max_tree_bytes = JSON_CALLER_TREE_MAX_BYTES };
    if (!json_read(arena, line, size, bounds, &json, &err)) {
        const json_t *id = id_of_refused(arena, line, size, bounds);
        refuse_line(stdio, id, id != NULL ? RPC_INVALID_REQUEST : RPC_PARSE_ERROR, err.message);
        arena_free(arena);
    } else if (json_is_array(json)) {
        serve_batch(stdio, arena, json);
    } else {
        serve_message(stdio, arena, json, size);
    }
}

/* True when the client must first read the unsent output, or too many calls run. */
static bool must_pause_input(struct stdio *stdio)
{
    pthread_mutex_lock(&stdio->lock);
    bool full = unsent_bytes(stdio) > OUTPUT_PAUSE_BYTES || stdio->deferred >= MAX_DEFERRED;
    pthread_mutex_unlock(&stdio->lock);
    return full;
}

/* Serves the complete lines of the input buffer until input must pause. Returns true when lines are left. */
static bool serve_lines(struct stdio *stdio)
{
    size_t begin = 0;
    bool left = false;
    while (stdio->in.size > begin) {
        left = must_pause_input(stdio);
        if (left)
            break;
        size_t from = begin > stdio->scanned ? begin : stdio->scanned;
        const char *end = memchr(stdio->in.data + from, '\n', stdio->in.size - from);
        if (end == NULL) {
            stdio->scanned = stdio->in.size;
            break;
        }
        size_t next = (size_t)(end - stdio->in.data) + 1;
        if (!stdio->skipping)
            serve_line(stdio, stdio->in.data + begin, next - begin - 1);
        stdio->skipping = false;
        begin = next;
        stdio->scanned = next;
    }
    buf_drop_front(&stdio->in, begin);
    stdio->scanned -= begin;
    if (stdio->in.size == 0 && stdio->in.capacity > KEEP_BYTES)
        buf_done(&stdio->in);
    return left;
}

/* The end of input also ends the last line. */
static void serve_rest(struct stdio *stdio)
{
    if (serve_lines(stdio) || stdio->in.size == 0)
        return;
    if (!stdio->skipping)
        serve_line(stdio, stdio->in.data, stdio->in.size);
    stdio->scanned = 0;
    buf_clear(&stdio->in);
}

/* A line longer than the largest message is refused once, and its bytes are dropped. */
static void drop_long_line(struct stdio *stdio)
{
    if (stdio->in.size <= stdio->server->config.message_max_bytes || memchr(stdio->in.data, '\n', stdio->in.size) != NULL)
        return;
    if (!stdio->skipping)
        refuse_line(stdio, NULL, RPC_INVALID_REQUEST, "The message is larger than this server accepts.");
    stdio->skipping = true;
    stdio->scanned = 0;
    buf_clear(&stdio->in);
}

static void read_input(struct stdio *stdio)
{
    char *space = buf_room(&stdio->in, READ_BYTES);
    if (space == NULL) {
        stdio->at_end = true;
        return;
    }
    ssize_t size = read(stdio->in_fd, space, READ_BYTES);
    if (size > 0)
        buf_grown(&stdio->in, (size_t)size);
    else if (size == 0 || (errno != EINTR && errno != EAGAIN))
        stdio->at_end = true;
}

/* ---- The event loop ---- */

/* Waits for input, a writable output, or a finished call. */
static bool wait_for_events(struct stdio *stdio, bool want_input, bool want_output, int timeout_ms)
{
    struct pollfd fds[] = {
        { .fd = want_input ? stdio->in_fd : -1, .events = POLLIN },
        { .fd = want_output ? stdio->out_fd : -1, .events = POLLOUT },
        { .fd = stdio->wake_fd, .events = POLLIN },
    };
    if (poll(fds, ARRAY_COUNT(fds), timeout_ms) < 0)
        return false;
    if (fds[2].revents != 0) {
        uint64_t count;
        ssize_t ignored = read(stdio->wake_fd, &count, sizeof(count));
        (void)ignored;
    }
    return fds[0].revents != 0;
}

/* True when more input is available. Then its answers can be written together with the unsent ones. */
static bool is_input_waiting(const struct stdio *stdio)
{
    struct pollfd input = { .fd = stdio->in_fd, .events = POLLIN };
    return poll(&input, 1, 0) > 0 && (input.revents & POLLIN) != 0;
}

static void serve_until_end(struct stdio *stdio)
{
    while (!stdio->at_end) {
        bool lines_left = serve_lines(stdio);
        pthread_mutex_lock(&stdio->lock);
        bool gathers = !lines_left && unsent_bytes(stdio) < GATHER_BYTES && is_input_waiting(stdio);
        if (!gathers)
            flush_output(stdio);
        bool broken = stdio->broken;
        bool pending = unsent_bytes(stdio) > 0;
        bool alone = stdio->deferred == 0 && !pending && stdio->reads_block;
        pthread_mutex_unlock(&stdio->lock);
        if (broken)
            return;
        bool full = must_pause_input(stdio);
        if (lines_left && !full)
            continue;
        /* Without running calls and unsent output, the loop only waits for input. */
        if (gathers || (alone && !full) || wait_for_events(stdio, !full, pending, -1)) {
            read_input(stdio);
            drop_long_line(stdio);
        }
    }
}

/* Lets running calls finish and the client read, then stops the remaining calls. */
static void drain(struct stdio *stdio)
{
    int64_t end_us = clock_monotonic_us();
    int64_t drain_us = stdio->server->config.drain_us;
    bool stopped = false;
    for (;;) {
        serve_rest(stdio);
        pthread_mutex_lock(&stdio->lock);
        flush_output(stdio);
        bool pending = unsent_bytes(stdio) > 0;
        bool is_flushed = stdio->broken || (!pending && stdio->deferred == 0 && stdio->in.size == 0);
        pthread_mutex_unlock(&stdio->lock);
        int64_t spent_us = clock_monotonic_us() - end_us;
        if (is_flushed || spent_us >= drain_us + CANCEL_US)
            return;
        if (!stopped && spent_us >= drain_us) {
            mcp_peer_stop(&stdio->peer, false);
            stopped = true;
        }
        int64_t until_us = stopped ? drain_us + CANCEL_US : drain_us;
        wait_for_events(stdio, false, pending, (int)((until_us - spent_us) / US_PER_MS) + 1);
    }
}

static bool announces(const struct mcp_features *features)
{
    return features->tools_change || features->prompts_change || features->resources_change || features->resources_subscribe;
}

static struct stdio *stdio_new(struct mcp_server *server, const struct credentials *credentials, int in_fd, int out_fd)
{
    struct stdio *stdio = calloc(1, sizeof(*stdio));
    struct stat status;
    if (stdio == NULL)
        panic(PANIC_NO_MEMORY);
    int pipe_bytes = fcntl(out_fd, F_GETPIPE_SZ);
    *stdio = (struct stdio){
        .server = server,
        .credentials = *credentials,
        .in_fd = in_fd,
        .out_fd = out_fd,
        .out_is_socket = fstat(out_fd, &status) == 0 && S_ISSOCK(status.st_mode),
        .pipe_bytes = pipe_bytes > 0 ? (size_t)pipe_bytes : 0,
        .reads_block = (fcntl(in_fd, F_GETFL) & O_NONBLOCK) == 0 && !announces(&server->provider->features),
        .wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
        .references = 1,
    };
    if (stdio->wake_fd < 0)
        panic(PANIC_NO_DESCRIPTOR);
    mcp_peer_init(&stdio->peer, server);
    pthread_mutex_init(&stdio->lock, NULL);
    buf_init(&stdio->spare_out, MCP_ANSWER_MAX_BYTES);
    buf_init(&stdio->in, server->config.message_max_bytes + 2 * (size_t)READ_BYTES);
    buf_init(&stdio->out, (size_t)MCP_ANSWER_MAX_BYTES * 4);
    return stdio;
}

void mcp_stdio_serve(struct mcp_server *server, const struct credentials *credentials, int in_fd, int out_fd)
{
    struct stdio *stdio = stdio_new(server, credentials, in_fd, out_fd);
    serve_until_end(stdio);
    /* Asks and lasting requests would otherwise last as long as the connection. */
    mcp_peer_expire_asks(&stdio->peer, INT64_MAX);
    mcp_peer_stop(&stdio->peer, true);
    drain(stdio);
    mcp_listener_close(stdio->listener);
    mcp_peer_stop(&stdio->peer, false);
    stdio_release(stdio);
}

bool mcp_stdio_claim(int *ret_out_fd, struct error *err)
{
    int out_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (out_fd < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return fail(err, ERR_INTERNAL_ERROR, NULL, "The standard output cannot be reserved for the protocol.");
    signal(SIGPIPE, SIG_IGN);
    *ret_out_fd = out_fd;
    return true;
}
