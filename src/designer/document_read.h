/*
 * The reader of documents, private to src/designer: checks parts of a document
 * and copies them into their canonical form.
 */
#pragma once

#include "designer/document.h"

/* Whether a block may have an id already: only one that an earlier operation removed. */
enum block_ids { BLOCK_IDS_NEW, BLOCK_IDS_KEPT };

/* Each returns a new reference in the arena, or NULL with the error; its param is the path below the part. */
json_t *document_read_block(struct arena *arena, const json_t *given, enum block_ids ids, int64_t *serial, struct error *err)
    NONNULL(1, 4, 5);
json_t *document_read_theme(struct arena *arena, const json_t *given, struct error *err) NONNULL(1, 3);

/* All members of a document but its blocks, which are copied unchecked. */
json_t *document_read_members(struct arena *arena, const json_t *given, struct error *err) NONNULL(1, 3);
