/*
 * Large block: memory of 2 MiB and more, for bodies and arenas of megabytes.
 *
 * A block is aligned to 2 MiB and asks for transparent huge pages (madvise(2),
 * MADV_HUGEPAGE). Its first use costs one page fault for each 2 MiB then, and
 * one for each 4 KiB otherwise. A system without huge pages gives ordinary
 * ones. A freed block goes back to the system at once.
 */
#pragma once

#include "base/compiler.h"

#include <stddef.h>

enum { LARGE_BLOCK_BYTES = 2 * 1024 * 1024 };

/* A block of `size` bytes, a multiple of LARGE_BLOCK_BYTES. NULL without memory. It is zeroed. */
MUST_CHECK void *large_block_new(size_t size);

/* Frees a block of that size. */
void large_block_free(void *block, size_t size) NONNULL(1);
