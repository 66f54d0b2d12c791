/*
 * Message cache: a thread's composer and DKIM signer for one batch. They are
 * made when the thread changes to another batch, and then serve all its
 * messages. Each thread has a cache of its own.
 */
#pragma once

#include "sender/delivery_queue.h"

struct message_cache {
    struct crash_slot *slot; /* of the thread */
    struct arena *arena;     /* of the composer and the signer */
    struct arena *scratch;   /* of one message */
    int64_t serial;          /* of the batch that they are made for; 0: none */
    struct composer *composer;
    struct dkim_signer *signer; /* NULL: unsigned */
    struct buf *signatures;
};

void message_cache_init(struct message_cache *cache, struct crash_slot *slot) NONNULL(1, 2);
void message_cache_done(struct message_cache *cache) NONNULL(1);

/* Composes the message for an attempt of a batch, and the header fields that sign it. Everything that depends on the data of the
 * design and of the recipient happens in this call, and the crash slot of the thread names the recipient meanwhile. Both last until
 * the next call. Composing an attempt again gives the same bytes. Errors: as delivery_compose. */
MUST_CHECK bool message_cache_compose(struct message_cache *cache, const struct sender *sender, const struct attempt *attempt,
                                      struct bytes *ret_signatures, struct bytes *ret_message, struct error *err)
    NONNULL(1, 2, 3, 4, 5, 6);
