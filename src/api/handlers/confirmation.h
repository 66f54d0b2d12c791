/*
 * The replies of sends and launches to a caller who must confirm first, or has declined. Private to the handlers.
 */
#pragma once

#include "api/op_context.h"
#include "engine/sends/confirm_token.h"

/* Marks the reply as a preview, whose body the caller writes. A preview does nothing, so the same call may be made again with its
 * idempotency key. */
void confirmation_reply(struct reply *reply, const char *token, const char *question) NONNULL(1, 2, 3);

/* The user has declined the preview: its token is used up and nothing is done. Errors: INVALID_REQUEST (confirmationToken). */
MUST_CHECK bool confirmation_decline(struct op_context *ctx, const struct confirm_kind *kind, struct reply *reply,
                                     struct error *err) NONNULL(1, 2, 3, 4);
