/*
 * The JSON object in the text of an answer. Servers that ignore a schema put
 * prose around it, or a Markdown fence. Private to src/models.
 */
#pragma once

#include "base/arena.h"

#include <jansson.h>

/* The only JSON object in the text. NULL with the problem, a sentence for the model: there is none, it is cut, or there are
 * several. */
const json_t *answer_find_object(struct arena *arena, const char *text, const char **ret_problem) NONNULL(1, 2, 3);
