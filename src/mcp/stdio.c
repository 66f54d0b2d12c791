/*
 * MCP over stdio: one JSON-RPC message a line, UTF-8, on descriptors that
 * carry nothing else. One thread reads, answers what memory can answer, and
 * writes; other threads add the answers of slow calls. Nobody ever blocks on
 * the output: a client that does not read is no longer listened to, until it
 * does. At the end of input what runs may finish, within a second.
 */
#include "base/clock.h"
#include "base/json_read.h"
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
    KEEP_BYTES = 256 * 1024,          /* an input buffer larger than this is given back when empty */
    GATHER_BYTES = 64 * 1024,         /* waiting output that is written although more input is there */
    OUTPUT_PAUSE_BYTES = 1024 * 1024, /* waiting output at which no more input is taken */
    MAX_DEFERRED = 256,               /* calls under way at which no more input is taken */
    /* A pipe that polls as writable takes this much without blocking (POSIX: PIPE_BUF). */
    PIPE_CHUNK_BYTES = 4096,
};

static const int64_t DRAIN_US = 600 * US_PER_MS; /* for calls under way at the end of input */
static const int64_t LEAVE_US = 850 * US_PER_MS; /* after it, whatever happens */

struct stdio {
    struct mcp_server *server;
    struct mcp_peer peer;
    struct credentials credentials;
    struct mcp_listener *listener;
    int in_fd;
    int out_fd;
    bool out_is_socket;
    size_t pipe_bytes; /* what the output holds when it is a pipe, else 0 */
    bool reads_block;  /* the reader may sleep in read: its descriptor blocks, and nobody announces anything */
    int wake_fd;
    struct buf in;
    size_t scanned; /* bytes of `in` known to hold no line end */
    bool skipping;  /* inside a line that was too long */
    bool at_end;
    struct arena *spare_arena; /* of a message that was answered at once, for the next one; the reader's */
    struct buf spare_out;

    pthread_mutex_t lock; /* guards what follows */
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
    /* An empty pipe takes all it can hold. One that is not may have less room than bytes: its pages are partly used. */
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

/* Writes what can be written at once. Under the lock. */
static void flush(struct stdio *stdio)
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
    bool through = stdio->broken || stdio->written == stdio->out.size;
    /* A client that reads without ever catching up must not make the buffer grow. */
    if (!through && stdio->written < OUTPUT_PAUSE_BYTES)
        return;
    buf_drop_front(&stdio->out, through ? stdio->out.size : stdio->written);
    stdio->written = 0;
    if (through && stdio->out.capacity > KEEP_BYTES)
        buf_done(&stdio->out);
}

static size_t waiting_bytes(const struct stdio *stdio)
{
    return stdio->out.size - stdio->written;
}

static void wake(const struct stdio *stdio)
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
    flush(stdio);
    stdio->deferred--;
    wake(stdio);
    pthread_mutex_unlock(&stdio->lock);
    stdio_release(stdio);
}

static void send_now(struct stdio *stdio, const char *message, size_t size)
{
    pthread_mutex_lock(&stdio->lock);
    add_line(stdio, message, size);
    flush(stdio);
    if (waiting_bytes(stdio) > 0)
        wake(stdio);
    pthread_mutex_unlock(&stdio->lock);
}

/* ---- Memory of a message ---- */

static struct arena *take_arena(struct stdio *stdio)
{
    struct arena *spare = TAKE_PTR(stdio->spare_arena);
    return spare != NULL ? spare : arena_new(0);
}

/* Keeps the memory of an answered message for the next one, unless it was an unusual one. */
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

static void request_send(struct mcp_request *request, const char *message, size_t size)
{
    send_now(request->writer_data, message, size);
}

static void request_complete(struct mcp_request *request)
{
    struct stdio *stdio = request->writer_data;
    size_t size = request->mute ? 0 : request->out.size;
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

static const struct mcp_response_writer stdio_writer = { .send = request_send, .complete = request_complete };

static void fill(void *data, struct mcp_request *request)
{
    struct stdio *stdio = data;
    request->transport = TRANSPORT_STDIO;
    request->peer = &stdio->peer;
    request->credentials = stdio->credentials;
    request->guard = &stdio->peer.lock;
}

static void deliver_change(void *data, const char *message, size_t size)
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

static void batch_fill(void *data, struct mcp_request *request)
{
    fill(((struct stdio_batch *)data)->stdio, request);
}

static void batch_send(void *data, const char *message, size_t size)
{
    send_now(((struct stdio_batch *)data)->stdio, message, size);
}

static void batch_done(void *data, struct buf *out)
{
    struct stdio_batch *batch = data;
    end_deferred(batch->stdio, out->data, out->size);
    arena_free(batch->arena);
}

static void serve_batch(struct stdio *stdio, struct arena *arena, const json_t *messages)
{
    static const struct mcp_batch_host host = { .fill = batch_fill, .send = batch_send, .done = batch_done };
    size_t count = json_array_size(messages);
    const char *version = stdio->peer.version;
    if (version == NULL || strcmp(version, MCP_BATCH_VERSION) != 0 || count == 0 || count > MCP_BATCH_MAX_MESSAGES) {
        refuse_line(stdio, NULL, RPC_INVALID_REQUEST, "Batches exist in " MCP_BATCH_VERSION " only, of 1 to 64 messages.");
        arena_free(arena);
        return;
    }
    struct stdio_batch *batch = arena_alloc(arena, sizeof(*batch));
    *batch = (struct stdio_batch){ .stdio = stdio, .arena = arena };
    batch->batch = mcp_batch_new(stdio->server, arena, messages, &host, batch);
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
    fill(stdio, request);
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
        static const struct mcp_wants all = { .tools = true, .prompts = true, .resources = true };
        stdio->listener = mcp_listener_open(stdio->server, &all, &stdio->peer, NULL, deliver_change, stdio);
    }
}

