/*
 * Exact texts of documents and what takes their place: in the subject, the
 * preview text, the texts of blocks, alternative texts and addresses of links.
 *
 * Pure; everything belongs to the arena. Any thread.
 */
#pragma once

#include "designer/document.h"

struct document_replaced {
    const json_t *document;   /* canonical, with the new texts */
    const json_t *operations; /* that made it (designer/change.h) */
    const json_t *replaced;   /* of each replacement: {count, places}, as in the resource "editedEmail" */
};

/* Replaces texts one after the other; all of them, or none. `replacements` has objects with find, with and all. A text is found as
 * the document has it, with marks of Markdown. Merge tags are found as a whole. An address is changed when the text is like one, or
 * is nowhere else. In Markdown, the new text is Markdown. Errors: INVALID_REQUEST with the path (replacements.0.find),
 * PAYLOAD_TOO_LARGE. */
MUST_CHECK bool document_replace(struct arena *arena, const json_t *document, const json_t *replacements,
                                 struct document_replaced *ret_replaced, struct error *err) NONNULL(1, 2, 3, 4, 5);
