/*
 * Comparison of two versions of an imported design by what a reader sees: texts,
 * links and pictures (html_parts.h).
 *
 * Pure; everything belongs to the arena. Any thread.
 */
#pragma once

#include "base/arena.h"

#include <jansson.h>

/* How two prepared documents differ, in n log n:
 *
 *   isEqual  no other member has an entry
 *   texts    {before, after}: texts as a reader sees them; null: it is in the other document only
 *   links    the same of {text, href}
 *   images   the same of {alt, src}
 *
 * Entries are in the order of the documents. A part that has another one in its place is one entry with both. */
const json_t *html_compare(struct arena *arena, const char *before, const char *after) NONNULL(1, 2, 3) RETURNS_NONNULL;
