/*
 * Comparison of two documents by their block ids.
 *
 * Pure; everything belongs to the arena. Any thread.
 */
#pragma once

#include "designer/document.h"

/* How the documents of two versions of a design differ:
 *
 *   isEqual   no other member has an entry
 *   members   changed members of the document, such as subjectLine: {member, before, after}
 *   theme     changed members of the theme, in the same form
 *   added     blocks of `after` only: {id, type, index, value}, `index` in `after`
 *   removed   blocks of `before` only: {id, type, index, value}, `index` in `before`
 *   moved     blocks that have another order: {id, type, before, after}, their indexes; as few blocks as possible
 *   changed   blocks with other members: {id, type, members: [{member, before, after}]}
 *
 * `before` and `after` of a member are null where the member is absent. Blocks are listed from top to bottom. */
const json_t *document_compare(struct arena *arena, const json_t *before, const json_t *after) NONNULL(1, 2, 3) RETURNS_NONNULL;
