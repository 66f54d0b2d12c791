/*
 * Secret memory: wiped before it is freed.
 */
#pragma once

#include "base/arena.h"

/* Zeroed memory that is wiped when the arena ends. */
void *secret_alloc(struct arena *arena, size_t size) NONNULL(1) RETURNS_NONNULL;

/* Overwrites a secret on the stack; a compiler cannot remove this call. */
void secret_wipe(void *bytes, size_t size) NONNULL(1);
