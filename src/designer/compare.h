/*
 * Comparison of two documents by their block ids.
 *
 * Pure; everything belongs to the arena. Any thread.
 */
#pragma once

#include "designer/document.h"

/* The resource "emailComparison" without its ids: blocks that were added, removed, moved or changed with their members before and
 * after, and the changed members of the document and its theme. */
const json_t *document_compare(struct arena *arena, const json_t *before, const json_t *after) NONNULL(1, 2, 3) RETURNS_NONNULL;
