#include "http/connections.h"

#include "base/clock.h"
#include "base/panic.h"
#include "http/exchange.h"
#include "http/peer_counts.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    TICK_MS = 1000,
    WATCH_EVENTS = 64,
    SENDING_IDLE_TIMES = 10,
    STOP_EVENT = -1, /* the id of the event that ends the watch thread */
};

struct connection {
    struct connections *all;
    atomic_int phase;
    atomic_uint since_s;
    atomic_bool gone; /* the peer has closed its sending side */
    struct http_exchange *spare;
    struct connection *next_free;
    bool is_counted; /* for `peer`; the serving thread only */
    struct gate_address peer;

    /* Under the lock. */
    pthread_mutex_t lock;
    int fd; /* -1: free */
    uint32_t generation;
    struct http_exchange *watched;
};

struct connections {
    struct connections_config config;
    struct connection *slots;
    atomic_uint open_count;
    atomic_uint now_s; /* monotonic time at the last tick */
    pthread_mutex_t lock;
    struct connection *free_slots; /* under the lock, like the next member */
    struct peer_counts *peers;
    int epoll_fd;
    int stop_fd;
    pthread_t thread;
};

static unsigned monotonic_s(void)
{
    return (unsigned)(clock_monotonic_us() / US_PER_S);
}

/* ---- The watch thread ---- */

/* The slot number and its generation. A stale event of a reused slot has an older generation and is ignored. */
static uint64_t make_event_id(const struct connection *connection)
{
    return (uint64_t)connection->generation << 32 | (uint64_t)(connection - connection->all->slots);
}

static void on_peer_closed(struct connections *all, uint64_t event_id)
{
    struct connection *connection = &all->slots[event_id & UINT32_MAX];
    pthread_mutex_lock(&connection->lock);
    struct http_exchange *watched = NULL;
    if (connection->fd >= 0 && connection->generation == event_id >> 32) {
        atomic_store(&connection->gone, true);
        watched = connection->watched;
        if (watched != NULL)
            http_exchange_ref(watched);
    }
    pthread_mutex_unlock(&connection->lock);

    if (watched != NULL)
        http_exchange_give_up(watched, GIVE_UP_CLIENT_GONE);
    http_exchange_unref(watched);
}

static bool is_timed_out(const struct connection *connection, enum phase phase)
{
    const struct connections_config *config = &connection->all->config;
    unsigned waited_s = atomic_load_explicit(&connection->all->now_s, memory_order_relaxed) -
                        atomic_load_explicit(&connection->since_s, memory_order_relaxed);
    /* libmicrohttpd misses a close that arrives together with the last bytes. It would wait for the rest of a request until its
     * idle time-out. */
    bool ended = atomic_load_explicit(&connection->gone, memory_order_relaxed);
    switch (phase) {
    case PHASE_HEADERS:
        return ended || waited_s > config->header_timeout_s;
    case PHASE_IDLE: /* libmicrohttpd counts it anew with each byte of a request line that never ends */
        return ended || waited_s > config->idle_timeout_s + config->header_timeout_s;
    case PHASE_BODY:
        return ended || waited_s > config->request_timeout_s;
    case PHASE_WORK:
        return waited_s > config->call_timeout_s;
    case PHASE_SENDING:
        return waited_s > config->idle_timeout_s * SENDING_IDLE_TIMES;
    case PHASE_CLOSED:
    case PHASE_STREAM:
        return false;
    }
    return false;
}

static void check_connection(struct connection *connection)
{
    enum phase phase = (enum phase)atomic_load_explicit(&connection->phase, memory_order_acquire);
    if (!is_timed_out(connection, phase))
        return;

    struct http_exchange *watched = NULL;
    pthread_mutex_lock(&connection->lock);
    if (phase == PHASE_WORK) {
        watched = connection->watched;
        if (watched != NULL)
            http_exchange_ref(watched);
    } else if (connection->fd >= 0) {
        shutdown(connection->fd, SHUT_RDWR); /* libmicrohttpd sees the shutdown and closes the socket */
    }
    pthread_mutex_unlock(&connection->lock);

    if (watched != NULL)
        http_exchange_give_up(watched, GIVE_UP_TIMEOUT);
    http_exchange_unref(watched);
}

