#include "http_client.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static long now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void client_open(struct client *client, unsigned port)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((unsigned short)port) };
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    client->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    client->port = port;
    client->size = 0;
    if (client->fd < 0 || connect(client->fd, (struct sockaddr *)&address, sizeof(address)) != 0)
        abort();
}

void client_close(struct client *client)
{
    close(client->fd);
}

bool client_send(struct client *client, const char *bytes, size_t size)
{
    if (size == 0)
        size = strlen(bytes);
    while (size > 0) {
        ssize_t sent = send(client->fd, bytes, size, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        bytes += sent;
        size -= (size_t)sent;
    }
    return true;
}

/* More bytes; false at the end, when time is over or the buffer is full. */
static bool receive(struct client *client, long until_ms)
{
    long left_ms = until_ms - now_ms();
    struct pollfd ready = { .fd = client->fd, .events = POLLIN };
    if (client->size + 1 >= sizeof(client->bytes) || poll(&ready, 1, left_ms > 0 ? (int)left_ms : 0) <= 0)
        return false;
    ssize_t size = recv(client->fd, client->bytes + client->size, sizeof(client->bytes) - 1 - client->size, 0);
    if (size <= 0)
        return false;
    client->size += (size_t)size;
    client->bytes[client->size] = '\0';
    return true;
}

static void drop(struct client *client, size_t size)
{
    memmove(client->bytes, client->bytes + size, client->size - size);
    client->size -= size;
    client->bytes[client->size] = '\0';
}

static void keep(struct answer *answer, const char *bytes, size_t size)
{
    size_t room = sizeof(answer->body) - 1 > answer->body_size ? sizeof(answer->body) - 1 - answer->body_size : 0;
    memcpy(answer->body + (answer->body_size < sizeof(answer->body) ? answer->body_size : 0), bytes, size < room ? size : room);
    answer->body_size += size;
}

static bool read_exactly(struct client *client, struct answer *answer, size_t size, long until_ms)
{
    while (size > 0) {
        if (client->size == 0 && !receive(client, until_ms))
            return false;
        size_t part = client->size < size ? client->size : size;
        keep(answer, client->bytes, part);
        drop(client, part);
        size -= part;
    }
    return true;
}

static bool read_chunks(struct client *client, struct answer *answer, long until_ms)
{
    for (;;) {
        char *end;
        client->bytes[client->size] = '\0';
        while ((end = strstr(client->bytes, "\r\n")) == NULL) {
            if (!receive(client, until_ms))
                return false;
        }
        size_t size = strtoul(client->bytes, NULL, 16);
        drop(client, (size_t)(end - client->bytes) + 2);
        if (!read_exactly(client, answer, size, until_ms))
            return false;
        while (client->size < 2) {
            if (!receive(client, until_ms))
                return false;
        }
        drop(client, 2);
        if (size == 0)
            return true;
    }
}

bool client_read(struct client *client, struct answer *answer, bool head_only, int wait_ms)
{
    long until_ms = now_ms() + wait_ms;
    memset(answer, 0, sizeof(*answer));
    client->bytes[client->size] = '\0';
    char *end;
    while ((end = strstr(client->bytes, "\r\n\r\n")) == NULL) {
        if (!receive(client, until_ms))
            return false;
    }
    size_t head_size = (size_t)(end - client->bytes) + 4;
    if (head_size >= sizeof(answer->head))
        abort();
    memcpy(answer->head, client->bytes, head_size);
    drop(client, head_size);
    answer->status = (int)strtol(answer->head + strlen("HTTP/1.1 "), NULL, 10);
    if (answer->status == 100)
        return client_read(client, answer, head_only, wait_ms);

    const char *length = answer_header(answer, "Content-Length");
    if (head_only || answer->status == 204)
        return true;
    if (length != NULL)
        return read_exactly(client, answer, strtoul(length, NULL, 10), until_ms);
    return answer_header(answer, "Transfer-Encoding") == NULL || read_chunks(client, answer, until_ms);
}

void client_ask(unsigned port, const char *method, const char *target, const char *lines, const char *body, struct answer *answer)
{
    static struct client client;
    static char request[300 * 1024];
    char length[64] = "";
    if (body != NULL)
        snprintf(length, sizeof(length), "Content-Length: %zu\r\n", strlen(body));
    const char *host = strcasestr(lines, "Host:") == lines ? "" : "Host: 127.0.0.1\r\n";
    snprintf(request, sizeof(request), "%s %s HTTP/1.1\r\n%sConnection: close\r\n%s%s\r\n%s", method, target, host, lines, length,
             body != NULL ? body : "");
    client_open(&client, port);
    memset(answer, 0, sizeof(*answer));
    if (client_send(&client, request, 0))
        (void)client_read(&client, answer, strcmp(method, "HEAD") == 0, 10000);
    client_close(&client);
}

bool client_sees(struct client *client, const char *wanted, int wait_ms)
{
    long until_ms = now_ms() + wait_ms;
    client->bytes[client->size] = '\0';
    while (strstr(client->bytes, wanted) == NULL) {
        if (!receive(client, until_ms))
            return false;
    }
    return true;
}

bool client_is_closed(struct client *client, int wait_ms)
{
    long until_ms = now_ms() + wait_ms;
    while (receive(client, until_ms))
        client->size = 0;
    return now_ms() < until_ms;
}

const char *answer_header(const struct answer *answer, const char *name)
{
    static char value[1024];
    size_t size = strlen(name);
    for (const char *line = answer->head; line != NULL && *line != '\0'; line = strstr(line, "\r\n")) {
        line += strspn(line, "\r\n");
        if (strncasecmp(line, name, size) == 0 && line[size] == ':') {
            line += size + 1 + strspn(line + size + 1, " ");
            snprintf(value, sizeof(value), "%.*s", (int)strcspn(line, "\r\n"), line);
            return value;
        }
    }
    return NULL;
}
