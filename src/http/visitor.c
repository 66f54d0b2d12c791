#include "http/visitor.h"

#include "base/clock.h"
#include "http/guard.h"
#include "http/server_state.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

struct visitor visitor_of(const struct http_exchange *exchange)
{
    const struct sockaddr *peer = http_exchange_peer(exchange);
    struct visitor visitor = { .is_counted = false };
    bool is_proxy = guard_peer_is_trusted(exchange->server->guard, peer) || !gate_address_of_peer(peer, &visitor.address);
    visitor.is_counted = !is_proxy || gate_address_of_forwarded(exchange->headers.values[HEADER_X_FORWARDED_FOR], &visitor.address);
    return visitor;
}

bool visitor_take(const struct http_exchange *exchange, const struct visitor *visitor, int64_t units)
{
    return !visitor->is_counted || address_gate_take(exchange->server->gate, &visitor->address, units, clock_monotonic_us());
}

bool visitor_admit(const struct http_exchange *exchange, struct visitor *visitor)
{
    if (!visitor->is_judged)
        visitor->has_rate = visitor_take(exchange, visitor, VISITOR_UNITS_OF_REQUEST);
    visitor->is_judged = true;
    return visitor->has_rate;
}

uint64_t visitor_number(const struct http_exchange *exchange)
{
    uint64_t number = 0;
    struct visitor visitor = visitor_of(exchange);
    if (visitor.is_counted)
        memcpy(&number, visitor.address.bytes, sizeof(number));
    return number;
}

static const char *peer_text(const struct http_exchange *exchange, const struct sockaddr *peer)
{
    char *text = arena_alloc(exchange->arena, INET6_ADDRSTRLEN);
    const void *address = peer->sa_family == AF_INET ? (const void *)&((const struct sockaddr_in *)(const void *)peer)->sin_addr
                                                     : &((const struct sockaddr_in6 *)(const void *)peer)->sin6_addr;
    return inet_ntop(peer->sa_family, address, text, INET6_ADDRSTRLEN);
}

const char *visitor_address(const struct http_exchange *exchange)
{
    struct gate_address ignored;
    const struct sockaddr *peer = http_exchange_peer(exchange);
    const char *forwarded = exchange->headers.values[HEADER_X_FORWARDED_FOR];
    bool is_proxy = guard_peer_is_trusted(exchange->server->guard, peer) || !gate_address_of_peer(peer, &ignored);
    if (peer == NULL || (is_proxy && forwarded != NULL)) {
        if (forwarded == NULL)
            return NULL;
        const char *comma = strrchr(forwarded, ',');
        const char *start = comma != NULL ? comma + 1 : forwarded;
        start += strspn(start, " \t");
        return arena_dup_bytes(exchange->arena, start, strcspn(start, " \t"));
    }
    return peer->sa_family == AF_INET || peer->sa_family == AF_INET6 ? peer_text(exchange, peer) : NULL;
}