static void watch_tick(struct connections *all)
{
    atomic_store_explicit(&all->now_s, monotonic_s(), memory_order_relaxed);
    for (unsigned i = 0; i < all->config.max_connections; i++)
        check_connection(&all->slots[i]);
    all->config.tick(all->config.context);
}

static void *watch_thread(void *context)
{
    struct connections *all = context;
    struct epoll_event events[WATCH_EVENTS];
    int64_t next_tick_us = clock_monotonic_us() + TICK_MS * US_PER_MS;
    for (;;) {
        int64_t left_us = next_tick_us - clock_monotonic_us();
        int timeout_ms = left_us > 0 ? (int)((left_us + US_PER_MS - 1) / US_PER_MS) : 0;
        int count = epoll_wait(all->epoll_fd, events, WATCH_EVENTS, timeout_ms);
        for (int i = 0; i < count; i++) {
            if (events[i].data.u64 == (uint64_t)STOP_EVENT)
                return NULL;
            on_peer_closed(all, events[i].data.u64);
        }
        if (clock_monotonic_us() >= next_tick_us) {
            watch_tick(all);
            next_tick_us = clock_monotonic_us() + TICK_MS * US_PER_MS;
        }
    }
}

/* ---- Creating and freeing ---- */

static void connections_release(struct connections *all)
{
    for (unsigned i = 0; i < all->config.max_connections; i++)
        pthread_mutex_destroy(&all->slots[i].lock);
    if (all->epoll_fd >= 0)
        close(all->epoll_fd);
    if (all->stop_fd >= 0)
        close(all->stop_fd);
    pthread_mutex_destroy(&all->lock);
    peer_counts_free(all->peers);
    free(all->slots);
    free(all);
}

bool connections_new(const struct connections_config *config, struct connections **ret_connections, struct error *err)
{
    struct connections *all = calloc(1, sizeof(*all));
    struct connection *slots = calloc(config->max_connections, sizeof(*slots));
    if (all == NULL || slots == NULL)
        panic(PANIC_NO_MEMORY);
    all->config = *config;
    all->slots = slots;
    all->peers = peer_counts_new(config->max_connections, config->max_per_peer);
    pthread_mutex_init(&all->lock, NULL);
    for (unsigned i = config->max_connections; i-- > 0;) {
        slots[i] = (struct connection){ .all = all, .fd = -1, .next_free = all->free_slots };
        pthread_mutex_init(&slots[i].lock, NULL);
        all->free_slots = &slots[i];
    }
    all->now_s = monotonic_s();
    all->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    all->stop_fd = eventfd(0, EFD_CLOEXEC);

    struct epoll_event stop = { .events = EPOLLIN, .data.u64 = (uint64_t)STOP_EVENT };
    if (all->epoll_fd < 0 || all->stop_fd < 0 || epoll_ctl(all->epoll_fd, EPOLL_CTL_ADD, all->stop_fd, &stop) != 0 ||
        pthread_create(&all->thread, NULL, watch_thread, all) != 0) {
        int reason = errno;
        connections_release(all);
        fail(err, ERR_INTERNAL_ERROR, NULL, "The server cannot watch its connections.");
        return error_because(err, "%s", strerror(reason));
    }
    *ret_connections = all;
    return true;
}

void connections_free(struct connections *connections)
{
    if (connections == NULL)
        return;
    const uint64_t one = 1;
    while (write(connections->stop_fd, &one, sizeof(one)) < 0 && errno == EINTR)
        continue;
    pthread_join(connections->thread, NULL);
    connections_release(connections);
}

/* ---- A connection ---- */

