#include "mcp/stream_memory.h"

#include "base/memory_share.h"

static const struct memory_rule rule = {
    .max_bytes = STREAM_MEMORY_MAX_BYTES,
    .organization_max_bytes = STREAM_MEMORY_MAX_BYTES / 4,
    .times_free = 1,
};

void stream_memory_add(struct stream_memory *memory, unsigned owner, size_t bytes)
{
    atomic_fetch_add(&memory->used, bytes);
    atomic_fetch_add(&memory->of_owners[owner], bytes);
}

void stream_memory_remove(struct stream_memory *memory, unsigned owner, size_t bytes)
{
    atomic_fetch_sub(&memory->used, bytes);
    atomic_fetch_sub(&memory->of_owners[owner], bytes);
}

bool stream_memory_is_over(const struct stream_memory *memory, unsigned owner)
{
    size_t used = atomic_load(&memory->used);
    return used > rule.max_bytes || atomic_load(&memory->of_owners[owner]) > memory_shares_of(&rule, used).organization;
}
