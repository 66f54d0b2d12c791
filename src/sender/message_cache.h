/*
 * Composing: one thread's means to compose and sign the messages of a piece,
 * made anew when the piece changes.
 */
#pragma once

#include "sender/delivery_queue.h"

struct message_cache {
    struct arena *arena;   /* of the composer and the signer */
    struct arena *scratch; /* of one message */
    int64_t serial;        /* of the piece they are made for; 0: none */
    struct composer *composer;
    struct dkim_signer *signer; /* NULL: unsigned */
    struct buf *signatures;
};

void message_cache_init(struct message_cache *cache) NONNULL(1);
void message_cache_done(struct message_cache *cache) NONNULL(1);

/* The message of a attempt in hand, and the headers that sign it, until the next one is composed.
 * Errors: as delivery_compose. */
MUST_CHECK bool message_cache_compose(struct message_cache *cache, const struct sender *sender, const struct attempt *attempt,
                                      struct bytes *ret_signatures, struct bytes *ret_message, struct error *err)
    NONNULL(1, 2, 3, 4, 5, 6);
