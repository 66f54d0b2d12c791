#include "http/exchange.h"

#include "http/server_state.h"

#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    BODY_KEPT_BYTES = 64 * 1024,         /* storage worth keeping for the next request */
    STREAM_MAX_BYTES = 16 * 1024 * 1024, /* waiting to be sent: two results of the largest size */
};

struct exchange *exchange_new(struct http_server *server)
{
    struct exchange *exchange = calloc(1, sizeof(*exchange));
    if (exchange == NULL)
        abort();
    exchange->server = server;
    exchange->arena = arena_new(0);
    exchange->refs = 1;
    exchange->answer_fd = -1;
    buf_init(&exchange->body, SIZE_MAX);
    buf_init(&exchange->stream, STREAM_MAX_BYTES);

    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&exchange->lock, &recursive);
    pthread_mutexattr_destroy(&recursive);
    return exchange;
}

void exchange_ref(struct exchange *exchange)
{
    atomic_fetch_add_explicit(&exchange->refs, 1, memory_order_relaxed);
}

/* A file that no response has taken over. */
static void close_answer_file(struct exchange *exchange)
{
    if (exchange->answer_fd >= 0)
        close(exchange->answer_fd);
    exchange->answer_fd = -1;
}

void exchange_unref(struct exchange *exchange)
{
    if (exchange == NULL || atomic_fetch_sub_explicit(&exchange->refs, 1, memory_order_acq_rel) != 1)
        return;
    /* Who ended the suspension may still be about to unlock. */
    pthread_mutex_lock(&exchange->lock);
    pthread_mutex_unlock(&exchange->lock);
    close_answer_file(exchange);
    arena_free(exchange->arena);
    buf_done(&exchange->body);
    buf_done(&exchange->stream);
    pthread_mutex_destroy(&exchange->lock);
    free(exchange);
}

bool exchange_is_unshared(const struct exchange *exchange)
{
    return atomic_load_explicit(&exchange->refs, memory_order_acquire) == 1;
}

void exchange_reset(struct exchange *exchange)
{
    arena_reset(exchange->arena);
    close_answer_file(exchange);
    if (exchange->body.capacity > BODY_KEPT_BYTES)
        buf_done(&exchange->body);
    else
        buf_clear(&exchange->body);
    buf_done(&exchange->stream);

    exchange->door = NULL;
    exchange->door_state = NULL;
    exchange->query = NULL;
    exchange->max_body_bytes = 0;
    exchange->body_seen_bytes = 0;
    exchange->begun = false;
    exchange->body_complete = false;
    exchange->too_large = false;
    exchange->state = EXCHANGE_READING;
    exchange->was_suspended = false;
    exchange->answer = NULL;
    exchange->answer_size = 0;
    exchange->answer_header_count = 0;
    exchange->closes = false;
    exchange->stream_sent = 0;
    exchange->stream_ended = false;
    exchange->stream_parked = false;
}

/* ---- For doors ---- */

void exchange_suspend(struct exchange *exchange)
{
    pthread_mutex_lock(&exchange->lock);
    exchange->state = EXCHANGE_SUSPENDED;
    pthread_mutex_unlock(&exchange->lock);
    exchange->was_suspended = true;
    MHD_suspend_connection(exchange->mhd);
}

const struct sockaddr *exchange_peer(const struct exchange *exchange)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(exchange->mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return info != NULL ? info->client_addr : NULL;
}

void exchange_add_header(struct exchange *exchange, const char *name, const char *value)
{
    if (exchange->answer_header_count == EXCHANGE_MAX_HEADERS)
        abort(); /* a door's own header list is fixed, and shorter */
    exchange->answer_headers[exchange->answer_header_count++] = (struct exchange_header){ name, value };
}

/* Under the lock. */
static bool is_open(const struct exchange *exchange)
{
    return exchange->state == EXCHANGE_READING || exchange->state == EXCHANGE_SUSPENDED;
}

