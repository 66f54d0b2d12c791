/*
 * Recipes: which blocks a composed document has, in which order, variant and
 * tone. Private to src/designer.
 *
 * A recipe is a line of words type:variant/tone. The types header, hero, offer,
 * event, products, stories, button, signature, social and footer, and the word
 * body, are places: what the brief has for them stands there. The types of body
 * blocks give their variants and tones only. hero! has the main button.
 */
#pragma once

#include "base/compiler.h"

#include <stddef.h>

enum { RECIPES_PER_CATEGORY = 3 };

/* A recipe of a category; `choice` is any number. */
const char *recipe_of(const char *category, size_t choice) NONNULL(1) RETURNS_NONNULL;
