#include "base/buf.h"

#include "base/arena.h"
#include "base/large_block.h"
#include "base/panic.h"
#include "base/unwind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUF_FIRST_BYTES = 256 };

void buf_init(struct buf *buf, size_t max_bytes)
{
    *buf = (struct buf){ .max_bytes = max_bytes };
}

/* Storage of at least LARGE_BLOCK_BYTES is a large block. Both sizes are powers of two. */
static void free_storage(struct buf *buf)
{
    if (buf->capacity >= LARGE_BLOCK_BYTES)
        large_block_free(buf->data, buf->capacity);
    else
        free(buf->data);
}

static void grow_storage(struct buf *buf, size_t capacity)
{
    bool is_large = capacity >= LARGE_BLOCK_BYTES;
    char *data = is_large ? large_block_new(capacity) : realloc(buf->data, capacity);
    if (data == NULL)
        unwind_throw(PANIC_NO_MEMORY);
    if (is_large && buf->data != NULL) {
        memcpy(data, buf->data, buf->capacity);
        free_storage(buf);
    }
    buf->data = data;
    buf->capacity = capacity;
}

void buf_done(struct buf *buf)
{
    free_storage(buf);
    *buf = (struct buf){ .max_bytes = buf->max_bytes };
}

static void buf_release(void *object)
{
    buf_done(object);
}

struct buf *buf_in_arena(struct arena *arena, size_t max_bytes)
{
    struct buf *buf = arena_alloc(arena, sizeof(*buf));
    buf_init(buf, max_bytes);
    arena_defer(arena, buf_release, buf);
    return buf;
}

char *buf_room(struct buf *buf, size_t size)
{
    size_t wanted;
    if (__builtin_add_overflow(buf->size, size, &wanted) || wanted > buf->max_bytes || buf->overflowed) {
        buf->overflowed = true;
        return NULL;
    }
    if (wanted + 1 > buf->capacity) {
        size_t capacity = buf->capacity != 0 ? buf->capacity : BUF_FIRST_BYTES;
        while (capacity < wanted + 1)
            capacity *= 2;
        grow_storage(buf, capacity);
    }
    return buf->data + buf->size;
}

void buf_grown(struct buf *buf, size_t size)
{
    buf->size += size;
    buf->data[buf->size] = '\0';
}

void buf_add(struct buf *buf, const void *bytes, size_t size)
{
    char *room = buf_room(buf, size);
    if (room == NULL)
        return;
    if (size > 0)
        memcpy(room, bytes, size);
    buf_grown(buf, size);
}

void buf_add_text(struct buf *buf, const char *text)
{
    buf_add(buf, text, strlen(text));
}

void buf_add_char(struct buf *buf, char byte)
{
    char *room = buf_room(buf, 1);
    if (room == NULL)
        return;
    *room = byte;
    buf_grown(buf, 1);
}

void buf_printf(struct buf *buf, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *room = length >= 0 ? buf_room(buf, (size_t)length) : NULL;
    if (room != NULL) {
        vsnprintf(room, (size_t)length + 1, format, again);
        buf_grown(buf, (size_t)length);
    }
    va_end(again);
}

void buf_clear(struct buf *buf)
{
    buf->size = 0;
    buf->overflowed = false;
    if (buf->data != NULL)
        buf->data[0] = '\0';
}

void buf_cut(struct buf *buf, size_t size)
{
    if (size >= buf->size)
        return;
    buf->size = size;
    buf->data[size] = '\0';
}

void buf_drop_front(struct buf *buf, size_t size)
{
    if (size > buf->size)
        size = buf->size;
    if (size == 0)
        return;
    memmove(buf->data, buf->data + size, buf->size - size);
    buf->size -= size;
    buf->data[buf->size] = '\0';
}

const char *buf_text(const struct buf *buf)
{
    return buf->data != NULL ? buf->data : "";
}
