/*
 * Tokens: the words of a text as searches compare them. Letters are folded
 * (case, accents, ß as ss, width), and frequent endings of English, German,
 * French and Spanish words are cut, so that "Shoes" and "shoe" are one token.
 * Ideographs and kana are a token each, because no space divides their words.
 *
 * A token has ASCII digits and letters of any script: no space, quote or
 * operator. Tokens live in the given arena. Any thread.
 */
#pragma once

#include "base/arena.h"
#include "base/values.h"

#include <stdbool.h>

enum {
    TOKEN_MAX_BYTES = 48, /* the rest of a longer word is left out */
    TOKENS_OF_QUERY = 100,
};

/* The first `max` tokens of a text in their order. NULL has none. */
struct text_list tokens_of(struct arena *arena, const char *text, size_t max) NONNULL(1);

/* The tokens without those of these words, each once. When nothing else is left, all are kept. `words` ends with NULL. */
struct text_list tokens_without(struct arena *arena, struct text_list tokens, const char *const *words) NONNULL(1, 3);

bool tokens_have(struct text_list tokens, const char *token) NONNULL(2) PURE;

/* How alike two tokens are, 0 to 1: the share of trigrams that they have in common (Dice). */
double token_likeness(const char *one, const char *other) NONNULL(1, 2);

/* Two tokens with at least this likeness are spellings of one word. */
extern const double token_alike;
