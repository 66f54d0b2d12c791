/*
 * What the files of the compiler share: template_compile.c walks over the
 * source and compiles text and slots, template_tags.c compiles tags. Nobody
 * else includes this.
 */
#pragma once

#include "template/build.h"
#include "template/context.h"
#include "template/expression.h"
#include "template/markup.h"
#include "template/names.h"

enum template_block_kind { TEMPLATE_BLOCK_IF, TEMPLATE_BLOCK_CASE, TEMPLATE_BLOCK_FOR, TEMPLATE_BLOCK_CAPTURE };

/* A tag that waits for its end. */
struct template_block {
    enum template_block_kind kind;
    const char *at;      /* where it begins in the source */
    const char *end_tag; /* the name of its end */
    bool has_else;
    struct html_scanner begin;  /* the place of the HTML in which every branch begins … */
    struct html_scanner joined; /* … and in which those that are done have ended */
    bool has_joined;
    uint32_t next; /* the chain of jumps that lead behind this branch */
    uint32_t done; /* the chain of jumps that lead behind the block */
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
    struct html_scanner html; /* of TEMPLATE_HTML */
    size_t slot_count;
    struct template_block blocks[TEMPLATE_MAX_DEPTH];
    size_t block_count;
    unsigned capture_depth;
};

/* Fails with "Line 3, column 7: {{ … }}: reason." The place is counted in characters, from 1. */
PRINTF_LIKE(4, 5)
bool template_compiler_refuse(const struct template_compiler *compiler, const char *at, struct error *err, const char *format, ...)
    NONNULL(1, 2, 3, 4);

/* A parser over text of the source, its character references decoded as the author meant them. */
struct template_parser template_compiler_parser(struct template_compiler *compiler, const char *text, size_t size) NONNULL(1, 2);

/* Compiles one tag. Errors: INVALID_REQUEST naming the place. */
MUST_CHECK bool template_compile_tag(struct template_compiler *compiler, const struct template_piece *piece, struct error *err)
    NONNULL(1, 2, 3);

/* The innermost block, NULL outside of all. */
static inline struct template_block *template_compiler_block(struct template_compiler *compiler)
{
    return compiler->block_count > 0 ? &compiler->blocks[compiler->block_count - 1] : NULL;
}

/* Between {% case %} and its first {% when %} nothing can be shown. */
static inline bool template_compiler_waits_for_when(struct template_compiler *compiler)
{
    const struct template_block *block = template_compiler_block(compiler);
    return block != NULL && block->kind == TEMPLATE_BLOCK_CASE && !block->has_when;
}
