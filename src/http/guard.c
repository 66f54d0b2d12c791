#include "http/guard.h"

#include "base/text.h"
#include "base/values.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

enum { GUARD_HOST_MAX_BYTES = 255 }; /* a DNS name, RFC 1035 §2.3.4 */

struct guard {
    char listen_host[SOCKET_ADDRESS_HOST_BYTES];
    bool listens_on_any;
    struct text_list hosts;
    struct text_list origins;
    struct text_list proxies;
    const char *public_url; /* NULL: none */
};

static const char *const loopback_hosts[] = { "localhost", "127.0.0.1", "::1" };

struct host_part {
    const char *text;
    size_t size;
    const char *port; /* "" when none */
};

static bool is_ipv6(const char *text, size_t size)
{
    char copy[INET6_ADDRSTRLEN];
    unsigned char address[sizeof(struct in6_addr)];
    if (size >= sizeof(copy))
        return false;
    memcpy(copy, text, size);
    copy[size] = '\0';
    return inet_pton(AF_INET6, copy, address) == 1;
}

/* The host of "host[:port]" or "[v6][:port]", without brackets. */
static bool host_part_read(const char *authority, struct host_part *ret_part)
{
    const char *end;
    if (authority[0] == '[') {
        end = strchr(authority, ']');
        if (end == NULL || !is_ipv6(authority + 1, (size_t)(end - authority - 1)))
            return false;
        *ret_part = (struct host_part){ authority + 1, (size_t)(end - authority - 1), end + 1 };
    } else {
        end = authority + strcspn(authority, ":");
        *ret_part = (struct host_part){ authority, (size_t)(end - authority), end };
    }
    if (ret_part->size == 0 || ret_part->size > GUARD_HOST_MAX_BYTES)
        return false;
    if (ret_part->port[0] == '\0')
        return true;
    int64_t port;
    return ret_part->port[0] == ':' && int64_parse(ret_part->port + 1, &port) && port >= 0 && port <= UINT16_MAX;
}

static bool host_part_is(const struct host_part *part, const char *host)
{
    return strlen(host) == part->size && strncasecmp(part->text, host, part->size) == 0;
}

