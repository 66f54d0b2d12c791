#include "sender/message_cache.h"

enum { SIGNATURES_MAX_BYTES = 16 * 1024 };

void composing_begin(struct composing *composing)
{
    *composing = (struct composing){ .arena = arena_new(0), .scratch = arena_new(0) };
}

void composing_end(struct composing *composing)
{
    arena_free(composing->arena);
    arena_free(composing->scratch);
}

static bool prepare(struct composing *composing, const struct sender *sender, const struct piece *piece, struct error *err)
{
    if (composing->serial == piece->serial)
        return true;
    arena_reset(composing->arena);
    composing->serial = 0;
    struct work work = sender_work(sender, composing->arena, NULL);
    if (!delivery_composer(&work, &piece->batch, &composing->composer, err))
        return false;
    composing->signer = piece->keys.count > 0 ? dkim_signer_new(composing->arena, piece->keys) : NULL;
    composing->signatures = buf_in_arena(composing->arena, SIGNATURES_MAX_BYTES);
    composing->serial = piece->serial;
    return true;
}

bool composing_write(struct composing *composing, const struct sender *sender, const struct slot *slot,
                     struct bytes *ret_signatures, struct bytes *ret_message, struct error *err)
{
    const struct piece *piece = slot->piece;
    size_t index = (size_t)(slot - piece->slots);
    *ret_signatures = (struct bytes){ .size = 0 };
    if (!prepare(composing, sender, piece, err))
        return false;
    arena_reset(composing->scratch);
    struct work work = sender_work(sender, composing->scratch, NULL);
    if (!delivery_compose(&work, &piece->batch, index, composing->composer, ret_message, err))
        return false;
    if (composing->signer == NULL)
        return true;
    /* The date of the message, so that signing it again gives the same bytes. */
    if (!dkim_sign(composing->signer, *ret_message, piece->batch.recipients[index].date, composing->signatures, err))
        return false;
    *ret_signatures = (struct bytes){ (const unsigned char *)buf_text(composing->signatures), composing->signatures->size };
    return true;
}
