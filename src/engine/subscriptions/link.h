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
    int64_t send_id; /* 0: a test message; its link unsubscribes nobody */
    int64_t ordinal; /* ordinal of the recipient in the send */
    unsigned char address_hash[SECRET_HASH_BYTES];
};

enum { UNSUBSCRIBE_TOKEN_CHARS = 96 };

/* The link in texts that are only shown, never sent. It belongs to nobody and leads nowhere (RFC 2606 §3). */
#define UNSUBSCRIBE_PREVIEW_URL "https://example.com/unsubscribe-preview"

char *unsubscribe_token(const struct engine *engine, struct arena *arena, const struct unsubscribe_link *link)
    NONNULL(1, 2, 3) RETURNS_NONNULL;

/* Opens a token. False when this installation did not make it. */
bool unsubscribe_token_open(const struct engine *engine, struct arena *arena, const char *token, struct unsubscribe_link *ret_link)
    NONNULL(1, 2, 3, 4);
