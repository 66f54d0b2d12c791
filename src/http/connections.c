#include "http/connections.h"

#include "base/clock.h"
#include "http/exchange.h"

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
    STOP_MARK = -1, /* the place number of the event that ends the watch thread */
};

struct connection {
    struct connections *all;
    atomic_int phase;
    atomic_uint since_s;
    atomic_bool gone; /* the peer sends no more */
    struct http_exchange *spare;
    struct connection *next_free;

    /* Under the lock. */
    pthread_mutex_t lock;
    int fd; /* -1: free */
    uint32_t generation;
    struct http_exchange *watched;
};

struct connections {
    struct connections_config config;
    struct connection *places;
    atomic_uint open_count;
    atomic_uint now_s; /* of the monotonic clock, as of the last tick */
    pthread_mutex_t lock;
    struct connection *free_places; /* under the lock */
    int epoll_fd;
    int stop_fd;
    pthread_t thread;
};

static unsigned monotonic_s(void)
{
    return (unsigned)(clock_monotonic_us() / US_PER_S);
}

/* ---- The watch thread ---- */

/* The place number and its generation, so that an event that was waiting while the place changed hands is recognised. */
static uint64_t event_mark(const struct connection *connection)
{
    return (uint64_t)connection->generation << 32 | (uint64_t)(connection - connection->all->places);
}

static void see_gone(struct connections *all, uint64_t mark)
{
    struct connection *connection = &all->places[mark & UINT32_MAX];
    pthread_mutex_lock(&connection->lock);
    struct http_exchange *watched = NULL;
    if (connection->fd >= 0 && connection->generation == mark >> 32) {
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

static bool is_late(const struct connection *connection, enum phase phase)
{
    const struct connections_config *config = &connection->all->config;
    unsigned waited_s = atomic_load_explicit(&connection->all->now_s, memory_order_relaxed) -
                        atomic_load_explicit(&connection->since_s, memory_order_relaxed);
    /* libmicrohttpd misses an end that arrives together with the last bytes, and would wait for the rest of a request
     * until its idle time-out. */
    bool ended = atomic_load_explicit(&connection->gone, memory_order_relaxed);
    switch (phase) {
    case PHASE_HEADERS:
        return ended || waited_s > config->idle_timeout_s + config->request_timeout_s;
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
    if (!is_late(connection, phase))
        return;

    struct http_exchange *watched = NULL;
    pthread_mutex_lock(&connection->lock);
    if (phase == PHASE_WORK) {
        watched = connection->watched;
        if (watched != NULL)
            http_exchange_ref(watched);
    } else if (connection->fd >= 0) {
        shutdown(connection->fd, SHUT_RDWR); /* libmicrohttpd sees the end and closes it */
    }
    pthread_mutex_unlock(&connection->lock);

    if (watched != NULL)
        http_exchange_give_up(watched, GIVE_UP_TIMEOUT);
    http_exchange_unref(watched);
}

static void tick(struct connections *all)
{
    atomic_store_explicit(&all->now_s, monotonic_s(), memory_order_relaxed);
    for (unsigned i = 0; i < all->config.max_connections; i++)
        check_connection(&all->places[i]);
    all->config.tick(all->config.context);
}

static void *watch(void *context)
{
    struct connections *all = context;
    struct epoll_event events[WATCH_EVENTS];
    int64_t next_tick_us = clock_monotonic_us() + TICK_MS * US_PER_MS;
    for (;;) {
        int64_t left_us = next_tick_us - clock_monotonic_us();
        int timeout_ms = left_us > 0 ? (int)((left_us + US_PER_MS - 1) / US_PER_MS) : 0;
        int count = epoll_wait(all->epoll_fd, events, WATCH_EVENTS, timeout_ms);
        for (int i = 0; i < count; i++) {
            if (events[i].data.u64 == (uint64_t)STOP_MARK)
                return NULL;
            see_gone(all, events[i].data.u64);
        }
        if (clock_monotonic_us() >= next_tick_us) {
            tick(all);
            next_tick_us = clock_monotonic_us() + TICK_MS * US_PER_MS;
        }
    }
}

/* ---- Making and ending ---- */

static void connections_release(struct connections *all)
{
    for (unsigned i = 0; i < all->config.max_connections; i++)
        pthread_mutex_destroy(&all->places[i].lock);
    if (all->epoll_fd >= 0)
        close(all->epoll_fd);
    if (all->stop_fd >= 0)
        close(all->stop_fd);
    pthread_mutex_destroy(&all->lock);
    free(all->places);
    free(all);
}

bool connections_new(const struct connections_config *config, struct connections **ret_connections, struct error *err)
{
    struct connections *all = calloc(1, sizeof(*all));
    struct connection *places = calloc(config->max_connections, sizeof(*places));
    if (all == NULL || places == NULL)
        abort();
    all->config = *config;
    all->places = places;
    pthread_mutex_init(&all->lock, NULL);
    for (unsigned i = config->max_connections; i-- > 0;) {
        places[i] = (struct connection){ .all = all, .fd = -1, .next_free = all->free_places };
        pthread_mutex_init(&places[i].lock, NULL);
        all->free_places = &places[i];
    }
    all->now_s = monotonic_s();
    all->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    all->stop_fd = eventfd(0, EFD_CLOEXEC);

    struct epoll_event stop = { .events = EPOLLIN, .data.u64 = (uint64_t)STOP_MARK };
    if (all->epoll_fd < 0 || all->stop_fd < 0 || epoll_ctl(all->epoll_fd, EPOLL_CTL_ADD, all->stop_fd, &stop) != 0 ||
        pthread_create(&all->thread, NULL, watch, all) != 0) {
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

struct connection *connection_open(struct connections *connections, int fd)
{
    pthread_mutex_lock(&connections->lock);
    struct connection *connection = connections->free_places;
    if (connection != NULL)
        connections->free_places = connection->next_free;
    pthread_mutex_unlock(&connections->lock);
    if (connection == NULL)
        return NULL;

    pthread_mutex_lock(&connection->lock);
    connection->fd = fd;
    connection->generation++;
    atomic_store(&connection->gone, false);
    connection->watched = NULL;
    struct epoll_event event = { .events = EPOLLRDHUP | EPOLLET, .data.u64 = event_mark(connection) };
    /* Without a place in the set its disconnect goes unseen; the time-outs still hold. */
    (void)epoll_ctl(connections->epoll_fd, EPOLL_CTL_ADD, fd, &event);
    pthread_mutex_unlock(&connection->lock);

    connection_set_phase(connection, PHASE_HEADERS);
    atomic_fetch_add_explicit(&connections->open_count, 1, memory_order_relaxed);
    return connection;
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

    pthread_mutex_lock(&all->lock);
    connection->next_free = all->free_places;
    all->free_places = connection;
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
        struct connection *connection = &connections->places[i];
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