/* Takes a free slot and counts it for its peer; NULL when either is not possible. */
static struct connection *take_slot(struct connections *connections, const struct gate_address *peer)
{
    pthread_mutex_lock(&connections->lock);
    struct connection *connection = connections->free_slots;
    if (connection != NULL && (peer == NULL || peer_counts_add(connections->peers, peer)))
        connections->free_slots = connection->next_free;
    else
        connection = NULL;
    pthread_mutex_unlock(&connections->lock);
    return connection;
}

struct connection *connection_open(struct connections *connections, int fd, const struct gate_address *peer)
{
    struct connection *connection = take_slot(connections, peer);
    if (connection == NULL)
        return NULL;
    connection->is_counted = peer != NULL;
    if (peer != NULL)
        connection->peer = *peer;

    pthread_mutex_lock(&connection->lock);
    connection->fd = fd;
    connection->generation++;
    atomic_store(&connection->gone, false);
    connection->watched = NULL;
    struct epoll_event event = { .events = EPOLLRDHUP | EPOLLET, .data.u64 = make_event_id(connection) };
    /* When epoll_ctl fails, the disconnect is not detected; the time-outs still apply. */
    (void)epoll_ctl(connections->epoll_fd, EPOLL_CTL_ADD, fd, &event);
    pthread_mutex_unlock(&connection->lock);

    connection_set_phase(connection, PHASE_HEADERS);
    atomic_fetch_add_explicit(&connections->open_count, 1, memory_order_relaxed);
    return connection;
}

void connection_uncount(struct connection *connection)
{
    if (!connection->is_counted)
        return;
    connection->is_counted = false;
    pthread_mutex_lock(&connection->all->lock);
    peer_counts_remove(connection->all->peers, &connection->peer);
    pthread_mutex_unlock(&connection->all->lock);
}

void connection_close(struct connection *connection)
{
    struct connections *all = connection->all;
    atomic_store_explicit(&connection->phase, PHASE_CLOSED, memory_order_release);
    pthread_mutex_lock(&connection->lock);
    (void)epoll_ctl(all->epoll_fd, EPOLL_CTL_DEL, connection->fd, NULL);
    connection->fd = -1;
    connection->watched = NULL;
    pthread_mutex_unlock(&connection->lock);
    http_exchange_unref(TAKE_PTR(connection->spare));
    connection_uncount(connection);

    pthread_mutex_lock(&all->lock);
    connection->next_free = all->free_slots;
    all->free_slots = connection;
    pthread_mutex_unlock(&all->lock);
    atomic_fetch_sub_explicit(&all->open_count, 1, memory_order_relaxed);
}

void connection_set_phase(struct connection *connection, enum phase phase)
{
    unsigned now_s = atomic_load_explicit(&connection->all->now_s, memory_order_relaxed);
    atomic_store_explicit(&connection->since_s, now_s, memory_order_relaxed);
    atomic_store_explicit(&connection->phase, phase, memory_order_release);
}

bool connection_watch(struct connection *connection, struct http_exchange *exchange)
{
    pthread_mutex_lock(&connection->lock);
    connection->watched = exchange;
    bool gone = atomic_load(&connection->gone);
    pthread_mutex_unlock(&connection->lock);
    return !gone;
}

void connection_unwatch(struct connection *connection)
{
    pthread_mutex_lock(&connection->lock);
    connection->watched = NULL;
    pthread_mutex_unlock(&connection->lock);
}

struct http_exchange **connection_spare(struct connection *connection)
{
    return &connection->spare;
}

void connections_give_up(struct connections *connections, bool abandon)
{
    for (unsigned i = 0; i < connections->config.max_connections; i++) {
        struct connection *connection = &connections->slots[i];
        pthread_mutex_lock(&connection->lock);
        struct http_exchange *watched = connection->watched;
        if (watched != NULL)
            http_exchange_ref(watched);
        pthread_mutex_unlock(&connection->lock);
        if (watched != NULL)
            http_exchange_give_up(watched, abandon ? GIVE_UP_ABANDON : GIVE_UP_STOPPING);
        http_exchange_unref(watched);
    }
}

unsigned connections_open_count(const struct connections *connections)
{
    return atomic_load_explicit(&connections->open_count, memory_order_relaxed);
}
