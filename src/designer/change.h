/*
 * Changes of documents: operations by block id (schemas/document.json), applied
 * all or none. Blocks that no operation names keep their bytes.
 *
 * Pure; everything belongs to the arena. Any thread.
 */
#pragma once

#include "designer/document.h"

enum { DOCUMENT_OPERATIONS_MAX = 100 };

struct document_change {
    const json_t *document;   /* canonical, with the operations applied */
    const json_t *operations; /* canonical; an inserted block has its id */
    const json_t *inverse;    /* operations that give the first document again, to the byte */
};

/* Applies a list of operations to a canonical document. New blocks get ids after `*serial`, which moves on.
 * Errors: INVALID_REQUEST with the path (operations.1.values.heading), PAYLOAD_TOO_LARGE. */
MUST_CHECK bool document_change(struct arena *arena, const json_t *document, const json_t *operations, int64_t *serial,
                                struct document_change *ret_change, struct error *err) NONNULL(1, 2, 4, 5, 6);

/* As document_change, for an inverse of document_change: its inserted blocks keep their ids. */
MUST_CHECK bool document_undo(struct arena *arena, const json_t *document, const json_t *inverse, const json_t **ret_document,
                              struct error *err) NONNULL(1, 2, 3, 4, 5);