/* A message with U+0000 in a text is not served, but it is JSON, and whoever sent it waits under its id. */
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
    struct json_bounds bounds = { .max_bytes = stdio->server->config.message_max_bytes };
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

/* Whether the client must first take what waits for it. */
static bool is_full(struct stdio *stdio)
{
    pthread_mutex_lock(&stdio->lock);
    bool full = waiting_bytes(stdio) > OUTPUT_PAUSE_BYTES || stdio->deferred >= MAX_DEFERRED;
    pthread_mutex_unlock(&stdio->lock);
    return full;
}

/* Serves the whole lines of the input buffer, as far as the output has room. Returns whether lines were left. */
static bool serve_lines(struct stdio *stdio)
{
    size_t begin = 0;
    bool left = false;
    while (stdio->in.size > begin) {
        left = is_full(stdio);
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

/* The end of input ends the last line too. */
static void serve_rest(struct stdio *stdio)
{
    if (serve_lines(stdio) || stdio->in.size == 0)
        return;
    if (!stdio->skipping)
        serve_line(stdio, stdio->in.data, stdio->in.size);
    stdio->scanned = 0;
    buf_clear(&stdio->in);
}

/* A line longer than any message is refused once and then thrown away as it comes. */
static void bound_line(struct stdio *stdio)
{
    if (stdio->in.size <= stdio->server->config.message_max_bytes || memchr(stdio->in.data, '\n', stdio->in.size) != NULL)
        return;
    if (!stdio->skipping)
        refuse_line(stdio, NULL, RPC_INVALID_REQUEST, "The message is larger than this server takes.");
    stdio->skipping = true;
    stdio->scanned = 0;
    buf_clear(&stdio->in);
}

static void read_input(struct stdio *stdio)
{
    char *room = buf_room(&stdio->in, READ_BYTES);
    if (room == NULL) {
        stdio->at_end = true;
        return;
    }
    ssize_t size = read(stdio->in_fd, room, READ_BYTES);
    if (size > 0)
        buf_grown(&stdio->in, (size_t)size);
    else if (size == 0 || (errno != EINTR && errno != EAGAIN))
        stdio->at_end = true;
}

/* ---- The loop ---- */

/* Waits for input, room in the output, or a finished call. */
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

/* Whether more input is there already: then its answers can leave in the same write as those that wait. */
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
        bool gathers = !lines_left && waiting_bytes(stdio) < GATHER_BYTES && is_input_waiting(stdio);
        if (!gathers)
            flush(stdio);
        bool broken = stdio->broken;
        bool pending = waiting_bytes(stdio) > 0;
        bool alone = stdio->deferred == 0 && !pending && stdio->reads_block;
        pthread_mutex_unlock(&stdio->lock);
        if (broken)
            return;
        bool full = is_full(stdio);
        if (lines_left && !full)
            continue;
        /* With no call under way and nothing to write, input is all there is to wait for. */
        if (gathers || (alone && !full) || wait_for_events(stdio, !full, pending, -1)) {
            read_input(stdio);
            bound_line(stdio);
        }
    }
}

/* Lets calls finish and the client read, then stops what is left. */
static void drain(struct stdio *stdio)
{
    int64_t end_us = clock_monotonic_us();
    bool stopped = false;
    for (;;) {
        serve_rest(stdio);
        pthread_mutex_lock(&stdio->lock);
        flush(stdio);
        bool pending = waiting_bytes(stdio) > 0;
        bool through = stdio->broken || (!pending && stdio->deferred == 0 && stdio->in.size == 0);
        pthread_mutex_unlock(&stdio->lock);
        int64_t spent_us = clock_monotonic_us() - end_us;
        if (through || spent_us >= LEAVE_US)
            return;
        if (!stopped && spent_us >= DRAIN_US) {
            mcp_peer_stop(&stdio->peer, false);
            stopped = true;
        }
        int64_t until_us = stopped ? LEAVE_US : DRAIN_US;
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
        abort();
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
        abort();
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
    /* These would last as long as the connection. */
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
        return fail(err, ERR_INTERNAL_ERROR, NULL, "The standard output could not be claimed for the protocol.");
    signal(SIGPIPE, SIG_IGN);
    *ret_out_fd = out_fd;
    return true;
}
