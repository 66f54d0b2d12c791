#include "net_standin.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { IN_BYTES = 4 * 1024 * 1024 };

struct relay_inside {
    int listen_fd;
    unsigned port;
    pthread_t thread;
    pthread_mutex_t lock; /* guards what the test reads, and `open` */
    int open;
    pthread_t threads[RELAY_MAX_CONNECTIONS];
};

struct connection {
    struct relay_standin *relay;
    int fd;
    int number; /* from 1 */
    char *in;
    size_t in_size;
    const char *said; /* last */
    int seen[32];     /* how often each quirk's command came */
};

/* ---- Bytes ---- */

static bool say(struct connection *connection, const char *text)
{
    size_t step = connection->relay->byte_by_byte ? 1 : strlen(text);
    for (size_t at = 0, size = strlen(text); at < size; at += step)
        if (send(connection->fd, text + at, step, MSG_NOSIGNAL) != (ssize_t)step)
            return false;
    return true;
}

static bool read_more(struct connection *connection)
{
    if (connection->in_size == IN_BYTES)
        return false;
    ssize_t count = recv(connection->fd, connection->in + connection->in_size, IN_BYTES - connection->in_size, 0);
    if (count <= 0)
        return false;
    connection->in_size += (size_t)count;
    return true;
}

static void consume(struct connection *connection, size_t size)
{
    connection->in_size -= size;
    memmove(connection->in, connection->in + size, connection->in_size);
}

static void wait_until_gone(struct connection *connection)
{
    char bytes[4096];
    while (recv(connection->fd, bytes, sizeof(bytes), 0) > 0)
        continue;
}

/* ---- Quirks ---- */

/* The quirk that applies to a command or moment; NULL when none does. All that could are counted. */
static const struct relay_quirk *find_quirk(struct connection *connection, const char *command)
{
    const struct relay_standin *relay = connection->relay;
    const struct relay_quirk *found = NULL;
    for (size_t i = 0; i < relay->quirk_count; i++) {
        const struct relay_quirk *quirk = &relay->quirks[i];
        bool is_here = quirk->connection == 0 || quirk->connection == connection->number;
        if (!is_here || strncasecmp(command, quirk->command, strlen(quirk->command)) != 0)
            continue;
        connection->seen[i]++;
        if (found == NULL && (quirk->nth == 0 || quirk->nth == connection->seen[i]))
            found = quirk;
    }
    return found;
}

