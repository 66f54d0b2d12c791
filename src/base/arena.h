/*
 * Arena: a region allocator for the memory of one request or one job, freed at
 * once.
 *
 * The arena owns objects that outlive the function that made them; a cleanup
 * attribute owns the others. arena_defer adds foreign objects (a parsed JSON
 * tree, a query result), which are released with the arena, newest first.
 * An allocation never fails for its caller. When memory or the arena's bound is
 * exhausted, the computation is left by unwind_throw (base/unwind.h). Outside
 * of a catch, the bound may be passed by 4 MiB, enough for errors and headers.
 * An arena belongs to one thread at a time. Under AddressSanitizer every
 * allocation is a separate malloc, so that overruns are detected.
 */
#pragma once

#include "base/compiler.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

struct arena;

enum { ARENA_DEFAULT_MAX_BYTES = 64 * 1024 * 1024 };

/* A new arena of at most `max_bytes` (ARENA_DEFAULT_MAX_BYTES when 0). */
struct arena *arena_new(size_t max_bytes) RETURNS_NONNULL;

/* Runs the deferred releases, newest first, then frees everything. NULL is allowed. */
void arena_free(struct arena *arena);

/* Empties the arena for reuse and keeps its first block. */
void arena_reset(struct arena *arena) NONNULL(1);

/* Zeroed memory, aligned for any type. `size` 0 returns a valid pointer. */
void *arena_alloc(struct arena *arena, size_t size) NONNULL(1) RETURNS_NONNULL;

/* Zeroed array; a product that overflows passes the bound. */
void *arena_array(struct arena *arena, size_t count, size_t item_size) NONNULL(1) RETURNS_NONNULL;

/* Copies of text, NUL-terminated. arena_dup returns NULL for NULL. */
char *arena_dup(struct arena *arena, const char *text) NONNULL(1);
char *arena_dup_bytes(struct arena *arena, const void *bytes, size_t size) NONNULL(1) RETURNS_NONNULL;
char *arena_printf(struct arena *arena, const char *format, ...) NONNULL(1, 2) PRINTF_LIKE(2, 3) RETURNS_NONNULL;
char *arena_vprintf(struct arena *arena, const char *format, va_list arguments) NONNULL(1, 2) PRINTF_LIKE(2, 0) RETURNS_NONNULL;

/* Calls release(object) when the arena is freed or reset. */
void arena_defer(struct arena *arena, void (*release)(void *object), void *object) NONNULL(1, 2);

/* Counts memory that the arena owns by arena_defer and that others have allocated. */
void arena_count(struct arena *arena, size_t size) NONNULL(1);

/* Passes the bound now if `size` more bytes would. Called before a step that must not be left in the middle. */
void arena_require(const struct arena *arena, size_t size) NONNULL(1);

/* The bytes allocated so far. */
size_t arena_used_bytes(const struct arena *arena) NONNULL(1) PURE;

void arena_cleanup(struct arena **arena);
#define ARENA_SCOPE CLEANUP(arena_cleanup) struct arena *
