/*
 * Reader: a bounds-checked cursor over untrusted bytes. A read past the end
 * returns zeros and sets `failed`. Copy the struct to look ahead.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct reader {
    const unsigned char *at;
    const unsigned char *end;
    bool failed;
};

static inline uint64_t reader_left(const struct reader *reader)
{
    return (uint64_t)(reader->end - reader->at);
}

static inline void reader_skip(struct reader *reader, uint64_t size)
{
    if (size > reader_left(reader)) {
        reader->failed = true;
        size = reader_left(reader);
    }
    reader->at += size;
}

static inline unsigned reader_u8(struct reader *reader)
{
    unsigned value = reader_left(reader) > 0 ? *reader->at : 0;
    reader_skip(reader, 1);
    return value;
}

static inline unsigned reader_u16be(struct reader *reader)
{
    unsigned high = reader_u8(reader);
    return high << 8 | reader_u8(reader);
}

static inline uint32_t reader_u32be(struct reader *reader)
{
    uint32_t high = reader_u16be(reader);
    return high << 16 | reader_u16be(reader);
}

static inline uint64_t reader_u64be(struct reader *reader)
{
    uint64_t high = reader_u32be(reader);
    return high << 32 | reader_u32be(reader);
}

static inline unsigned reader_u16le(struct reader *reader)
{
    unsigned low = reader_u8(reader);
    return low | reader_u8(reader) << 8;
}

static inline uint32_t reader_u24le(struct reader *reader)
{
    uint32_t low = reader_u16le(reader);
    return low | reader_u8(reader) << 16;
}

static inline uint32_t reader_u32le(struct reader *reader)
{
    uint32_t low = reader_u16le(reader);
    return low | (uint32_t)reader_u16le(reader) << 16;
}

/* A reader for the next `size` bytes less the `counted` bytes already read; skips them in `reader`. */
static inline struct reader reader_part(struct reader *reader, uint64_t size, uint64_t counted)
{
    struct reader part = { reader->at, reader->at, reader->failed };
    if (size < counted)
        reader->failed = true;
    else
        reader_skip(reader, size - counted);
    part.end = reader->at;
    part.failed = reader->failed;
    return part;
}

static inline bool reader_starts_with(const struct reader *reader, const char *bytes, size_t size)
{
    return reader_left(reader) >= size && memcmp(reader->at, bytes, size) == 0;
}

static inline bool reader_has_tag(const struct reader *reader, const char tag[4])
{
    return reader_starts_with(reader, tag, 4);
}
