/*
 * Words of images, as the column assets.words has them: a tsvector whose lexemes
 * are the tokens of engine/search/tokens.h, with the weights A (alternative
 * text), B (description), C (heading, title of the page, file name) and D (names
 * of colours). Private to src/engine/assets.
 */
#pragma once

#include "engine/assets/assets.h"

/* The tsvector as text. */
const char *asset_words(struct arena *arena, const struct asset *asset) NONNULL(1, 2) RETURNS_NONNULL;
