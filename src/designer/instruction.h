/*
 * Instructions: a small English grammar for edits without a model (replace, set,
 * remove, add, move, colour, link). An instruction is understood as a whole or
 * not at all.
 *
 * Pure; everything belongs to the arena. Any thread.
 */
#pragma once

#include "designer/document.h"

struct instruction {
    const json_t *operations;    /* for document_change; NULL: not understood */
    struct text_list understood; /* the parts that were understood, as sentences */
    struct text_list unclear;    /* the parts that were not */
};

/* Reads an instruction about a document. */
const struct instruction *instruction_read(struct arena *arena, const json_t *document, const char *text)
    NONNULL(1, 2, 3) RETURNS_NONNULL;
