#include "http/exchange.h"

#include "api/call.h"
#include "base/panic.h"

#include "http/server_state.h"

#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    BODY_KEPT_BYTES = 4 * 1024,          /* body storage up to this size is kept for the next request */
    CLAIM_BYTES = 16 * 1024,             /* claimed at a time for a body in chunks */
    STREAM_MAX_BYTES = 16 * 1024 * 1024, /* unsent bytes: two results of the largest size */
    STREAM_QUICK_BYTES = 1024 * 1024,    /* unsent bytes that need no room; a result may follow them */
    STREAM_KEPT_BYTES = 64 * 1024,       /* storage of a stream that is kept when all was sent */
};

struct http_exchange *http_exchange_new(struct http_server *server)
{
    struct http_exchange *exchange = calloc(1, sizeof(*exchange));
    if (exchange == NULL)
        panic(PANIC_NO_MEMORY);
    exchange->server = server;
    exchange->body_memory = body_memory_ref(server->body_memory);
    exchange->answer_memory = answer_memory_ref(server->answer_memory);
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

void http_exchange_ref(struct http_exchange *exchange)
{
    atomic_fetch_add_explicit(&exchange->refs, 1, memory_order_relaxed);
}

/* Closes a file that no response has taken over. */
static void close_answer_file(struct http_exchange *exchange)
{
    if (exchange->answer_fd >= 0)
        close(exchange->answer_fd);
    exchange->answer_fd = -1;
}

void http_exchange_unref(struct http_exchange *exchange)
{
    if (exchange == NULL || atomic_fetch_sub_explicit(&exchange->refs, 1, memory_order_acq_rel) != 1)
        return;
    /* The thread that ended the suspension may not have unlocked yet. */
    pthread_mutex_lock(&exchange->lock);
    pthread_mutex_unlock(&exchange->lock);
    close_answer_file(exchange);
    arena_free(exchange->arena);
    arena_free(exchange->call_arena);
    buf_done(&exchange->body);
    body_memory_release(exchange->body_memory, &exchange->body_share);
    body_memory_unref(exchange->body_memory);
    buf_done(&exchange->stream);
    answer_memory_release(exchange->answer_memory, &exchange->answer_share);
    answer_memory_unref(exchange->answer_memory);
    pthread_mutex_destroy(&exchange->lock);
    free(exchange);
}

bool http_exchange_is_unshared(const struct http_exchange *exchange)
{
    return atomic_load_explicit(&exchange->refs, memory_order_acquire) == 1;
}

void http_exchange_reset(struct http_exchange *exchange)
{
    arena_reset(exchange->arena);
    arena_free(TAKE_PTR(exchange->call_arena));
    close_answer_file(exchange);
    if (exchange->body.capacity > BODY_KEPT_BYTES)
        buf_done(&exchange->body);
    else
        buf_clear(&exchange->body);
    buf_done(&exchange->stream);
    body_memory_release(exchange->body_memory, &exchange->body_share);
    answer_memory_release(exchange->answer_memory, &exchange->answer_share);

    exchange->endpoint = NULL;
    exchange->endpoint_state = NULL;
    exchange->query = NULL;
    exchange->max_body_bytes = 0;
    exchange->body_seen_bytes = 0;
    exchange->begun = false;
    exchange->body_complete = false;
    exchange->too_large = false;
    exchange->drops_body = false;
    if (exchange->body_refusal.code != ERR_NONE)
        error_clear(&exchange->body_refusal);
    exchange->state = HTTP_EXCHANGE_READING;
    exchange->was_suspended = false;
    exchange->answer = NULL;
    exchange->answer_size = 0;
    exchange->answer_header_count = 0;
    exchange->closes = false;
    exchange->stream_sent = 0;
    exchange->stream_held_bytes = 0;
    exchange->stream_ended = false;
    exchange->stream_parked = false;
}

/* ---- For endpoints ---- */

void http_exchange_suspend(struct http_exchange *exchange)
{
    pthread_mutex_lock(&exchange->lock);
    exchange->state = HTTP_EXCHANGE_SUSPENDED;
    pthread_mutex_unlock(&exchange->lock);
    exchange->was_suspended = true;
    MHD_suspend_connection(exchange->mhd);
}

uint64_t http_exchange_declared_bytes(const struct http_exchange *exchange)
{
    const char *length = exchange->headers.values[HEADER_CONTENT_LENGTH];
    return length != NULL ? strtoull(length, NULL, 10) : 0;
}

bool http_exchange_is_chunked(const struct http_exchange *exchange)
{
    return exchange->headers.values[HEADER_TRANSFER_ENCODING] != NULL;
}

const struct sockaddr *http_exchange_peer(const struct http_exchange *exchange)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(exchange->mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return info != NULL ? info->client_addr : NULL;
}

void http_exchange_add_header(struct http_exchange *exchange, const char *name, const char *value)
{
    if (exchange->answer_header_count == HTTP_EXCHANGE_MAX_HEADERS)
        panic("an endpoint adds too many headers");
    exchange->answer_headers[exchange->answer_header_count++] = (struct http_exchange_header){ name, value };
}

/* Under the lock. */
static bool can_answer(const struct http_exchange *exchange)
{
    return exchange->state == HTTP_EXCHANGE_READING || exchange->state == HTTP_EXCHANGE_SUSPENDED;
}

/* Under the lock, which the connection's thread takes before it frees anything. */
static void exchange_set_state(struct http_exchange *exchange, enum http_exchange_state next)
{
    bool resume = exchange->state == HTTP_EXCHANGE_SUSPENDED;
    exchange->state = next;
    if (resume)
        MHD_resume_connection(exchange->mhd);
}

static void claim_or_drop(struct http_exchange *exchange, size_t bytes)
{
    if (!body_memory_claim(exchange->body_memory, &exchange->body_share, bytes, &exchange->body_refusal))
        exchange->drops_body = true;
}

bool http_exchange_claim_tree(void *context, size_t tree_bytes, struct error *err)
{
    struct http_exchange *exchange = context;
    return tree_bytes <= HTTP_EXCHANGE_QUICK_TREE_BYTES ||
           body_memory_claim(exchange->body_memory, &exchange->body_share, tree_bytes, err);
}

void http_exchange_claim_body(struct http_exchange *exchange)
{
    size_t bytes = (size_t)http_exchange_declared_bytes(exchange);
    if (bytes > 0 && bytes <= exchange->max_body_bytes)
        claim_or_drop(exchange, bytes);
}

bool http_exchange_has_room(struct http_exchange *exchange, int64_t organization_id, struct error *err)
{
    if (exchange->answer_share.bytes == 0)
        exchange->answer_share.organization_id = organization_id;
    return answer_memory_has_room(exchange->answer_memory, &exchange->answer_share, err);
}

void http_exchange_hold(struct http_exchange *exchange, size_t bytes)
{
    if (bytes < HTTP_EXCHANGE_QUICK_ANSWER_BYTES)
        return;
    pthread_mutex_lock(&exchange->lock);
    answer_memory_hold(exchange->answer_memory, &exchange->answer_share, bytes);
    pthread_mutex_unlock(&exchange->lock);
}

void http_exchange_abandon(struct http_exchange *exchange)
{
    http_exchange_ref(exchange);
    exchange->call_arena = exchange->arena;
    exchange->arena = arena_new(0);
}

void http_exchange_continue(struct http_exchange *exchange)
{
    pthread_mutex_lock(&exchange->lock);
    if (exchange->state == HTTP_EXCHANGE_SUSPENDED)
        exchange_set_state(exchange, HTTP_EXCHANGE_READING);
    pthread_mutex_unlock(&exchange->lock);
}

bool http_exchange_answer(struct http_exchange *exchange, int status, const char *content_type, const char *bytes, size_t size)
{
    pthread_mutex_lock(&exchange->lock);
    bool open = can_answer(exchange);
    if (open) {
        http_exchange_hold(exchange, arena_used_bytes(exchange->arena));
        exchange->status = status;
        exchange->answer = bytes;
        exchange->answer_size = size;
        if (content_type != NULL)
            http_exchange_add_header(exchange, "content-type", content_type);
        exchange_set_state(exchange, HTTP_EXCHANGE_ANSWERED);
    }
    pthread_mutex_unlock(&exchange->lock);
    return open;
}

bool http_exchange_answer_file(struct http_exchange *exchange, const char *content_type, int fd, uint64_t size)
{
    exchange->answer_fd = fd;
    return http_exchange_answer(exchange, MHD_HTTP_OK, content_type, NULL, size);
}

bool http_exchange_stream(struct http_exchange *exchange)
{
    pthread_mutex_lock(&exchange->lock);
    bool open = can_answer(exchange);
    if (open) {
        exchange->status = MHD_HTTP_OK;
        http_exchange_add_header(exchange, "content-type", "text/event-stream");
        http_exchange_add_header(exchange, "cache-control", "no-cache, no-transform");
        http_exchange_add_header(exchange, "x-accel-buffering", "no");
        exchange_set_state(exchange, HTTP_EXCHANGE_STREAMING);
    }
    pthread_mutex_unlock(&exchange->lock);
    return open;
}

/* Wakes the reader. Under the lock, which keeps it from parking again meanwhile. */
static void stream_wake(struct http_exchange *exchange)
{
    if (!exchange->stream_parked)
        return;
    exchange->stream_parked = false;
    MHD_resume_connection(exchange->mhd);
    atomic_fetch_sub_explicit(&exchange->server->parked, 1, memory_order_release);
}

/* Counts the storage of the stream as it is now. Under the lock. */
static void stream_count(struct http_exchange *exchange)
{
    size_t bytes = exchange->stream.capacity > STREAM_KEPT_BYTES ? exchange->stream.capacity : 0;
    answer_memory_let_go(exchange->answer_memory, &exchange->answer_share, exchange->stream_held_bytes);
    answer_memory_hold(exchange->answer_memory, &exchange->answer_share, bytes);
    exchange->stream_held_bytes = bytes;
}

/* A client that does not read gets no more once its organization holds too much. Under the lock. */
static bool stream_has_room(const struct http_exchange *exchange)
{
    struct error ignored = { .code = ERR_NONE };
    return exchange->stream.size <= STREAM_QUICK_BYTES ||
           answer_memory_has_room(exchange->answer_memory, &exchange->answer_share, &ignored);
}

bool http_exchange_stream_add(struct http_exchange *exchange, const char *bytes, size_t size)
{
    pthread_mutex_lock(&exchange->lock);
    bool open = exchange->state == HTTP_EXCHANGE_STREAMING && !exchange->stream_ended;
    if (open) {
        buf_drop_front(&exchange->stream, exchange->stream_sent);
        exchange->stream_sent = 0;
        if (stream_has_room(exchange))
            buf_add(&exchange->stream, bytes, size);
        else
            exchange->stream.overflowed = true;
        stream_count(exchange);
        if (exchange->stream.overflowed) {
            open = false;
            exchange->stream_ended = true;
        }
        stream_wake(exchange);
    }
    pthread_mutex_unlock(&exchange->lock);
    return open;
}

void http_exchange_stream_end(struct http_exchange *exchange)
{
    pthread_mutex_lock(&exchange->lock);
    exchange->stream_ended = true;
    stream_wake(exchange);
    pthread_mutex_unlock(&exchange->lock);
}

/* ---- For the server and the watch thread ---- */

void http_exchange_add_body(struct http_exchange *exchange, const char *bytes, size_t size)
{
    exchange->body_seen_bytes += size;
    if (exchange->body_seen_bytes > exchange->max_body_bytes)
        exchange->too_large = exchange->drops_body = true;
    size_t needed = exchange->body.size + size;
    size_t claimed = exchange->body_share.bytes;
    if (!exchange->drops_body && needed > claimed) /* chunks have no declared length */
        claim_or_drop(exchange, needed - claimed > CLAIM_BYTES ? needed - claimed : (size_t)CLAIM_BYTES);
    if (exchange->drops_body) {
        buf_done(&exchange->body);
        return;
    }
    if (exchange->body.size == 0)
        buf_room(&exchange->body, claimed); /* one allocation for a body of declared length */
    buf_add(&exchange->body, bytes, size);
}

/* Waits for more. All was sent, so that a large buffer is freed. Under the lock. */
static void stream_park(struct http_exchange *exchange)
{
    if (exchange->stream.capacity > STREAM_KEPT_BYTES)
        buf_done(&exchange->stream);
    exchange->stream_sent = exchange->stream.size;
    stream_count(exchange);
    exchange->stream_parked = true;
    atomic_fetch_add_explicit(&exchange->server->parked, 1, memory_order_relaxed);
    MHD_suspend_connection(exchange->mhd);
}

ptrdiff_t http_exchange_stream_read(struct http_exchange *exchange, char *ret_bytes, size_t max_bytes)
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
        stream_park(exchange);
    }
    pthread_mutex_unlock(&exchange->lock);
    return read;
}

void http_exchange_cancel(struct api *api, struct call *call, enum give_up_reason reason)
{
    if (reason == GIVE_UP_CLIENT_GONE)
        api_cancel(api, call);
    else
        api_stop(api, call);
}

void http_exchange_give_up(struct http_exchange *exchange, enum give_up_reason reason)
{
    if (exchange->endpoint != NULL && exchange->endpoint->give_up != NULL)
        exchange->endpoint->give_up(exchange, reason);
}
