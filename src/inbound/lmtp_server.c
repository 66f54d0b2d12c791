/*
 * The thread of the LMTP listener: accepts connections, moves bytes between the
 * sockets and the sessions, and closes what is idle. The completion of a call
 * wakes it through an eventfd.
 */
#include "inbound/lmtp_session.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/panic.h"
#include "base/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { INPUT_BYTES = 32 * 1024, BACKLOG = 64, SOCKET_MODE = 0666, TICK_MS = 1000, HOST_MAX_BYTES = 64 };

struct connection {
    int fd;
    bool is_lost; /* the peer is gone; its session ends with its calls */
    int64_t deadline_us;
    struct lmtp_session *session;
    size_t input_size; /* bytes that the session has not taken */
    char input[INPUT_BYTES];
};

struct lmtp_server {
    struct lmtp_host host;
    char *name;
    char *path; /* of a unix socket; NULL: TCP */
    unsigned port;
    int listener;
    int waker;
    atomic_bool is_stopping;
    pthread_t thread;
    struct connection *connections[LMTP_MAX_SESSIONS];
    size_t count;
};

static void wake_server(void *context)
{
    const struct lmtp_server *server = context;
    uint64_t one = 1;
    if (write(server->waker, &one, sizeof(one)) < 0)
        return; /* the counter is full: the thread is awake */
}

/* ---- Listening ---- */

static bool listen_failed(const char *address, int fd, struct error *err)
{
    int number = errno;
    if (fd >= 0)
        close(fd);
    return fail(err, ERR_SERVICE_UNAVAILABLE, "--lmtp", "--lmtp %.200s: %s.", address, strerror(number));
}

/* A socket that an earlier process left is replaced. The folder of the socket decides who may connect. */
static bool listen_on_path(const char *path, int *ret_fd, struct error *err)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct stat found;
    if (strlen(path) >= sizeof(address.sun_path))
        return fail(err, ERR_INVALID_REQUEST, "--lmtp", "--lmtp: the path of the socket is too long.");
    memcpy(address.sun_path, path, strlen(path));
    if (lstat(path, &found) == 0 && S_ISSOCK(found.st_mode))
        unlink(path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) != 0 || chmod(path, SOCKET_MODE) != 0 ||
        listen(fd, BACKLOG) != 0)
        return listen_failed(path, fd, err);
    *ret_fd = fd;
    return true;
}

/* Splits "127.0.0.1:24" or "[::1]:24". */
static bool split_address(const char *text, char ret_host[HOST_MAX_BYTES], const char **ret_port)
{
    const char *colon = strrchr(text, ':');
    bool has_brackets = *text == '[' && colon != NULL && colon > text && colon[-1] == ']';
    const char *host = text + has_brackets;
    int64_t port;
    if (colon == NULL || !int64_parse(colon + 1, &port) || port < 0 || port > UINT16_MAX)
        return false;
    size_t size = (size_t)(colon - host) - has_brackets;
    if (size == 0 || size >= HOST_MAX_BYTES)
        return false;
    memcpy(ret_host, host, size);
    ret_host[size] = '\0';
    *ret_port = colon + 1;
    return true;
}

static unsigned port_of(int fd)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof(address);
    if (getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        return 0;
    return ntohs(address.ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)&address)->sin6_port
                                               : ((const struct sockaddr_in *)&address)->sin_port);
}

static bool listen_on_port(const char *text, int *ret_fd, struct error *err)
{
    char host[HOST_MAX_BYTES];
    const char *port = NULL;
    struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE, .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    if (!split_address(text, host, &port) || getaddrinfo(host, port, &hints, &found) != 0)
        return fail(err, ERR_INVALID_REQUEST, "--lmtp",
                    "--lmtp takes an address and a port, such as 127.0.0.1:8424, or the path of a "
                    "socket, such as /run/posthorn/lmtp.");
    int one = 1;
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool listens = fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0 &&
                   bind(fd, found->ai_addr, found->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0;
    freeaddrinfo(found);
    if (!listens)
        return listen_failed(text, fd, err);
    *ret_fd = fd;
    return true;
}

/* ---- Connections ---- */

static void renew_deadline(struct connection *connection)
{
    connection->deadline_us = clock_monotonic_us() + LMTP_IDLE_S * US_PER_S;
}

static void accept_connection(struct lmtp_server *server)
{
    int fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    struct connection *connection = calloc(1, sizeof(*connection));
    if (connection == NULL)
        panic(PANIC_NO_MEMORY);
    connection->fd = fd;
    connection->session = lmtp_session_new(&server->host);
    renew_deadline(connection);
    server->connections[server->count++] = connection;
}

static void write_output(struct connection *connection)
{
    struct buf *output = lmtp_session_output(connection->session);
    while (output->size > 0 && !connection->is_lost) {
        ssize_t size = send(connection->fd, output->data, output->size, MSG_NOSIGNAL);
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0) {
            connection->is_lost = errno != EAGAIN;
            return;
        }
        buf_drop_front(output, (size_t)size);
        renew_deadline(connection);
    }
}

/* Gives the session what has arrived, as far as it takes it. */
static void pass_input(struct connection *connection)
{
    size_t taken = lmtp_session_take(connection->session, connection->input, connection->input_size);
    connection->input_size -= taken;
    memmove(connection->input, connection->input + taken, connection->input_size);
}

