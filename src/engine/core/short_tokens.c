#include "engine/core/short_tokens.h"

#include "base/clock.h"
#include "sql/short_tokens.h"

#include <string.h>

/* ---- The row of a token ---- */

struct token_row {
    unsigned char hash[SECRET_HASH_BYTES];
    int64_t slot;
};

static struct token_row row_of(const char *text)
{
    struct token_row row;
    secret_hash(text, row.hash);
    row.slot = (row.hash[0] << 8 | row.hash[1]) % SHORT_TOKEN_SLOTS;
    return row;
}

/* ---- Given tokens ---- */

bool short_token_find(const struct work *work, const char *prefix, const char *text, struct error *err)
{
    struct short_tokens *tokens = work->short_tokens;
    if (text == NULL || tokens->given_count == SHORT_TOKENS_MAX || !token_short_is_well_formed(prefix, text))
        return true;
    struct token_row row = row_of(text);
    struct short_token_find_params params = {
        .organization_id = work->organization_id,
        .slot = row.slot,
        .token_hash = { row.hash, sizeof(row.hash) },
        .brand_id = work->brand_id,
        .caller_id = tokens->caller_id,
        .now = work->now_us,
    };
    struct short_token_find_row *found;
    if (!sql_short_token_find(work->conn, work->arena, &params, &found, err))
        return false;
    if (found != NULL)
        tokens->given[tokens->given_count++] = (struct short_token){ text, found->sealed };
    return true;
}

const char *short_token_sealed(const struct work *work, const char *text)
{
    const struct short_tokens *tokens = work->short_tokens;
    if (tokens == NULL)
        return text;
    for (size_t i = 0; i < tokens->given_count; i++)
        if (strcmp(tokens->given[i].text, text) == 0)
            return tokens->given[i].sealed;
    return NULL;
}

const char *short_token_tool(const struct work *work)
{
    return work->short_tokens != NULL ? work->short_tokens->tool : NULL;
}

/* ---- Issued tokens ---- */

/* The short token depends on its caller, so that callers with equal payloads do not share a row. */
static const char *make_text(const struct work *work, const char *prefix, const void *payload, size_t size)
{
    const int64_t owner[] = { work->organization_id, work->brand_id, work->short_tokens->caller_id };
    unsigned char *bytes = arena_alloc(work->arena, sizeof(owner) + size);
    memcpy(bytes, owner, sizeof(owner));
    memcpy(bytes + sizeof(owner), payload, size);
    return token_short(work->arena, &work->engine->token_keys, prefix, bytes, sizeof(owner) + size);
}

const char *short_token_issue(const struct work *work, const char *prefix, const void *payload, size_t size, const char *sealed)
{
    struct short_tokens *tokens = work->short_tokens;
    if (tokens == NULL)
        return sealed;
    const char *text = make_text(work, prefix, payload, size);
    for (size_t i = 0; i < tokens->issued_count; i++)
        if (strcmp(tokens->issued[i].text, text) == 0)
            return text;
    if (tokens->issued_count == SHORT_TOKENS_MAX)
        return sealed;
    tokens->issued[tokens->issued_count++] = (struct short_token){ text, sealed };
    return text;
}

bool short_tokens_keep(const struct work *work, struct error *err)
{
    const struct short_tokens *tokens = work->short_tokens;
    for (size_t i = 0; i < tokens->issued_count; i++) {
        struct token_row row = row_of(tokens->issued[i].text);
        struct short_token_keep_params params = {
            .organization_id = work->organization_id,
            .slot = row.slot,
            .token_hash = { row.hash, sizeof(row.hash) },
            .brand_id = work->brand_id,
            .caller_id = tokens->caller_id,
            .sealed = tokens->issued[i].sealed,
            .expires_at = work->now_us + SHORT_TOKEN_HOURS * INT64_C(3600) * US_PER_S,
        };
        if (!sql_short_token_keep(work->conn, work->arena, &params, NULL, err))
            return false;
    }
    return true;
}