static bool is_numeric(const char *host)
{
    unsigned char address[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
}

static bool host_part_is_numeric(const struct host_part *part)
{
    char text[GUARD_HOST_MAX_BYTES + 1];
    memcpy(text, part->text, part->size);
    text[part->size] = '\0';
    return is_numeric(text);
}

static bool host_part_is_known(const struct guard *guard, const struct host_part *part)
{
    for (size_t i = 0; i < ARRAY_COUNT(loopback_hosts); i++) {
        if (host_part_is(part, loopback_hosts[i]))
            return true;
    }
    /* DNS rebinding needs a name. A server on all interfaces has many addresses, so any numeric address is allowed. */
    if (guard->listens_on_any ? host_part_is_numeric(part) : host_part_is(part, guard->listen_host))
        return true;
    for (size_t i = 0; i < guard->hosts.count; i++) {
        if (host_part_is(part, guard->hosts.items[i]))
            return true;
    }
    return false;
}

/* The part after "http://" or "https://"; NULL for other origins, including "null". */
static const char *origin_authority(const char *origin)
{
    if (strncasecmp(origin, "http://", 7) == 0)
        return origin + 7;
    if (strncasecmp(origin, "https://", 8) == 0)
        return origin + 8;
    return NULL;
}

bool guard_host_is_known(const struct guard *guard, const char *host)
{
    struct host_part part;
    return host != NULL && host_part_read(host, &part) && host_part_is_known(guard, &part);
}

bool guard_origin_is_listed(const struct guard *guard, const char *origin)
{
    for (size_t i = 0; i < guard->origins.count; i++) {
        if (strcasecmp(guard->origins.items[i], origin) == 0)
            return true;
    }
    return false;
}

bool guard_origin_is_known(const struct guard *guard, const char *origin)
{
    if (guard_origin_is_listed(guard, origin))
        return true;
    const char *authority = origin_authority(origin);
    struct host_part part;
    return authority != NULL && host_part_read(authority, &part) && host_part_is_known(guard, &part);
}

/* The size of an authority without the default port of its scheme. */
static size_t size_without_port(const char *authority, size_t size, bool is_https)
{
    const char *port = is_https ? ":443" : ":80";
    size_t port_size = strlen(port);
    bool has_port = size > port_size && memcmp(authority + size - port_size, port, port_size) == 0;
    return has_port ? size - port_size : size;
}

static bool is_same_authority(const char *left, size_t left_size, const char *right, size_t right_size, bool is_https)
{
    left_size = size_without_port(left, left_size, is_https);
    return left_size == size_without_port(right, right_size, is_https) && strncasecmp(left, right, left_size) == 0;
}

static bool is_https(const char *origin)
{
    return strncasecmp(origin, "https:", 6) == 0;
}

bool guard_origin_is_own(const struct guard *guard, const char *origin, const char *scheme, const char *host)
{
    const char *authority = origin_authority(origin);
    if (authority == NULL)
        return false;
    bool secure = is_https(origin);
    if (host != NULL && strcasecmp(scheme, secure ? "https" : "http") == 0 &&
        is_same_authority(authority, strlen(authority), host, strlen(host), secure))
        return true;
    const char *public_authority = guard->public_url != NULL ? origin_authority(guard->public_url) : NULL;
    return public_authority != NULL && is_https(guard->public_url) == secure &&
           is_same_authority(authority, strlen(authority), public_authority, strcspn(public_authority, "/?#"), secure);
}

bool guard_peer_is_trusted(const struct guard *guard, const struct sockaddr *peer)
{
    if (guard->proxies.count == 0 || peer == NULL)
        return false;
    char host[SOCKET_ADDRESS_HOST_BYTES];
    socket_address_host(peer, host);
    for (size_t i = 0; i < guard->proxies.count; i++) {
        if (strcmp(guard->proxies.items[i], host) == 0)
            return true;
    }
    return false;
}

static struct text_list copy_list(struct arena *arena, const char *const *items)
{
    size_t count = 0;
    while (items != NULL && items[count] != NULL)
        count++;
    const char **copies = arena_array(arena, count, sizeof(*copies));
    for (size_t i = 0; i < count; i++)
        copies[i] = arena_dup(arena, items[i]);
    return (struct text_list){ copies, count };
}

static bool guard_check(const struct guard *guard, struct error *err)
{
    struct host_part part;
    for (size_t i = 0; i < guard->hosts.count; i++) {
        const char *host = guard->hosts.items[i];
        if (!is_numeric(host) && (!host_part_read(host, &part) || part.port[0] != '\0'))
            return fail(err, ERR_INVALID_REQUEST, "allowed-host", "allowed-host must be a host name without scheme and port.");
    }
    for (size_t i = 0; i < guard->origins.count; i++) {
        const char *authority = origin_authority(guard->origins.items[i]);
        if (authority == NULL || !host_part_read(authority, &part))
            return fail(err, ERR_INVALID_REQUEST, "allowed-origin",
                        "allowed-origin must be an origin, such as https://app.example.com.");
    }
    for (size_t i = 0; i < guard->proxies.count; i++) {
        if (!is_numeric(guard->proxies.items[i]))
            return fail(err, ERR_INVALID_REQUEST, "trusted-proxy", "trusted-proxy must be a numeric address.");
    }
    return true;
}

bool guard_new(struct arena *arena, const struct guard_config *config, const struct socket_address *listen,
               struct guard **ret_guard, struct error *err)
{
    struct guard *guard = arena_alloc(arena, sizeof(*guard));
    socket_address_host((const struct sockaddr *)&listen->socket, guard->listen_host);
    guard->listens_on_any = socket_address_is_any(listen);
    guard->hosts = copy_list(arena, config->allowed_hosts);
    guard->origins = copy_list(arena, config->allowed_origins);
    guard->proxies = copy_list(arena, config->trusted_proxies);
    guard->public_url = arena_dup(arena, config->public_url);
    if (!guard_check(guard, err))
        return false;
    *ret_guard = guard;
    return true;
}
