#include "sender/message_cache.h"

enum { SIGNATURES_MAX_BYTES = 16 * 1024 };

void message_cache_init(struct message_cache *cache)
{
    *cache = (struct message_cache){ .arena = arena_new(0), .scratch = arena_new(0) };
}

void message_cache_done(struct message_cache *cache)
{
    arena_free(cache->arena);
    arena_free(cache->scratch);
}

static bool prepare(struct message_cache *cache, const struct sender *sender, const struct piece *piece, struct error *err)
{
    if (cache->serial == piece->serial)
        return true;
    arena_reset(cache->arena);
    cache->serial = 0;
    struct work work = sender_work(sender, cache->arena, NULL);
    if (!delivery_composer(&work, &piece->batch, &cache->composer, err))
        return false;
    cache->signer = piece->keys.count > 0 ? dkim_signer_new(cache->arena, piece->keys) : NULL;
    cache->signatures = buf_in_arena(cache->arena, SIGNATURES_MAX_BYTES);
    cache->serial = piece->serial;
    return true;
}

bool message_cache_compose(struct message_cache *cache, const struct sender *sender, const struct attempt *attempt,
                           struct bytes *ret_signatures, struct bytes *ret_message, struct error *err)
{
    const struct piece *piece = attempt->piece;
    size_t index = (size_t)(attempt - piece->attempts);
    *ret_signatures = (struct bytes){ .size = 0 };
    if (!prepare(cache, sender, piece, err))
        return false;
    arena_reset(cache->scratch);
    struct work work = sender_work(sender, cache->scratch, NULL);
    if (!delivery_compose(&work, &piece->batch, index, cache->composer, ret_message, err))
        return false;
    if (cache->signer == NULL)
        return true;
    /* The date of the message, so that signing it again gives the same bytes. */
    if (!dkim_sign(cache->signer, *ret_message, piece->batch.recipients[index].date, cache->signatures, err))
        return false;
    *ret_signatures = (struct bytes){ (const unsigned char *)buf_text(cache->signatures), cache->signatures->size };
    return true;
}
