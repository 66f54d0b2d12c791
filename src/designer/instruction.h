/*
 * Instructions: a small English grammar for edits without a model (replace, set,
 * remove, add, move, colour, link). An instruction is understood as a whole or
 * not at all. Merge tags, links, the address and the link to unsubscribe survive
 * each clause that does not name them.
 *
 * Pure; everything belongs to the arena. Any thread.
 */
#pragma once

#include "base/values.h"
#include "designer/document.h"

enum { INSTRUCTION_MAX_CHARS = 20000 };

struct instruction {
    const json_t *operations;    /* for document_change with the same serial number, or for renderer_splice; NULL: not understood */
    struct text_list understood; /* the parts that were understood, as sentences */
    struct text_list unclear;    /* the parts that were not, with the reasons */
};

/* Reads an instruction about a document. `serial` is the number of the last block id of the design: operations may name blocks that
 * earlier ones add. */
const struct instruction *instruction_read(struct arena *arena, const json_t *document, int64_t serial, const char *text)
    NONNULL(1, 2, 4) RETURNS_NONNULL;

/* Reads an instruction about an imported design, of which there is an outline only (renderer_outline): texts and addresses that it
 * has can change. The rest is unclear, with the reason. */
const struct instruction *instruction_read_outline(struct arena *arena, const json_t *outline, const char *text)
    NONNULL(1, 2, 3) RETURNS_NONNULL;
