/*
 * Concepts: the terms that senders of email use for one thing, in several
 * languages ("abandoned basket", "Warenkorb vergessen"). A lexicon finds the
 * concepts that the tokens of a text name. It is built once and then constant:
 * any thread may use it.
 */
#pragma once

#include "base/arena.h"
#include "base/values.h"

struct lexicon;

const struct lexicon *lexicon_build(struct arena *arena) NONNULL(1) RETURNS_NONNULL;

/* The names of the concepts (@cart) that the tokens name, in their order, as often as they are named. Of overlapping phrases the
 * longest one counts. */
struct text_list lexicon_concepts(const struct lexicon *lexicon, struct arena *arena, struct text_list tokens) NONNULL(1, 2);

/* The names of the concepts of a category of designs; NULL has none. */
struct text_list concepts_of_category(struct arena *arena, const char *category) NONNULL(1);

/* Whether a phrase has the token, and the token of a phrase that is spelt most like it; NULL when none is alike. */
bool lexicon_has(const struct lexicon *lexicon, const char *token) NONNULL(1, 2);
const char *lexicon_nearest(const struct lexicon *lexicon, const char *token) NONNULL(1, 2);