/* Under the lock, which the connection's thread takes before it frees anything. */
static void exchange_move_on(struct exchange *exchange, enum exchange_state next)
{
    bool resume = exchange->state == EXCHANGE_SUSPENDED;
    exchange->state = next;
    if (resume)
        MHD_resume_connection(exchange->mhd);
}

bool exchange_answer(struct exchange *exchange, int status, const char *content_type, const char *bytes, size_t size)
{
    pthread_mutex_lock(&exchange->lock);
    bool open = is_open(exchange);
    if (open) {
        exchange->status = status;
        exchange->answer = bytes;
        exchange->answer_size = size;
        if (content_type != NULL)
            exchange_add_header(exchange, "content-type", content_type);
        exchange_move_on(exchange, EXCHANGE_ANSWERED);
    }
    pthread_mutex_unlock(&exchange->lock);
    return open;
}

bool exchange_answer_file(struct exchange *exchange, const char *content_type, int fd, uint64_t size)
{
    exchange->answer_fd = fd;
    return exchange_answer(exchange, MHD_HTTP_OK, content_type, NULL, size);
}

bool exchange_stream(struct exchange *exchange)
{
    pthread_mutex_lock(&exchange->lock);
    bool open = is_open(exchange);
    if (open) {
        exchange->status = MHD_HTTP_OK;
        exchange_add_header(exchange, "content-type", "text/event-stream");
        exchange_add_header(exchange, "cache-control", "no-cache, no-transform");
        exchange_add_header(exchange, "x-accel-buffering", "no");
        exchange_move_on(exchange, EXCHANGE_STREAMING);
    }
    pthread_mutex_unlock(&exchange->lock);
    return open;
}

/* Wakes the reader. Under the lock, which keeps it from parking again meanwhile. */
static void stream_wake(struct exchange *exchange)
{
    if (!exchange->stream_parked)
        return;
    exchange->stream_parked = false;
    MHD_resume_connection(exchange->mhd);
    atomic_fetch_sub_explicit(&exchange->server->parked, 1, memory_order_release);
}

bool exchange_stream_add(struct exchange *exchange, const char *bytes, size_t size)
{
    pthread_mutex_lock(&exchange->lock);
    bool open = exchange->state == EXCHANGE_STREAMING && !exchange->stream_ended;
    if (open) {
        buf_drop_front(&exchange->stream, exchange->stream_sent);
        exchange->stream_sent = 0;
        buf_add(&exchange->stream, bytes, size);
        if (exchange->stream.overflowed) {
            open = false;
            exchange->stream_ended = true;
        }
        stream_wake(exchange);
    }
    pthread_mutex_unlock(&exchange->lock);
    return open;
}

void exchange_stream_end(struct exchange *exchange)
{
    pthread_mutex_lock(&exchange->lock);
    exchange->stream_ended = true;
    stream_wake(exchange);
    pthread_mutex_unlock(&exchange->lock);
}

/* ---- For the server and the watch thread ---- */

ptrdiff_t exchange_stream_read(struct exchange *exchange, char *ret_bytes, size_t max_bytes)
{
    ptrdiff_t read = 0;
    pthread_mutex_lock(&exchange->lock);
    size_t waiting = exchange->stream.size - exchange->stream_sent;
    if (waiting > 0) {
        size_t size = waiting < max_bytes ? waiting : max_bytes;
        memcpy(ret_bytes, exchange->stream.data + exchange->stream_sent, size);
        exchange->stream_sent += size;
        read = (ptrdiff_t)size;
    } else if (exchange->stream_ended) {
        read = -1;
    } else {
        exchange->stream_parked = true;
        atomic_fetch_add_explicit(&exchange->server->parked, 1, memory_order_relaxed);
        MHD_suspend_connection(exchange->mhd);
    }
    pthread_mutex_unlock(&exchange->lock);
    return read;
}

void exchange_give_up(struct exchange *exchange, enum give_up_reason reason)
{
    if (exchange->door != NULL && exchange->door->give_up != NULL)
        exchange->door->give_up(exchange, reason);
}
