/*
 * Message-ID of our mail: <TOKEN@DOMAIN> (RFC 5322 §3.6.4). A bounce quotes it,
 * so the token alone names the recipient. It is sealed: its readers learn no
 * number from it and cannot make one. A message that is sent again has the same
 * Message-ID.
 *
 * Plain values; any thread.
 */
#pragma once

#include "engine/core/work.h"

struct message_origin {
    int64_t brand_id;
    int64_t send_id; /* 0: a test message, or one of a placement test */
    int64_t ordinal; /* ordinal of the recipient in the send; for a test message the id of its job; for one of a placement test the
                        negative id of its observation */
};

/* The local part of a Message-ID. */
char *message_id_token(const struct engine *engine, struct arena *arena, const struct message_origin *origin)
    NONNULL(1, 2, 3) RETURNS_NONNULL;

/* Finds the origin of a message by its Message-ID, with or without angle brackets and domain. False when this installation did
 * not make it. */
bool message_id_open(const struct engine *engine, struct arena *arena, const char *message_id, struct message_origin *ret_origin)
    NONNULL(1, 2, 3, 4);
