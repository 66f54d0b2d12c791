#include "smtp/destinations.h"

#include "base/panic.h"

#include "smtp/relay.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>

/* Open addressing with linear probing. A removal closes its gap, so the table needs no tombstones. */
enum { SLOTS = 16384 };

static_assert(SLOTS >= 4 * 2 * SMTP_MAX_RELAYS * SMTP_MAX_CONNECTIONS, "two messages per session fill at most a quarter");

struct destination {
    uint64_t key; /* 0: empty */
    int count;
};

struct smtp_destinations {
    struct destination slots[SLOTS];
};

struct smtp_destinations *smtp_destinations_new(void)
{
    struct smtp_destinations *destinations = calloc(1, sizeof(*destinations));
    if (destinations == NULL)
        panic(PANIC_NO_MEMORY);
    return destinations;
}

void smtp_destinations_free(struct smtp_destinations *destinations)
{
    free(destinations);
}

/* The slot of the key, or the empty one where it would be. */
static size_t destination_slot(const struct smtp_destinations *destinations, uint64_t key)
{
    size_t at = key % SLOTS;
    while (destinations->slots[at].key != 0 && destinations->slots[at].key != key)
        at = (at + 1) % SLOTS;
    return at;
}

int smtp_destinations_count(const struct smtp_destinations *destinations, uint64_t key)
{
    return destinations->slots[destination_slot(destinations, key)].count;
}

void smtp_destinations_add(struct smtp_destinations *destinations, uint64_t key)
{
    struct destination *slot = &destinations->slots[destination_slot(destinations, key)];
    slot->key = key;
    slot->count++;
}

/* Closes the gap at `hole`: moves up the entries behind it that a search would no longer reach (Knuth 6.4, algorithm R). */
static void close_gap(struct smtp_destinations *destinations, size_t hole)
{
    struct destination *slots = destinations->slots;
    for (size_t at = (hole + 1) % SLOTS; slots[at].key != 0; at = (at + 1) % SLOTS) {
        size_t steps_from_home = (at + SLOTS - slots[at].key % SLOTS) % SLOTS;
        size_t steps_from_hole = (at + SLOTS - hole) % SLOTS;
        if (steps_from_home < steps_from_hole)
            continue;
        slots[hole] = slots[at];
        hole = at;
    }
    slots[hole] = (struct destination){ .key = 0 };
}

void smtp_destinations_end(struct smtp_destinations *destinations, uint64_t key)
{
    size_t at = destination_slot(destinations, key);
    if (destinations->slots[at].count == 0)
        panic("a destination has no messages");
    if (--destinations->slots[at].count == 0)
        close_gap(destinations, at);
}
