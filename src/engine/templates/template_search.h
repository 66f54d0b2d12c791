/*
 * Search of templates: ranks the gallery by words and concepts (BM25F), without a
 * model. The first search builds the index, which then stays in memory and is
 * constant: any thread.
 */
#pragma once

#include "engine/templates/gallery.h"

/* The templates that have a word or a concept of the query, the best first, and equal ones in the order of the gallery.
 * `with_concepts` false: by words only. `ret_best` has room for the gallery. */
size_t template_rank(struct arena *arena, const char *query, bool with_concepts, const struct gallery_template **ret_best)
    NONNULL(1, 2, 4);
