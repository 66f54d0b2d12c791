/*
 * Token of a tracked link, PUBLIC_URL/c/TOKEN, and of the picture that reports
 * opens, PUBLIC_URL/o/TOKEN. It names the recipient of a send and the number of
 * the link in the version of the design. The target of a link is in the table of
 * the version (links.h). That of a merged link, which is the recipient's own,
 * follows the token, sealed for this token only. So nobody can make a token that
 * leads anywhere else.
 *
 * Writing is cheap for the second and later links of a message. Plain values;
 * any thread.
 */
#pragma once

#include "engine/core/work.h"

enum {
    LINK_TOKEN_CHARS = TOKEN_LINK_CHARS,
    LINK_TOKEN_TARGET_MAX_BYTES = 900, /* of a merged link; a link with a longer one is not tracked */
    LINK_TOKEN_MAX_CHARS = LINK_TOKEN_CHARS + TOKEN_CHARS(LINK_TOKEN_TARGET_MAX_BYTES),
    LINK_NUMBER_OPEN = UINT16_MAX, /* the picture */
};

struct link_token {
    struct token_owner owner;
    uint16_t number;
    const char *target; /* of a merged link; NULL: in the table of the version */
};

/* The sealed target, which follows a token of LINK_TOKEN_CHARS characters. */
char *link_token_seal_target(const struct engine *engine, struct arena *arena, const char *token, const char *target)
    NONNULL(1, 2, 3, 4) RETURNS_NONNULL;

/* Opens a token. False when this installation did not make it. */
bool link_token_open(const struct engine *engine, struct arena *arena, const char *token, struct link_token *ret_token)
    NONNULL(1, 2, 3, 4);
