#include "http/socket_address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

enum {
    LISTEN_BACKLOG = 1024,
    ADDRESS_TEXT_MAX_BYTES = 64,
};

/* Splits "host:port" or "[host]:port" in place. */
static bool split_port(char *text, char **ret_host, int64_t *ret_port)
{
    char *colon = strrchr(text, ':');
    if (colon == NULL || !int64_parse(colon + 1, ret_port) || *ret_port < 0 || *ret_port > UINT16_MAX)
        return false;
    *colon = '\0';

    size_t size = strlen(text);
    if (size >= 2 && text[0] == '[' && text[size - 1] == ']') {
        text[size - 1] = '\0';
        *ret_host = text + 1;
        return strchr(*ret_host, ':') != NULL;
    }
    *ret_host = text;
    return size > 0 && strchr(text, ':') == NULL;
}

bool socket_address_parse(const char *text, const char *param, struct socket_address *ret_address, struct error *err)
{
    char copy[ADDRESS_TEXT_MAX_BYTES];
    char *host = NULL;
    int64_t port = 0;
    int written = snprintf(copy, sizeof(copy), "%s", text);
    if (written < 0 || (size_t)written >= sizeof(copy) || !split_port(copy, &host, &port))
        return fail(err, ERR_INVALID_REQUEST, param,
                    "The option takes an address and a port, such as 127.0.0.1:8420 or [::1]:8420.");

    *ret_address = (struct socket_address){ .size = 0 };
    struct sockaddr_in *v4 = (struct sockaddr_in *)&ret_address->socket;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&ret_address->socket;
    const char *numeric = strcmp(host, "localhost") == 0 ? "127.0.0.1" : host;
    if (inet_pton(AF_INET, numeric, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons((uint16_t)port);
        ret_address->size = sizeof(*v4);
        return true;
    }
    if (inet_pton(AF_INET6, numeric, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons((uint16_t)port);
        ret_address->size = sizeof(*v6);
        return true;
    }
    return fail(err, ERR_INVALID_REQUEST, param, "The host must be a numeric address or localhost.");
}

bool socket_address_listen(const struct socket_address *address, const char *param, int *ret_fd, struct error *err)
{
    int fd = socket(address->socket.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return fail(err, ERR_INTERNAL_ERROR, param, "Cannot open a socket: %s.", strerror(errno));

    const int on = 1;
    bool listening = setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
                     bind(fd, (const struct sockaddr *)&address->socket, address->size) == 0 && listen(fd, LISTEN_BACKLOG) == 0;
    if (!listening) {
        int reason = errno;
        close(fd);
        return fail(err, ERR_INVALID_REQUEST, param, "Cannot listen on this address: %s.", strerror(reason));
    }
    *ret_fd = fd;
    return true;
}

unsigned socket_address_port(const struct sockaddr *socket)
{
    if (socket->sa_family == AF_INET)
        return ntohs(((const struct sockaddr_in *)(const void *)socket)->sin_port);
    if (socket->sa_family == AF_INET6)
        return ntohs(((const struct sockaddr_in6 *)(const void *)socket)->sin6_port);
    return 0;
}

unsigned socket_address_bound_port(int fd)
{
    struct sockaddr_storage bound = { .ss_family = AF_UNSPEC };
    socklen_t size = sizeof(bound);
    if (getsockname(fd, (struct sockaddr *)&bound, &size) != 0)
        return 0;
    return socket_address_port((const struct sockaddr *)&bound);
}

bool socket_address_is_any(const struct socket_address *address)
{
    if (address->socket.ss_family == AF_INET)
        return ((const struct sockaddr_in *)&address->socket)->sin_addr.s_addr == htonl(INADDR_ANY);
    return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)&address->socket)->sin6_addr);
}

void socket_address_host(const struct sockaddr *socket, char ret_host[SOCKET_ADDRESS_HOST_BYTES])
{
    const void *bytes = NULL;
    int family = socket->sa_family;
    if (family == AF_INET) {
        bytes = &((const struct sockaddr_in *)(const void *)socket)->sin_addr;
    } else if (family == AF_INET6) {
        const struct in6_addr *v6 = &((const struct sockaddr_in6 *)(const void *)socket)->sin6_addr;
        bytes = v6;
        if (IN6_IS_ADDR_V4MAPPED(v6)) {
            family = AF_INET;
            bytes = &v6->s6_addr[12];
        }
    }
    if (bytes == NULL || inet_ntop(family, bytes, ret_host, SOCKET_ADDRESS_HOST_BYTES) == NULL)
        snprintf(ret_host, SOCKET_ADDRESS_HOST_BYTES, "unknown");
}
