/*
 * Blocks of the composer's document: their members, their place at the end of
 * the document, and the main button. Private to src/designer.
 */
#pragma once

#include "designer/composer_work.h"

enum { RECIPE_WORD_MAX_BYTES = 64 };

bool composer_is_paragraph(const json_t *block);

/* The word of a recipe for a type: "offer:coupon/tint"; false: it has none. */
bool composer_recipe_word(const char *recipe, const char *type, char ret_word[RECIPE_WORD_MAX_BYTES]) NONNULL(1, 2, 3);

void composer_place(struct composer *composer, json_t *block, const char *name) NONNULL(1, 3);
json_t *composer_new_block(const struct composer *composer, const char *type, const json_t *members) NONNULL(1, 2);
void composer_set_brand_text(const struct composer *composer, json_t *block, const char *name, const char *text, size_t max)
    NONNULL(1, 3);
void composer_place_header(struct composer *composer) NONNULL(1);
void composer_place_footer(struct composer *composer) NONNULL(1);
const char *composer_host_of(const struct composer *composer, const char *address) NONNULL(1);
json_t *composer_main_button(const struct composer *composer) NONNULL(1);
void composer_place_button(struct composer *composer) NONNULL(1);
