#include "http/address_gate.h"

#include "base/clock.h"
#include "crypto/keys.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* A bucket holds the time at which it will be full again. */
enum { BUCKETS = 4096, UNIT_US = 1000000 / ADDRESS_GATE_PER_S };
static const int64_t full_us = (int64_t)ADDRESS_GATE_FULL * UNIT_US;

struct address_gate {
    pthread_mutex_t lock;
    uint64_t seed;
    int64_t full_at_us[BUCKETS];
};

static void address_gate_release(void *object)
{
    struct address_gate *gate = object;
    pthread_mutex_destroy(&gate->lock);
}

struct address_gate *address_gate_new(struct arena *arena)
{
    struct address_gate *gate = arena_alloc(arena, sizeof(*gate));
    pthread_mutex_init(&gate->lock, NULL);
    random_bytes(&gate->seed, sizeof(gate->seed));
    arena_defer(arena, address_gate_release, gate);
    return gate;
}

/* ---- Addresses ---- */

static bool take_v4(const struct in_addr *v4, struct gate_address *ret_address)
{
    *ret_address = (struct gate_address){ .bytes = { 0 } };
    memcpy(ret_address->bytes, v4, sizeof(*v4));
    return ret_address->bytes[0] != IN_LOOPBACKNET;
}

static bool take_v6(const struct in6_addr *v6, struct gate_address *ret_address)
{
    if (IN6_IS_ADDR_V4MAPPED(v6)) {
        struct in_addr v4;
        memcpy(&v4, &v6->s6_addr[12], sizeof(v4));
        return take_v4(&v4, ret_address);
    }
    memcpy(ret_address->bytes, v6->s6_addr, sizeof(ret_address->bytes));
    return !IN6_IS_ADDR_LOOPBACK(v6);
}

bool gate_address_of_peer(const struct sockaddr *peer, struct gate_address *ret_address)
{
    if (peer == NULL)
        return false;
    if (peer->sa_family == AF_INET)
        return take_v4(&((const struct sockaddr_in *)(const void *)peer)->sin_addr, ret_address);
    return peer->sa_family == AF_INET6 && take_v6(&((const struct sockaddr_in6 *)(const void *)peer)->sin6_addr, ret_address);
}

bool gate_address_of_forwarded(const char *forwarded_for, struct gate_address *ret_address)
{
    if (forwarded_for == NULL)
        return false;
    const char *comma = strrchr(forwarded_for, ',');
    const char *start = comma != NULL ? comma + 1 : forwarded_for;
    start += strspn(start, " \t");
    char host[INET6_ADDRSTRLEN];
    size_t size = strcspn(start, " \t");
    if (size >= sizeof(host))
        return false;
    memcpy(host, start, size);
    host[size] = '\0';
    struct in_addr v4;
    struct in6_addr v6;
    if (inet_pton(AF_INET, host, &v4) == 1)
        return take_v4(&v4, ret_address);
    return inet_pton(AF_INET6, host, &v6) == 1 && take_v6(&v6, ret_address);
}

/* ---- Buckets ---- */

static size_t address_bucket(const struct address_gate *gate, const struct gate_address *address)
{
    uint64_t hash;
    memcpy(&hash, address->bytes, sizeof(hash));
    hash = (hash ^ gate->seed) * UINT64_C(0x9e3779b97f4a7c15);
    hash ^= hash >> 32;
    return (size_t)(hash * UINT64_C(0xc2b2ae3d27d4eb4f) >> 32) % BUCKETS;
}

bool address_gate_take(struct address_gate *gate, const struct gate_address *address, int64_t units, int64_t now_us)
{
    pthread_mutex_lock(&gate->lock);
    int64_t *full_at_us = &gate->full_at_us[address_bucket(gate, address)];
    int64_t owed_us = *full_at_us > now_us ? *full_at_us - now_us : 0;
    bool has_tokens = owed_us < full_us;
    if (has_tokens)
        *full_at_us = now_us + owed_us + units * UNIT_US;
    pthread_mutex_unlock(&gate->lock);
    return has_tokens;
}
