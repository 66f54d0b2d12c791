#include "http/answer_memory.h"

#include "base/panic.h"
#include "base/memory_share.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { BUCKETS = 1024, RETRY_AFTER_S = 2, ORGANIZATION_PART = 4 };

/* What an organization or an address holds. */
struct holder {
    int64_t organization_id;
    uint64_t address;
    size_t bytes; /* more than 0 */
    struct holder *next;
};

struct answer_memory {
    struct memory_rule rule;
    atomic_uint refs;
    atomic_size_t used; /* written under the lock */

    pthread_mutex_t lock; /* of the members below */
    struct holder *buckets[BUCKETS];
    size_t unknown_bytes; /* of all unknown callers */
};

struct answer_memory *answer_memory_new(size_t max_bytes)
{
    struct answer_memory *memory = calloc(1, sizeof(*memory));
    if (memory == NULL)
        panic(PANIC_NO_MEMORY);
    memory->rule = (struct memory_rule){
        .max_bytes = max_bytes,
        .organization_max_bytes = max_bytes / ORGANIZATION_PART,
        .times_free = 1,
    };
    memory->refs = 1;
    pthread_mutex_init(&memory->lock, NULL);
    return memory;
}

struct answer_memory *answer_memory_ref(struct answer_memory *memory)
{
    atomic_fetch_add_explicit(&memory->refs, 1, memory_order_relaxed);
    return memory;
}

void answer_memory_unref(struct answer_memory *memory)
{
    if (atomic_fetch_sub_explicit(&memory->refs, 1, memory_order_acq_rel) != 1)
        return;
    pthread_mutex_destroy(&memory->lock);
    free(memory);
}

/* The link to the holder of this owner, or the end of its chain. Under the lock. */
static struct holder **find_holder(struct answer_memory *memory, const struct answer_share *owner)
{
    uint64_t hash = ((uint64_t)owner->organization_id ^ owner->address) * UINT64_C(0x9e3779b97f4a7c15);
    struct holder **link = &memory->buckets[(hash >> 32) % BUCKETS];
    while (*link != NULL && ((*link)->organization_id != owner->organization_id || (*link)->address != owner->address))
        link = &(*link)->next;
    return link;
}

/* ---- Whether there is room ---- */

static bool owner_has_room(struct answer_memory *memory, const struct answer_share *owner, const struct memory_shares *shares)
{
    bool is_unknown = owner->organization_id == 0;
    bool is_named = !is_unknown || owner->address != 0;
    pthread_mutex_lock(&memory->lock);
    const struct holder *holder = is_named ? *find_holder(memory, owner) : NULL;
    bool has_room = holder == NULL || holder->bytes < (is_unknown ? shares->address : shares->organization);
    if (is_unknown && memory->unknown_bytes >= shares->unknown)
        has_room = false;
    pthread_mutex_unlock(&memory->lock);
    return has_room;
}

static bool refuse(struct error *err, const char *sentence)
{
    err->retry_after_s = RETRY_AFTER_S;
    return fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "%s", sentence);
}

/* While all together hold less than the smallest share, nobody holds too much, and nothing is looked up. */
bool answer_memory_has_room(struct answer_memory *memory, const struct answer_share *share, struct error *err)
{
    size_t used = answer_memory_used(memory);
    struct memory_shares shares = memory_shares_of(&memory->rule, used);
    if (used < shares.address)
        return true;
    if (!owner_has_room(memory, share, &shares))
        return refuse(err, "Large answers to earlier calls wait to be read. Read them or close their connections, then send this "
                           "call again.");
    return used < memory->rule.max_bytes ||
           refuse(err, "The server holds too many large answers that wait to be read. Send this call again later.");
}

/* ---- Counting ---- */

static struct holder *holder_new(const struct answer_share *owner)
{
    struct holder *holder = calloc(1, sizeof(*holder));
    if (holder == NULL)
        panic(PANIC_NO_MEMORY);
    holder->organization_id = owner->organization_id;
    holder->address = owner->address;
    return holder;
}

void answer_memory_hold(struct answer_memory *memory, struct answer_share *share, size_t bytes)
{
    if (bytes == 0)
        return;
    pthread_mutex_lock(&memory->lock);
    struct holder **link = find_holder(memory, share);
    if (*link == NULL)
        *link = holder_new(share);
    (*link)->bytes += bytes;
    if (share->organization_id == 0)
        memory->unknown_bytes += bytes;
    atomic_fetch_add_explicit(&memory->used, bytes, memory_order_relaxed);
    pthread_mutex_unlock(&memory->lock);
    share->bytes += bytes;
}

void answer_memory_let_go(struct answer_memory *memory, struct answer_share *share, size_t bytes)
{
    if (bytes == 0)
        return;
    pthread_mutex_lock(&memory->lock);
    struct holder **link = find_holder(memory, share);
    struct holder *holder = *link;
    if (holder == NULL)
        panic("answers that were not counted are let go");
    holder->bytes -= bytes;
    if (holder->bytes == 0) {
        *link = holder->next;
        free(holder);
    }
    if (share->organization_id == 0)
        memory->unknown_bytes -= bytes;
    atomic_fetch_sub_explicit(&memory->used, bytes, memory_order_relaxed);
    pthread_mutex_unlock(&memory->lock);
    share->bytes -= bytes;
}

void answer_memory_release(struct answer_memory *memory, struct answer_share *share)
{
    answer_memory_let_go(memory, share, share->bytes);
    *share = (struct answer_share){ .organization_id = 0 };
}

size_t answer_memory_used(const struct answer_memory *memory)
{
    return atomic_load_explicit(&memory->used, memory_order_relaxed);
}
