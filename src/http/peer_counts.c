#include "http/peer_counts.h"

#include "base/panic.h"

#include "crypto/keys.h"

#include <stdlib.h>
#include <string.h>

/* A peer with a connection. There are as many entries as connections, so one is always free. */
struct peer {
    struct gate_address address;
    unsigned count;
    struct peer *next; /* in its bucket or in the free list */
};

struct peer_counts {
    unsigned max_per_peer;
    unsigned bucket_count;
    uint64_t seed;
    struct peer **buckets;
    struct peer *peers;
    struct peer *free_peers;
};

struct peer_counts *peer_counts_new(unsigned max_connections, unsigned max_per_peer)
{
    struct peer_counts *counts = calloc(1, sizeof(*counts));
    struct peer *peers = calloc(max_connections, sizeof(*peers));
    struct peer **buckets = calloc(max_connections, sizeof(struct peer *));
    if (counts == NULL || peers == NULL || buckets == NULL)
        panic(PANIC_NO_MEMORY);
    *counts =
        (struct peer_counts){ .max_per_peer = max_per_peer, .bucket_count = max_connections, .buckets = buckets, .peers = peers };
    random_bytes(&counts->seed, sizeof(counts->seed));
    for (unsigned i = 0; i < max_connections; i++) {
        peers[i].next = counts->free_peers;
        counts->free_peers = &peers[i];
    }
    return counts;
}

void peer_counts_free(struct peer_counts *counts)
{
    if (counts == NULL)
        return;
    free(counts->buckets);
    free(counts->peers);
    free(counts);
}

/* The link to the entry of an address, or to the NULL behind the last entry of its bucket. */
static struct peer **find_peer(struct peer_counts *counts, const struct gate_address *address)
{
    uint64_t hash;
    memcpy(&hash, address->bytes, sizeof(hash));
    hash = (hash ^ counts->seed) * UINT64_C(0x9e3779b97f4a7c15);
    struct peer **link = &counts->buckets[(hash >> 32) % counts->bucket_count];
    while (*link != NULL && memcmp((*link)->address.bytes, address->bytes, sizeof(address->bytes)) != 0)
        link = &(*link)->next;
    return link;
}

bool peer_counts_add(struct peer_counts *counts, const struct gate_address *address)
{
    struct peer **link = find_peer(counts, address);
    struct peer *peer = *link;
    if (peer == NULL) {
        peer = counts->free_peers;
        counts->free_peers = peer->next;
        *peer = (struct peer){ .address = *address };
        *link = peer;
    }
    if (peer->count == counts->max_per_peer)
        return false;
    peer->count++;
    return true;
}

void peer_counts_remove(struct peer_counts *counts, const struct gate_address *address)
{
    struct peer **link = find_peer(counts, address);
    struct peer *peer = *link;
    if (peer == NULL || --peer->count > 0)
        return;
    *link = peer->next;
    peer->next = counts->free_peers;
    counts->free_peers = peer;
}
