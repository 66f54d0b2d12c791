/*
 * Template lexer: divides the source into literal text, placeholders and tags,
 * and trims the white space around {{- -}} and {%- -%}. It does not parse the
 * content of placeholders and tags. The content of raw and comment is one piece.
 */
#pragma once

#include "base/compiler.h"

#include <stdbool.h>
#include <stddef.h>

enum template_piece_kind {
    TEMPLATE_PIECE_TEXT,
    TEMPLATE_PIECE_PLACEHOLDER,
    TEMPLATE_PIECE_TAG,
    TEMPLATE_PIECE_COMMENT, /* from {% comment %} to {% endcomment %}; `text` is the content */
    TEMPLATE_PIECE_END,
    TEMPLATE_PIECE_BROKEN,
};

struct template_piece {
    enum template_piece_kind kind;
    const char *at;     /* its beginning in the source */
    const char *text;   /* for a placeholder or tag, the trimmed content of the braces */
    size_t size;        /* bytes of text */
    bool is_raw;        /* TEXT from {% raw %} */
    const char *reason; /* BROKEN: the end of an error sentence */
};

struct template_markup {
    const char *at;
    const char *end;
    bool trims_right; /* the previous piece trims the following white space */
    bool in_raw;
    const char *raw_at;
};

void template_markup_init(struct template_markup *markup, const char *source, size_t size) NONNULL(1, 2);

/* Reads the next piece; TEMPLATE_PIECE_END at the end. */
struct template_piece template_markup_next(struct template_markup *markup) NONNULL(1);

/* Bytes of the name at the beginning of a tag. */
size_t template_tag_name_size(const char *text, size_t size) NONNULL(1) PURE;
