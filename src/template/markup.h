/*
 * Markup: divides the source of a template into literal text, slots and tags,
 * as a reader sees them, and takes away the white space that {{- -}} and
 * {%- -%} ask to take away. What a slot or tag says is not looked into, but for
 * raw and comment, whose inside is one piece.
 */
#pragma once

#include "base/compiler.h"

#include <stdbool.h>
#include <stddef.h>

enum template_piece_kind {
    TEMPLATE_PIECE_TEXT,
    TEMPLATE_PIECE_SLOT,
    TEMPLATE_PIECE_TAG,
    TEMPLATE_PIECE_COMMENT, /* from {% comment %} to {% endcomment %}; text is what stands between */
    TEMPLATE_PIECE_END,
    TEMPLATE_PIECE_BROKEN,
};

struct template_piece {
    enum template_piece_kind kind;
    const char *at; /* where it begins in the source */
    const char *text;
    size_t size;        /* of text; of a slot and a tag what stands between the braces, blanks taken off */
    bool is_raw;        /* TEXT from {% raw %} */
    const char *reason; /* BROKEN: why, as the end of a sentence */
};

struct template_markup {
    const char *at;
    const char *end;
    bool trims_right; /* the piece before asked for it */
    bool in_raw;
    const char *raw_at;
};

void template_markup_init(struct template_markup *markup, const char *source, size_t size) NONNULL(1, 2);

/* The next piece, TEMPLATE_PIECE_END at the end. */
struct template_piece template_markup_next(struct template_markup *markup) NONNULL(1);

/* The first word of a tag, in the tag. */
size_t template_tag_name_size(const char *text, size_t size) NONNULL(1) PURE;
