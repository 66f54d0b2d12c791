#include "engine/tracking/link_token.h"

#include <string.h>

/* The token is a part of the purpose, so the target is valid behind this token only. */
static const char *target_purpose(struct arena *arena, const char *token)
{
    return arena_printf(arena, "link target %.*s", LINK_TOKEN_CHARS, token);
}

char *link_token_seal_target(const struct engine *engine, struct arena *arena, const char *token, const char *target)
{
    return token_seal(arena, &engine->token_keys, target_purpose(arena, token), target, strlen(target));
}

bool link_token_open(const struct engine *engine, struct arena *arena, const char *token, struct link_token *ret_token)
{
    size_t chars = strlen(token);
    *ret_token = (struct link_token){ .target = NULL };
    if (chars < LINK_TOKEN_CHARS || chars > LINK_TOKEN_MAX_CHARS ||
        !token_link_open(&engine->token_keys, token, &ret_token->owner, &ret_token->number))
        return false;
    if (chars == LINK_TOKEN_CHARS)
        return true;
    struct bytes target;
    if (!token_open(arena, &engine->token_keys, target_purpose(arena, token), token + LINK_TOKEN_CHARS, &target))
        return false;
    ret_token->target = arena_dup_bytes(arena, (const char *)target.data, target.size);
    return true;
}
