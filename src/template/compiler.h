/*
 * Template compiler, private parts: compile.c reads the source and compiles text
 * and placeholders, tags.c compiles tags, links.c numbers links. No other file
 * includes this header.
 */
#pragma once

#include "template/build.h"
#include "template/context.h"
#include "template/expression.h"
#include "template/markup.h"
#include "template/names.h"

enum template_block_kind { TEMPLATE_BLOCK_IF, TEMPLATE_BLOCK_CASE, TEMPLATE_BLOCK_FOR, TEMPLATE_BLOCK_CAPTURE };

/* An open block: a tag whose end tag has not come yet. */
struct template_block {
    enum template_block_kind kind;
    const char *at;      /* its beginning in the source */
    const char *end_tag; /* the name of its end tag */
    bool has_else;
    struct html_scanner begin;  /* the HTML state in which every branch begins … */
    struct html_scanner joined; /* … and in which the finished branches have ended */
    bool has_joined;
    uint32_t next; /* the chain of jumps to the end of this branch */
    uint32_t done; /* the chain of jumps to the end of the block */
    /* FOR */
    uint32_t body;
    uint32_t to_next; /* the chain of {% continue %} */
    /* CASE: hidden variables; CAPTURE: the variable */
    unsigned variable;
    unsigned hit;
    bool has_when;
};

struct template_compiler {
    enum template_kind kind;
    const char *source;
    const char *end;
    struct template_build build;
    struct template_names names;
    struct html_scanner html; /* for TEMPLATE_HTML */
    size_t placeholder_count;
    struct template_block blocks[TEMPLATE_MAX_DEPTH];
    size_t block_count;
    unsigned capture_depth;
    struct template_links *links;       /* NULL: links are not numbered */
    const char *link_at;                /* the beginning in the source of the link whose address continues behind a placeholder */
    bool text_link_is_open;             /* of plain text: there is such a link */
    enum template_piece_kind next_kind; /* of the piece that follows the current one */
};

/* Compiles literal text with links (links.c). */
void template_compile_html_links(struct template_compiler *compiler, const struct template_piece *piece) NONNULL(1, 2);
void template_compile_text_links(struct template_compiler *compiler, const struct template_piece *piece) NONNULL(1, 2);

/* Ends the link of plain text that is open before a piece which is neither text nor a placeholder. */
void template_compile_text_link_end(struct template_compiler *compiler, const struct template_piece *piece) NONNULL(1, 2);

/* Fails with "Line 3, column 7: {{ … }}: reason." Lines and columns count characters from 1. */
PRINTF_LIKE(4, 5)
bool template_compiler_refuse(const struct template_compiler *compiler, const char *at, struct error *err, const char *format, ...)
    NONNULL(1, 2, 3, 4);

/* Decodes the character references of HTML source into `ret_text` of at least `size` bytes, and returns the decoded size. */
size_t template_compiler_decode(const struct template_compiler *compiler, const char *text, size_t size, char *ret_text)
    NONNULL(1, 2, 4);

/* Makes a parser for text of the source, after decoding its character references. */
struct template_parser template_compiler_parser(struct template_compiler *compiler, const char *text, size_t size) NONNULL(1, 2);

/* Compiles one tag. Errors: INVALID_REQUEST with line and column. */
MUST_CHECK bool template_compile_tag(struct template_compiler *compiler, const struct template_piece *piece, struct error *err)
    NONNULL(1, 2, 3);

/* The innermost open block; NULL without one. */
static inline struct template_block *template_compiler_block(struct template_compiler *compiler)
{
    return compiler->block_count > 0 ? &compiler->blocks[compiler->block_count - 1] : NULL;
}

/* True between {% case %} and its first {% when %}, where only white space is allowed. */
static inline bool template_compiler_expects_when(struct template_compiler *compiler)
{
    const struct template_block *block = template_compiler_block(compiler);
    return block != NULL && block->kind == TEMPLATE_BLOCK_CASE && !block->has_when;
}
