#include "base/arena.h"

#include "base/large_block.h"
#include "base/panic.h"
#include "base/unwind.h"

#include <stdalign.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ARENA_FIRST_BLOCK_BYTES = 8 * 1024,
    ARENA_MAX_BLOCK_BYTES = 1024 * 1024, /* unless one allocation needs more */
    ARENA_OVERDRAFT_BYTES = 4 * 1024 * 1024,
};

struct block {
    struct block *previous;
    size_t size; /* of `bytes` */
    size_t used;
    bool is_large;
    alignas(max_align_t) unsigned char bytes[];
};

struct deferred {
    struct deferred *previous;
    void (*release)(void *object);
    void *object;
};

/* A whole number of alignments. */
enum { DEFERRED_BYTES = (sizeof(struct deferred) + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t) };

struct arena {
    struct block *block;
    struct deferred *deferred;
    size_t used_bytes;
    size_t max_bytes;
};

static struct block *block_new(struct block *previous, size_t size, bool is_large)
{
    struct block *block = is_large ? large_block_new(sizeof(*block) + size) : malloc(sizeof(*block) + size);
    if (block == NULL)
        unwind_throw(PANIC_NO_MEMORY);
    block->previous = previous;
    block->size = size;
    block->used = 0;
    block->is_large = is_large;
    return block;
}

static void block_free(struct block *block)
{
    if (block->is_large)
        large_block_free(block, sizeof(*block) + block->size);
    else
        free(block);
}

struct arena *arena_new(size_t max_bytes)
{
    struct arena *arena = calloc(1, sizeof(*arena));
    if (arena == NULL)
        unwind_throw(PANIC_NO_MEMORY);
    arena->max_bytes = max_bytes != 0 ? max_bytes : (size_t)ARENA_DEFAULT_MAX_BYTES;
    return arena;
}

static void arena_release(struct arena *arena, bool keep_first_block)
{
    while (arena->deferred != NULL) {
        struct deferred *deferred = arena->deferred;
        arena->deferred = deferred->previous;
        deferred->release(deferred->object);
    }
    while (arena->block != NULL) {
        struct block *block = arena->block;
        if (keep_first_block && !ADDRESS_SANITIZER && block->previous == NULL && !block->is_large) {
            block->used = 0;
            break;
        }
        arena->block = block->previous;
        block_free(block);
    }
    arena->used_bytes = 0;
}

void arena_free(struct arena *arena)
{
    if (arena == NULL)
        return;
    arena_release(arena, false);
    free(arena);
}

void arena_reset(struct arena *arena)
{
    arena_release(arena, true);
}

void arena_cleanup(struct arena **arena)
{
    arena_free(*arena);
}

/* Blocks double up to a bound. An arena that fills half a large block grows by large blocks. */
static struct block *next_block(const struct arena *arena, size_t wanted)
{
    if (ADDRESS_SANITIZER)
        return block_new(arena->block, wanted, false);
    if (arena->used_bytes + wanted >= LARGE_BLOCK_BYTES / 2) {
        size_t blocks = (sizeof(struct block) + wanted + LARGE_BLOCK_BYTES - 1) / LARGE_BLOCK_BYTES;
        return block_new(arena->block, blocks * LARGE_BLOCK_BYTES - sizeof(struct block), true);
    }
    size_t size = arena->block != NULL ? arena->block->size * 2 : (size_t)ARENA_FIRST_BLOCK_BYTES;
    if (size > ARENA_MAX_BLOCK_BYTES)
        size = ARENA_MAX_BLOCK_BYTES;
    return block_new(arena->block, size > wanted ? size : wanted, false);
}

/* Code outside of a catch writes errors and headers, which are small. It may pass the bound, because the computation that has
 * filled the arena is over. */
static void pass_bound(const struct arena *arena, size_t taken)
{
    size_t max_bytes = arena->max_bytes + ARENA_OVERDRAFT_BYTES;
    if (unwind_is_caught() || arena->used_bytes > max_bytes || taken > max_bytes - arena->used_bytes)
        unwind_throw("an arena has passed its bound");
}

static void check_bound(const struct arena *arena, size_t taken)
{
    if (arena->used_bytes > arena->max_bytes || taken > arena->max_bytes - arena->used_bytes)
        pass_bound(arena, taken);
}

static void *take(struct arena *arena, size_t taken)
{
    if (arena->block == NULL || ADDRESS_SANITIZER || arena->block->size - arena->block->used < taken)
        arena->block = next_block(arena, taken);
    void *memory = arena->block->bytes + arena->block->used;
    arena->block->used += taken;
    arena->used_bytes += taken;
    return memory;
}

/* Memory that is not zeroed. */
static void *take_aligned(struct arena *arena, size_t size)
{
    const size_t alignment = alignof(max_align_t);
    size_t rounded;
    if (__builtin_add_overflow(size, alignment - 1, &rounded))
        unwind_throw("an arena's allocation has no representable size");
    rounded &= ~(alignment - 1);
    /* Under the sanitizer the size is not rounded, so that an overrun by one byte is detected. */
    size_t taken = ADDRESS_SANITIZER ? size : rounded;

    check_bound(arena, taken);
    return take(arena, taken);
}

void *arena_alloc(struct arena *arena, size_t size)
{
    return memset(take_aligned(arena, size), 0, size);
}

void *arena_array(struct arena *arena, size_t count, size_t item_size)
{
    size_t size;
    if (__builtin_mul_overflow(count, item_size, &size))
        unwind_throw("an arena's allocation has no representable size");
    return arena_alloc(arena, size);
}

char *arena_dup_bytes(struct arena *arena, const void *bytes, size_t size)
{
    char *copy = take_aligned(arena, size + 1);
    if (size > 0)
        memcpy(copy, bytes, size);
    copy[size] = '\0';
    return copy;
}

char *arena_dup(struct arena *arena, const char *text)
{
    return text != NULL ? arena_dup_bytes(arena, text, strlen(text)) : NULL;
}

char *arena_vprintf(struct arena *arena, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    if (length < 0)
        panic("a format is invalid");
    char *text = arena_alloc(arena, (size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = arena_vprintf(arena, format, arguments);
    va_end(arguments);
    return text;
}

void arena_defer(struct arena *arena, void (*release)(void *object), void *object)
{
    /* The bound is not checked: the object already exists and would be lost. */
    struct deferred *deferred = take(arena, DEFERRED_BYTES);
    deferred->previous = arena->deferred;
    deferred->release = release;
    deferred->object = object;
    arena->deferred = deferred;
}

void arena_count(struct arena *arena, size_t size)
{
    check_bound(arena, size);
    arena->used_bytes += size;
}

void arena_require(const struct arena *arena, size_t size)
{
    check_bound(arena, size);
}

size_t arena_used_bytes(const struct arena *arena)
{
    return arena->used_bytes;
}
