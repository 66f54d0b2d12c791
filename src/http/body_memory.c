#include "http/body_memory.h"

#include "base/panic.h"

#include "crypto/keys.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
    ENTRIES = 1024,
    RETRY_AFTER_S = 2,
    LARGE_BYTES = 1024 * 1024,    /* of one request; smaller ones reuse each other's memory */
    TRIM_BYTES = 4 * LARGE_BYTES, /* released by large requests, after which a walk through the heap is worth it */
    TRIM_MAX_POSTPONED = 10,      /* calls of body_memory_trim */
};

struct body_memory {
    size_t max_bytes;
    uint64_t seed;
    atomic_uint refs;
    atomic_size_t used;
    atomic_size_t released; /* since the last trim */
    size_t released_before; /* at the last call of body_memory_trim; of its thread, as the next */
    unsigned postponed;
    atomic_size_t organizations[ENTRIES];
};

struct body_memory *body_memory_new(size_t max_bytes)
{
    struct body_memory *memory = calloc(1, sizeof(*memory));
    if (memory == NULL)
        panic(PANIC_NO_MEMORY);
    memory->max_bytes = max_bytes;
    memory->refs = 1;
    random_bytes(&memory->seed, sizeof(memory->seed));
    return memory;
}

struct body_memory *body_memory_ref(struct body_memory *memory)
{
    atomic_fetch_add_explicit(&memory->refs, 1, memory_order_relaxed);
    return memory;
}

void body_memory_unref(struct body_memory *memory)
{
    if (atomic_fetch_sub_explicit(&memory->refs, 1, memory_order_acq_rel) == 1)
        free(memory);
}

static atomic_size_t *organization_entry(struct body_memory *memory, int64_t organization_id)
{
    uint64_t hash = ((uint64_t)organization_id ^ memory->seed) * UINT64_C(0x9e3779b97f4a7c15);
    return &memory->organizations[(hash >> 32) % ENTRIES];
}

/* Adds to a counter unless it would exceed its bound. */
static bool count_up(atomic_size_t *counter, size_t bytes, size_t max_bytes)
{
    size_t before = atomic_fetch_add_explicit(counter, bytes, memory_order_relaxed);
    if (bytes <= max_bytes && before <= max_bytes - bytes)
        return true;
    atomic_fetch_sub_explicit(counter, bytes, memory_order_relaxed);
    return false;
}

static bool claim_for_organization(struct body_memory *memory, struct body_share *share, size_t bytes)
{
    if (share->organization_id == 0)
        return true;
    if (!count_up(organization_entry(memory, share->organization_id), bytes, memory->max_bytes / 4 * 3))
        return false;
    share->organization_bytes += bytes;
    return true;
}

bool body_memory_claim(struct body_memory *memory, struct body_share *share, size_t bytes, struct error *err)
{
    if (count_up(&memory->used, bytes, memory->max_bytes)) {
        if (claim_for_organization(memory, share, bytes)) {
            share->bytes += bytes;
            return true;
        }
        atomic_fetch_sub_explicit(&memory->used, bytes, memory_order_relaxed);
    }
    err->retry_after_s = RETRY_AFTER_S;
    return fail(err, ERR_SERVICE_UNAVAILABLE, NULL,
                "The server is reading too many large bodies at this moment. Send fewer at a time, or send this one again later.");
}

void body_memory_release(struct body_memory *memory, struct body_share *share)
{
    if (share->bytes > 0) {
        if (share->organization_bytes > 0)
            atomic_fetch_sub_explicit(organization_entry(memory, share->organization_id), share->organization_bytes,
                                      memory_order_relaxed);
        atomic_fetch_sub_explicit(&memory->used, share->bytes, memory_order_relaxed);
        if (share->bytes >= LARGE_BYTES)
            atomic_fetch_add_explicit(&memory->released, share->bytes, memory_order_relaxed);
    }
    *share = (struct body_share){ .organization_id = 0 };
}

size_t body_memory_used(const struct body_memory *memory)
{
    return atomic_load_explicit(&memory->used, memory_order_relaxed);
}

/* While large bodies keep coming, each uses the memory of those before it. Returned memory has to be mapped again page by page,
 * which takes about as long as the rest of the work for a body. */
void body_memory_trim(struct body_memory *memory)
{
    size_t released = atomic_load_explicit(&memory->released, memory_order_relaxed);
    bool keeps_coming = released != memory->released_before;
    memory->released_before = released;
    if (released < TRIM_BYTES || (keeps_coming && ++memory->postponed < TRIM_MAX_POSTPONED))
        return;
    memory->released_before = 0;
    memory->postponed = 0;
    atomic_store_explicit(&memory->released, 0, memory_order_relaxed);
    malloc_trim(0);
}
