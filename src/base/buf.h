/*
 * Buf: a growing byte buffer with a maximum.
 *
 * Appending never fails for its caller: at the maximum the buffer stops growing
 * and sets `overflowed`, which the owner checks once at the end. The bytes are
 * NUL-terminated if data is not NULL. The owner frees it with buf_done (or
 * declares it with BUF_SCOPE); an arena owns a buffer from buf_in_arena.
 */
#pragma once

#include "base/compiler.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct arena;

struct buf {
    char *data;
    size_t size;
    size_t capacity;
    size_t max_bytes;
    bool overflowed;
};

void buf_init(struct buf *buf, size_t max_bytes) NONNULL(1);
void buf_done(struct buf *buf);

/* A buffer whose storage is freed with the arena. */
struct buf *buf_in_arena(struct arena *arena, size_t max_bytes) NONNULL(1) RETURNS_NONNULL;

void buf_add(struct buf *buf, const void *bytes, size_t size) NONNULL(1);
void buf_add_text(struct buf *buf, const char *text) NONNULL(1, 2);
void buf_add_char(struct buf *buf, char byte) NONNULL(1);
void buf_printf(struct buf *buf, const char *format, ...) NONNULL(1, 2) PRINTF_LIKE(2, 3);

/* Reserves `size` more bytes. The caller writes them and counts them with buf_grown. NULL past the maximum. */
char *buf_room(struct buf *buf, size_t size) NONNULL(1);
void buf_grown(struct buf *buf, size_t size) NONNULL(1);

/* Empties the buffer and keeps its storage. */
void buf_clear(struct buf *buf) NONNULL(1);

/* Shortens the buffer to its first `size` bytes; `overflowed` is unchanged. */
void buf_cut(struct buf *buf, size_t size) NONNULL(1);

/* Removes the first `size` bytes; `overflowed` is unchanged. */
void buf_drop_front(struct buf *buf, size_t size) NONNULL(1);

/* The text so far, "" for an empty buffer. */
const char *buf_text(const struct buf *buf) NONNULL(1) RETURNS_NONNULL PURE;

#define BUF_SCOPE CLEANUP(buf_done) struct buf
