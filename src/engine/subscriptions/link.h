/*
 * The link by which a recipient leaves: PUBLIC_URL/u/TOKEN. The token names
 * the recipient of a send and, hashed, the address, so that it means the same
 * person when the contact was deleted or made again. It is signed, opaque to
 * whoever has it, and never expires (RFC 8058 §3: the link itself is the only
 * proof that is asked for).
 *
 * Plain values; any thread.
 */
#pragma once

#include "engine/core/work.h"

struct unsubscribe_link {
    int64_t brand_id;
    int64_t send_id; /* 0: of a test message, whose link unsubscribes nobody */
    int64_t ordinal; /* of the recipient in the send */
    unsigned char address_hash[SECRET_HASH_BYTES];
};

enum { UNSUBSCRIBE_TOKEN_CHARS = 96 };

char *unsubscribe_token(const struct engine *engine, struct arena *arena, const struct unsubscribe_link *link)
    NONNULL(1, 2, 3) RETURNS_NONNULL;

/* False when the token was not given out by this installation. */
bool unsubscribe_token_open(const struct engine *engine, struct arena *arena, const char *token, struct unsubscribe_link *ret_link)
    NONNULL(1, 2, 3, 4);
