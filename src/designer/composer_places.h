/*
 * The places of a recipe: hero, body, offer, products and the others. Private to
 * src/designer.
 */
#pragma once

#include "designer/composer_work.h"

/* The first text says the heading again. */
bool composer_repeats_heading(const struct composer *composer) NONNULL(1);

/* Places all blocks of the recipe. */
void composer_place_all(struct composer *composer) NONNULL(1);
