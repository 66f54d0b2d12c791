/*
 * Memory for secrets: wiped before it is given back.
 */
#pragma once

#include "base/arena.h"

/* Zeroed memory that is wiped when the arena ends. */
void *secret_alloc(struct arena *arena, size_t size) NONNULL(1) RETURNS_NONNULL;

/* Overwrites a secret on the stack; no compiler takes this away. */
void secret_wipe(void *bytes, size_t size) NONNULL(1);
