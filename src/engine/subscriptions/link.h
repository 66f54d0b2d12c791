/*
 * Unsubscribe link of a recipient: PUBLIC_URL/u/TOKEN. The token contains the
 * recipient of a send and the hash of the address, so that it identifies the
 * same person after the contact was deleted or created again. It is sealed, so
 * its reader learns nothing, and never expires (RFC 8058 §3: the link itself is
 * the only proof).
 *
 * Plain values; any thread.
 */
#pragma once

#include "engine/core/work.h"

struct unsubscribe_link {
    int64_t brand_id;
    int64_t send_id;    /* 0: no send */
    int64_t ordinal;    /* ordinal of the recipient in the send */
    bool was_asked_for; /* the person asked for the link; it belongs to no send */
    int64_t contact_id; /* of a link that was asked for; 0: the address had no contact */
    unsigned char address_hash[SECRET_HASH_BYTES];
};

/* Whether the link came with a test message. Such a link unsubscribes nobody. */
static inline bool unsubscribe_link_is_test(const struct unsubscribe_link *link)
{
    return link->send_id == 0 && !link->was_asked_for;
}

enum { UNSUBSCRIBE_TOKEN_CHARS = 96 };

/* The link in texts that are only shown, never sent. It belongs to nobody and leads nowhere (RFC 2606 §3). */
#define UNSUBSCRIBE_PREVIEW_URL "https://example.com/unsubscribe-preview"

char *unsubscribe_token(const struct engine *engine, struct arena *arena, const struct unsubscribe_link *link)
    NONNULL(1, 2, 3) RETURNS_NONNULL;

/* Opens a token. False when this installation did not make it. */
bool unsubscribe_token_open(const struct engine *engine, struct arena *arena, const char *token, struct unsubscribe_link *ret_link)
    NONNULL(1, 2, 3, 4);
