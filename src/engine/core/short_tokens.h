/*
 * Short tokens: a call of an assistant gets short names for the sealed tokens
 * that it must copy (page cursors and confirmations), because a language model
 * copies long random text with mistakes. The database keeps the sealed token
 * under the hash of its short one for 24 hours, for the organization, the brand
 * and the caller that it was given to, so any process can read it.
 *
 * The same cursor has the same short token, so repeated calls add no row. A
 * short token has one of SHORT_TOKEN_SLOTS rows of its organization; a new one
 * replaces the token that has its row.
 *
 * Dispatch makes one struct for a call, finds the given tokens before the
 * handler runs, and keeps the issued ones after it. Other calls have none, and
 * use the sealed tokens.
 */
#pragma once

#include "engine/core/work.h"

enum { SHORT_TOKEN_SLOTS = 16384, SHORT_TOKENS_MAX = 2, SHORT_TOKEN_HOURS = 24 };

#define SHORT_CURSOR       "cur_"
#define SHORT_CONFIRMATION "yes_"

struct short_token {
    const char *text;
    const char *sealed; /* NULL: there is none for this caller */
};

struct short_tokens {
    int64_t caller_id; /* an API key; negative: a session; 0: the local owner */
    const char *tool;  /* the tool that gives new tokens */
    struct short_token given[SHORT_TOKENS_MAX];
    size_t given_count;
    struct short_token issued[SHORT_TOKENS_MAX];
    size_t issued_count;
};

/* Finds the sealed token of a given short token; NULL is no token. One round trip when the text has the form of one. */
MUST_CHECK bool short_token_find(const struct work *work, const char *prefix, const char *text, struct error *err) NONNULL(1, 2, 4);

/* The sealed token of a token from the caller: what short_token_find has found, or NULL. Without short tokens the text itself. */
const char *short_token_sealed(const struct work *work, const char *text) NONNULL(1, 2);

/* The token for the caller: a short one, or without short tokens `sealed` itself. Equal payloads have equal short tokens. */
const char *short_token_issue(const struct work *work, const char *prefix, const void *payload, size_t size, const char *sealed)
    NONNULL(1, 2, 3, 5) RETURNS_NONNULL;

/* Keeps the issued tokens, in one statement each; without any it does nothing. */
MUST_CHECK bool short_tokens_keep(const struct work *work, struct error *err) NONNULL(1, 2);

/* The tool whose call without a token gives a new one; NULL without short tokens. */
const char *short_token_tool(const struct work *work) NONNULL(1);
