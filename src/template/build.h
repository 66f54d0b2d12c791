/*
 * The writer of template blobs: collects instructions, strings and paths while
 * a template is compiled and puts them together at the end. Used by the
 * files of the compiler only; everything lives in the arena.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/values.h"
#include "template/template.h"
#include "template/format.h"

struct template_build {
    struct arena *arena;
    struct buf *instructions;
    struct buf *strings;
    struct buf *paths;
    struct buf *pool;
    uint32_t instruction_count;
    uint32_t string_count;
    uint32_t path_count;
    const char **path_names;
    unsigned char *path_flags;
};

void template_build_init(struct template_build *build, struct arena *arena) NONNULL(1, 2);

/* Appends an instruction and gives its number. */
uint32_t template_build_op(struct template_build *build, enum template_op op, unsigned a, unsigned b, uint32_t c) NONNULL(1);

/* Lets an earlier jump lead to the next instruction. */
void template_build_land(struct template_build *build, uint32_t jump) NONNULL(1);

/* Jumps that will land together are kept as a chain through their targets; an empty one is 0. */
void template_build_chain(struct template_build *build, uint32_t *chain, enum template_op op) NONNULL(1, 2);
void template_build_land_all(struct template_build *build, uint32_t *chain) NONNULL(1, 2);

/* Takes back the instructions from number `count` on. */
void template_build_rewind(struct template_build *build, uint32_t count) NONNULL(1);

/* Adds a string and gives its number. */
uint32_t template_build_string(struct template_build *build, const char *text, size_t size) NONNULL(1, 2);

/* The number of a path, the same for the same name; `flags` are added to those it has.
 * False when there are TEMPLATE_MAX_PATHS already. */
MUST_CHECK bool template_build_path(struct template_build *build, const char *name, size_t size, unsigned flags, uint32_t *ret_path)
    NONNULL(1, 2, 5);

/* The finished blob. Errors: INVALID_REQUEST when it is too large. */
MUST_CHECK bool template_build_finish(struct template_build *build, enum template_kind kind, struct bytes *ret_blob,
                                      struct error *err) NONNULL(1, 3, 4);
