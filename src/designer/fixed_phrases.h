/*
 * Fixed phrases of composed documents in English, German, French and Spanish.
 * Documents in other languages have the words of their brief only. Private to
 * src/designer.
 */
#pragma once

#include "base/arena.h"
#include "base/values.h"

#include <stdbool.h>

enum { FIXED_LANGUAGES = 4 };

/* Phrases of a language; `%s` is the name of the brand. */
struct fixed_phrases {
    const char *language;
    const char *greeting;
    const char *reason;
    const char *website;
    const char *more;
};

/* NULL: the language has none. */
const struct fixed_phrases *fixed_phrases(const char *language) NONNULL(1);

/* The heading of a category, with the name of the brand; NULL: the category has none. */
const char *fixed_heading(struct arena *arena, const char *language, const char *category, const char *brand) NONNULL(1, 2, 3);

/* The label of the main button of a category; NULL: the language has none. */
const char *fixed_action(const char *language, const char *category) NONNULL(1, 2);

/* Whether emails of a category begin with a greeting. */
bool fixed_greets(const char *category) NONNULL(1) PURE;

/* All phrases, one a line. */
const char *fixed_text(struct arena *arena) NONNULL(1) RETURNS_NONNULL;
