#include "http/body_memory.h"

#include "base/panic.h"

#include "crypto/keys.h"
#include "base/memory_share.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
    ENTRIES = 1024,
    TIMES_FREE = 8, /* so that one organization alone may hold three quarters, beside some of others */
    RETRY_AFTER_S = 2,
    LARGE_BYTES = 1024 * 1024,    /* of one request; smaller ones reuse each other's memory */
    TRIM_BYTES = 4 * LARGE_BYTES, /* released by large requests, after which a walk through the heap is worth it */
    TRIM_MAX_POSTPONED = 10,      /* calls of body_memory_trim */
};

struct body_memory {
    struct memory_rule rule;
    uint64_t seed;
    atomic_uint refs;
    atomic_size_t used;
    atomic_size_t released; /* since the last trim */
    size_t released_before; /* at the last call of body_memory_trim; of its thread, as the next */
    unsigned postponed;
    atomic_size_t organizations[ENTRIES];
    atomic_size_t unknown; /* the larger bodies of unknown callers, as the next */
    atomic_size_t addresses[ENTRIES];
};

struct body_memory *body_memory_new(size_t max_bytes)
{
    struct body_memory *memory = calloc(1, sizeof(*memory));
    if (memory == NULL)
        panic(PANIC_NO_MEMORY);
    memory->rule = (struct memory_rule){
        .max_bytes = max_bytes,
        .organization_max_bytes = max_bytes / 4 * 3,
        .times_free = TIMES_FREE,
    };
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

static size_t entry_of(const struct body_memory *memory, uint64_t key)
{
    uint64_t hash = (key ^ memory->seed) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(hash >> 32) % ENTRIES;
}

static atomic_size_t *organization_entry(struct body_memory *memory, const struct body_share *share)
{
    return &memory->organizations[entry_of(memory, (uint64_t)share->organization_id)];
}

static atomic_size_t *address_entry(struct body_memory *memory, const struct body_share *share)
{
    return &memory->addresses[entry_of(memory, share->address)];
}

static void count_down(atomic_size_t *counter, size_t bytes)
{
    atomic_fetch_sub_explicit(counter, bytes, memory_order_relaxed);
}

/* Adds to a counter unless it would exceed its bound. */
static bool count_up(atomic_size_t *counter, size_t bytes, size_t max_bytes)
{
    size_t before = atomic_fetch_add_explicit(counter, bytes, memory_order_relaxed);
    if (bytes <= max_bytes && before <= max_bytes - bytes)
        return true;
    count_down(counter, bytes);
    return false;
}

static bool claim_for_organization(struct body_memory *memory, struct body_share *share, size_t bytes, size_t max_bytes)
{
    if (!count_up(organization_entry(memory, share), bytes, max_bytes))
        return false;
    share->organization_bytes += bytes;
    return true;
}

static bool claim_as_unknown(struct body_memory *memory, struct body_share *share, size_t bytes, const struct memory_shares *shares)
{
    if (share->bytes + bytes <= BODY_MEMORY_SMALL_BYTES)
        return true;
    if (!count_up(&memory->unknown, bytes, shares->unknown))
        return false;
    if (share->address != 0 && !count_up(address_entry(memory, share), bytes, shares->address)) {
        count_down(&memory->unknown, bytes);
        return false;
    }
    share->unknown_bytes += bytes;
    return true;
}

static void release_as_unknown(struct body_memory *memory, const struct body_share *share)
{
    count_down(&memory->unknown, share->unknown_bytes);
    if (share->address != 0)
        count_down(address_entry(memory, share), share->unknown_bytes);
}

/* What is used includes the bytes of this claim. */
static bool claim_for_caller(struct body_memory *memory, struct body_share *share, size_t bytes)
{
    struct memory_shares shares = memory_shares_of(&memory->rule, body_memory_used(memory));
    return share->organization_id != 0 ? claim_for_organization(memory, share, bytes, shares.organization)
                                       : claim_as_unknown(memory, share, bytes, &shares);
}

bool body_memory_claim(struct body_memory *memory, struct body_share *share, size_t bytes, struct error *err)
{
    if (count_up(&memory->used, bytes, memory->rule.max_bytes)) {
        if (claim_for_caller(memory, share, bytes)) {
            share->bytes += bytes;
            return true;
        }
        count_down(&memory->used, bytes);
    }
    err->retry_after_s = RETRY_AFTER_S;
    return fail(err, ERR_SERVICE_UNAVAILABLE, NULL,
                "The server is reading too many large bodies at this moment. Send fewer at a time, or send this one again later.");
}

void body_memory_release(struct body_memory *memory, struct body_share *share)
{
    if (share->bytes > 0) {
        if (share->organization_bytes > 0)
            count_down(organization_entry(memory, share), share->organization_bytes);
        if (share->unknown_bytes > 0)
            release_as_unknown(memory, share);
        count_down(&memory->used, share->bytes);
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