static void read_input(struct connection *connection)
{
    size_t room = sizeof(connection->input) - connection->input_size;
    ssize_t size = recv(connection->fd, connection->input + connection->input_size, room, 0);
    if (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR)) {
        connection->is_lost = true;
    } else if (size > 0) {
        connection->input_size += (size_t)size;
        renew_deadline(connection);
    }
}

/* Without room for replies, nothing more is read. */
static short wanted_events(const struct connection *connection)
{
    struct lmtp_session *session = connection->session;
    bool reads = lmtp_session_output(session)->size == 0 && connection->input_size < sizeof(connection->input) &&
                 !lmtp_session_is_waiting(session);
    return (short)((reads ? POLLIN : 0) | (lmtp_session_output(session)->size > 0 ? POLLOUT : 0));
}

static void serve_connection(struct connection *connection, short events)
{
    struct lmtp_session *session = connection->session;
    if ((events & (POLLIN | POLLHUP | POLLERR)) != 0 && !lmtp_session_is_waiting(session))
        read_input(connection);
    lmtp_session_advance(session);
    if (!lmtp_session_is_waiting(session))
        pass_input(connection);
    write_output(connection);
}

static bool is_over(const struct connection *connection)
{
    struct lmtp_session *session = connection->session;
    if (lmtp_session_is_waiting(session))
        return false;
    bool has_said_all = lmtp_session_has_ended(session) && lmtp_session_output(session)->size == 0;
    return connection->is_lost || has_said_all || lmtp_session_output(session)->overflowed ||
           clock_monotonic_us() > connection->deadline_us;
}

static void close_connections(struct lmtp_server *server)
{
    size_t kept = 0;
    for (size_t i = 0; i < server->count; i++) {
        struct connection *connection = server->connections[i];
        if (!is_over(connection)) {
            server->connections[kept++] = connection;
            continue;
        }
        close(connection->fd);
        lmtp_session_free(connection->session);
        free(connection);
    }
    server->count = kept;
}

/* ---- The thread ---- */

static void drain_waker(int fd)
{
    uint64_t count;
    if (read(fd, &count, sizeof(count)) < 0)
        return;
}

/* The first two places are the waker and the listener, which is left out while all places are taken. A connection that waits for
 * its calls is not watched: its peer cannot end it. */
static void serve_once(struct lmtp_server *server)
{
    struct pollfd watched[2 + LMTP_MAX_SESSIONS];
    size_t count = server->count;
    watched[0] = (struct pollfd){ .fd = server->waker, .events = POLLIN };
    watched[1] = (struct pollfd){ .fd = count < LMTP_MAX_SESSIONS ? server->listener : -1, .events = POLLIN };
    for (size_t i = 0; i < count; i++) {
        bool is_waiting = lmtp_session_is_waiting(server->connections[i]->session);
        watched[2 + i] =
            (struct pollfd){ .fd = is_waiting ? -1 : server->connections[i]->fd, .events = wanted_events(server->connections[i]) };
    }
    if (poll(watched, 2 + count, TICK_MS) < 0)
        return;
    if (watched[0].revents != 0)
        drain_waker(server->waker);
    for (size_t i = 0; i < count; i++)
        serve_connection(server->connections[i], watched[2 + i].revents);
    if (watched[1].revents != 0)
        accept_connection(server);
    close_connections(server);
}

static void *server_run(void *argument)
{
    struct lmtp_server *server = argument;
    while (!atomic_load(&server->is_stopping))
        serve_once(server);
    for (size_t i = 0; i < server->count; i++) {
        server->connections[i]->is_lost = true;
        lmtp_session_cancel(server->connections[i]->session);
    }
    for (close_connections(server); server->count > 0; close_connections(server)) {
        struct pollfd waker = { .fd = server->waker, .events = POLLIN };
        (void)poll(&waker, 1, TICK_MS);
        drain_waker(server->waker);
    }
    return NULL;
}

static char *copy_text(const char *text)
{
    char *copy = strdup(text);
    if (copy == NULL)
        panic(PANIC_NO_MEMORY);
    return copy;
}

bool lmtp_server_start(struct api *api, const char *address, const char *name, struct lmtp_server **ret_server, struct error *err)
{
    bool is_path = address[0] == '/';
    int fd = -1;
    if (!(is_path ? listen_on_path(address, &fd, err) : listen_on_port(address, &fd, err)))
        return false;
    struct lmtp_server *server = calloc(1, sizeof(*server));
    if (server == NULL)
        panic(PANIC_NO_MEMORY);
    server->name = copy_text(name);
    server->path = is_path ? copy_text(address) : NULL;
    server->port = is_path ? 0 : port_of(fd);
    server->listener = fd;
    server->waker = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    server->host = (struct lmtp_host){ .api = api, .name = server->name, .wake = wake_server, .context = server };
    if (server->waker < 0 || pthread_create(&server->thread, NULL, server_run, server) != 0)
        panic(PANIC_NO_THREAD);
    *ret_server = server;
    return true;
}

unsigned lmtp_server_port(const struct lmtp_server *server)
{
    return server->port;
}

void lmtp_server_stop(struct lmtp_server *server)
{
    if (server == NULL)
        return;
    atomic_store(&server->is_stopping, true);
    wake_server(server);
    pthread_join(server->thread, NULL);
    close(server->listener);
    close(server->waker);
    if (server->path != NULL)
        unlink(server->path);
    free(server->path);
    free(server->name);
    free(server);
}
