#include "sender/message_cache.h"

#include "base/guard.h"

enum { SIGNATURES_MAX_BYTES = 16 * 1024 };

void message_cache_init(struct message_cache *cache, struct crash_slot *slot)
{
    *cache = (struct message_cache){ .slot = slot, .arena = arena_new(0), .scratch = arena_new(0) };
}

void message_cache_done(struct message_cache *cache)
{
    arena_free(cache->arena);
    arena_free(cache->scratch);
}

static bool use_batch(struct message_cache *cache, const struct sender *sender, const struct queued_batch *batch, struct error *err)
{
    if (cache->serial == batch->item.serial)
        return true;
    arena_reset(cache->arena);
    cache->serial = 0;
    struct work work = sender_work(sender, cache->arena, NULL);
    if (!delivery_composer(&work, &batch->batch, &cache->composer, err))
        return false;
    cache->signer = batch->keys.count > 0 ? dkim_signer_new(cache->arena, batch->keys) : NULL;
    cache->signatures = buf_in_arena(cache->arena, SIGNATURES_MAX_BYTES);
    cache->serial = batch->item.serial;
    return true;
}

struct composing {
    struct message_cache *cache;
    const struct sender *sender;
    const struct attempt *attempt;
    struct bytes *ret_signatures;
    struct bytes *ret_message;
};

static bool compose_and_sign(void *context, struct error *err)
{
    const struct composing *composing = context;
    struct message_cache *cache = composing->cache;
    const struct sender *sender = composing->sender;
    const struct attempt *attempt = composing->attempt;
    struct bytes *ret_signatures = composing->ret_signatures;
    struct bytes *ret_message = composing->ret_message;
    const struct queued_batch *batch = item_batch(attempt->item);
    size_t index = attempt_index(attempt);
    *ret_signatures = (struct bytes){ .size = 0 };
    if (!use_batch(cache, sender, batch, err))
        return false;
    arena_reset(cache->scratch);
    struct work work = sender_work(sender, cache->scratch, NULL);
    if (!delivery_compose(&work, &batch->batch, index, cache->composer, ret_message, err))
        return false;
    if (cache->signer == NULL)
        return true;
    /* Signed with the date of the message, so that signing it again gives the same bytes. */
    if (!dkim_sign(cache->signer, *ret_message, batch->batch.recipients[index].date, cache->signatures, err))
        return false;
    *ret_signatures = (struct bytes){ (const unsigned char *)buf_text(cache->signatures), cache->signatures->size };
    return true;
}

bool message_cache_compose(struct message_cache *cache, const struct sender *sender, const struct attempt *attempt,
                           struct bytes *ret_signatures, struct bytes *ret_message, struct error *err)
{
    const struct journal_key *key = &attempt->key;
    crash_slot_fill(cache->slot, CRASH_SLOT_RECIPIENT, key->brand_id, key->send_id, key->ordinal);
    struct composing composing = { cache, sender, attempt, ret_signatures, ret_message };
    bool done = guard_run(compose_and_sign, &composing, "message", err);
    if (err->code == ERR_PAYLOAD_TOO_LARGE)
        cache->serial = 0; /* the composer was left in the middle of a message */
    crash_slot_empty(cache->slot);
    return done;
}
