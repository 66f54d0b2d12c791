/*
 * The composer while it works. Private to src/designer.
 */
#pragma once

#include "designer/composer.h"
#include "designer/fixed_phrases.h"

enum { COMPOSER_WARNINGS_MAX = 60 };

struct composer {
    struct arena *arena;
    const struct brief *brief;
    const struct brief_facts *facts;
    const struct fixed_phrases *phrases; /* NULL: the language has none */
    const char *heading;
    const char *recipe;
    json_t *blocks;
    const char **warnings;
    size_t warning_count;
    bool has_button; /* the main button is in the email */
    bool took_first; /* the first sentence of the body is the heading */
};

void composer_warn(struct composer *composer, const char *warning) NONNULL(1, 2);

/* Warnings of what readers of the category would expect and the brief does not have. After all blocks are placed. */
void composer_warn_of_missing(struct composer *composer) NONNULL(1);