/* Answers a command or moment; false: the connection is over. `polite` is said where no quirk applies. */
static bool answer(struct connection *connection, const char *command, const char *polite)
{
    const struct linger at_once = { .l_onoff = 1 };
    const struct relay_quirk *quirk = find_quirk(connection, command);
    connection->said = quirk != NULL ? quirk->say : polite;
    if (connection->said != NULL && !say(connection, connection->said))
        return false;
    if (quirk == NULL || quirk->then == THEN_GO_ON)
        return true;
    if (quirk->then == THEN_RESET)
        setsockopt(connection->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    if (quirk->then == THEN_STALL)
        wait_until_gone(connection);
    return false;
}

/* ---- The conversation ---- */

static void note_command(struct connection *connection, const char *line)
{
    char *heard = connection->relay->heard[connection->number - 1];
    size_t size = strlen(heard);
    if (size + strlen(line) + 2 < RELAY_HEARD_BYTES)
        snprintf(heard + size, RELAY_HEARD_BYTES - size, "%s\n", line);
}

static void note_body(struct connection *connection, size_t size)
{
    struct relay_standin *relay = connection->relay;
    pthread_mutex_lock(&relay->inside->lock);
    if (relay->body_count < RELAY_MAX_BODIES)
        relay->bodies[relay->body_count] = strndup(connection->in, size);
    relay->body_count++;
    pthread_mutex_unlock(&relay->inside->lock);
}

/* Reads to the final dot. False: the connection is over. */
static bool read_body(struct connection *connection)
{
    static const char end[] = "\r\n.\r\n";
    char *dot;
    while (connection->in_size < 3 && read_more(connection))
        continue;
    if (!answer(connection, "BODY", NULL))
        return false;
    while ((dot = memmem(connection->in, connection->in_size, end, strlen(end))) == NULL)
        if (!read_more(connection))
            return false;
    note_body(connection, (size_t)(dot - connection->in) + 2);
    consume(connection, (size_t)(dot - connection->in) + strlen(end));
    if (connection->in_size > 5 && strncmp(connection->in, "MAIL ", 5) == 0) {
        pthread_mutex_lock(&connection->relay->inside->lock);
        connection->relay->envelopes_with_dot++;
        pthread_mutex_unlock(&connection->relay->inside->lock);
    }
    return answer(connection, "DOT", "250 2.0.0 Taken\r\n");
}

/* The next line of commands without its end; false at the end of the connection. */
static bool read_line(struct connection *connection, char *ret_line, size_t line_bytes)
{
    char *end;
    while ((end = memmem(connection->in, connection->in_size, "\r\n", 2)) == NULL)
        if (!read_more(connection))
            return false;
    snprintf(ret_line, line_bytes, "%.*s", (int)(end - connection->in), connection->in);
    consume(connection, (size_t)(end - connection->in) + 2);
    return true;
}

static bool serve_command(struct connection *connection, const char *line)
{
    static const char usual[] = "250-PIPELINING\r\n250-SIZE 50000000\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n";
    const char *abilities = connection->relay->abilities != NULL ? connection->relay->abilities : usual;
    char hello[2048];
    snprintf(hello, sizeof(hello), "250-standin.test at your service\r\n%s250 HELP\r\n", abilities);
    if (strncasecmp(line, "EHLO", 4) == 0)
        return answer(connection, line, hello);
    if (strncasecmp(line, "DATA", 4) == 0) {
        bool goes_on = answer(connection, line, "354 Go on\r\n");
        bool wants_body = connection->said != NULL && strncmp(connection->said, "354", 3) == 0;
        return goes_on && (!wants_body || read_body(connection));
    }
    if (strncasecmp(line, "QUIT", 4) == 0) {
        answer(connection, line, "221 2.0.0 Bye\r\n");
        return false;
    }
    return answer(connection, line, "250 2.1.0 Ok\r\n");
}

static void *serve(void *data)
{
    struct connection *connection = data;
    struct relay_inside *inside = connection->relay->inside;
    char line[4096];
    bool goes_on = answer(connection, "HELLO", "220 standin.test ESMTP\r\n");
    while (goes_on && read_line(connection, line, sizeof(line))) {
        note_command(connection, line);
        goes_on = serve_command(connection, line);
    }
    close(connection->fd);
    pthread_mutex_lock(&inside->lock);
    inside->open--;
    pthread_mutex_unlock(&inside->lock);
    free(connection->in);
    free(connection);
    return NULL;
}

static void begin(struct relay_standin *relay, int fd)
{
    struct relay_inside *inside = relay->inside;
    struct connection *connection = calloc(1, sizeof(*connection));
    const int yes = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes)); /* it writes each reply by itself */
    connection->relay = relay;
    connection->fd = fd;
    connection->in = malloc(IN_BYTES);
    pthread_mutex_lock(&inside->lock);
    connection->number = ++relay->connections;
    inside->open++;
    relay->most_open = inside->open > relay->most_open ? inside->open : relay->most_open;
    pthread_mutex_unlock(&inside->lock);
    pthread_create(&inside->threads[connection->number - 1], NULL, serve, connection);
}

static void *accept_all(void *data)
{
    struct relay_standin *relay = data;
    int fd;
    while (relay->connections < RELAY_MAX_CONNECTIONS && (fd = accept(relay->inside->listen_fd, NULL, NULL)) >= 0)
        begin(relay, fd);
    return NULL;
}

/* ---- Starting and stopping ---- */

void relay_start(struct relay_standin *relay)
{
    struct relay_inside *inside = calloc(1, sizeof(*inside));
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(address);
    relay->inside = inside;
    pthread_mutex_init(&inside->lock, NULL);
    inside->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(inside->listen_fd, (struct sockaddr *)&address, size) < 0 || listen(inside->listen_fd, 64) < 0)
        abort();
    getsockname(inside->listen_fd, (struct sockaddr *)&address, &size);
    inside->port = ntohs(address.sin_port);
    pthread_create(&inside->thread, NULL, accept_all, relay);
}

unsigned relay_port(const struct relay_standin *relay)
{
    return relay->inside->port;
}

void relay_stop(struct relay_standin *relay)
{
    struct relay_inside *inside = relay->inside;
    shutdown(inside->listen_fd, SHUT_RDWR);
    pthread_join(inside->thread, NULL);
    for (int i = 0; i < relay->connections; i++)
        pthread_join(inside->threads[i], NULL);
    close(inside->listen_fd);
    pthread_mutex_destroy(&inside->lock);
    free(inside);
    relay->inside = NULL;
}

void relay_free_bodies(struct relay_standin *relay)
{
    for (int i = 0; i < relay->body_count && i < RELAY_MAX_BODIES; i++)
        free(relay->bodies[i]);
    relay->body_count = 0;
}
