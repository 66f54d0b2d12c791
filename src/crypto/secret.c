#include "crypto/secret.h"

#include <sodium.h>

struct secret_range {
    void *bytes;
    size_t size;
};

static void wipe_range(void *object)
{
    const struct secret_range *range = object;
    sodium_memzero(range->bytes, range->size);
}

void *secret_alloc(struct arena *arena, size_t size)
{
    struct secret_range *range = arena_alloc(arena, sizeof(*range));
    *range = (struct secret_range){ .bytes = arena_alloc(arena, size), .size = size };
    arena_defer(arena, wipe_range, range);
    return range->bytes;
}

void secret_wipe(void *bytes, size_t size)
{
    sodium_memzero(bytes, size);
}
