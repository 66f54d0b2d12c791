/*
 * Bytecode writer of templates: collects instructions, strings and paths during
 * compilation, and assembles the blob at the end. Private to the compiler;
 * everything is allocated in the arena.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/values.h"
#include "template/format.h"
#include "template/template.h"

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

/* Appends an instruction and returns its number. */
uint32_t template_build_op(struct template_build *build, enum template_op op, unsigned a, unsigned b, uint32_t c) NONNULL(1);

/* Sets the target of an earlier jump to the next instruction (backpatching). */
void template_build_patch_jump(struct template_build *build, uint32_t jump) NONNULL(1);

/* Jumps with the same future target form a chain through their target fields; 0 is the empty chain. */
void template_build_chain(struct template_build *build, uint32_t *chain, enum template_op op) NONNULL(1, 2);
void template_build_patch_chain(struct template_build *build, uint32_t *chain) NONNULL(1, 2);

/* Removes the instructions from number `count` on. */
void template_build_rewind(struct template_build *build, uint32_t count) NONNULL(1);

/* Adds a string and returns its number. */
uint32_t template_build_string(struct template_build *build, const char *text, size_t size) NONNULL(1, 2);

/* Adds a path, or finds it by its name, and returns its number. `flags` are added to its flags.
 * False when there are TEMPLATE_MAX_PATHS already. */
MUST_CHECK bool template_build_path(struct template_build *build, const char *name, size_t size, unsigned flags, uint32_t *ret_path)
    NONNULL(1, 2, 5);

/* Assembles the blob. Errors: INVALID_REQUEST when it is too large. */
MUST_CHECK bool template_build_finish(struct template_build *build, enum template_kind kind, struct bytes *ret_blob,
                                      struct error *err) NONNULL(1, 3, 4);
