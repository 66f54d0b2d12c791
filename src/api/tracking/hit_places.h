/*
 * Hit places: a bounded number of places that the hits of all brands share. A
 * brand may have as many as are free, half of all when it is alone, so a flood of
 * hits at the links of one brand leaves places for the next one.
 *
 * Two brands whose ids differ by HIT_PLACES_BRANDS share a count, and ids are
 * given in sequence. The lock of the recorder guards all functions.
 */
#pragma once

#include "base/compiler.h"

#include <stdbool.h>
#include <stdint.h>

enum { HIT_PLACES_BRANDS = 1024 };

struct hit_places {
    unsigned max;
    unsigned used;
    unsigned of_brand[HIT_PLACES_BRANDS];
};

/* Takes a place. False when the brand has as many as it may. */
MUST_CHECK bool hit_places_take(struct hit_places *places, int64_t brand_id) NONNULL(1);
void hit_places_give_back(struct hit_places *places, int64_t brand_id) NONNULL(1);
