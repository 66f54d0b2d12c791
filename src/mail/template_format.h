/*
 * The blob of a compiled template: private to the template files and their
 * fuzzer. All numbers are little-endian and unaligned.
 *
 *     header        32 bytes
 *     instructions  8 bytes each: op u8, a u8, b u16, c u32
 *     strings       8 bytes each: offset u32, size u32, into the pool
 *     paths         4 bytes each: a string
 *     pool          the bytes of the strings, a NUL behind each
 *
 * Values live on a stack. An instruction that appends a literal runs with an
 * empty stack; so will the targets of later jumps, which lets one pass over the
 * instructions prove that the stack never runs over or under. The numbers of
 * operations, filters and escapes are stored in databases: never reuse one.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TEMPLATE_MAGIC "PHTB"

enum {
    TEMPLATE_FORMAT_VERSION = 1,
    TEMPLATE_INSTRUCTION_BYTES = 8,
    TEMPLATE_STRING_BYTES = 8,
    TEMPLATE_PATH_BYTES = 4,
    TEMPLATE_STACK_MAX = 8,
    TEMPLATE_BLOB_MAX_BYTES = 4 * 1024 * 1024,
};

/* Offsets in the header. */
enum {
    TEMPLATE_AT_MAGIC = 0,
    TEMPLATE_AT_VERSION = 4, /* u16 */
    TEMPLATE_AT_KIND = 6,    /* u16 */
    TEMPLATE_AT_INSTRUCTION_COUNT = 8,
    TEMPLATE_AT_STRING_COUNT = 12,
    TEMPLATE_AT_PATH_COUNT = 16,
    TEMPLATE_AT_POOL_BYTES = 20,
    TEMPLATE_AT_CHECKSUM = 24, /* u64: of everything but itself */
    TEMPLATE_HEADER_BYTES = 32,
};

enum template_op {
    TEMPLATE_OP_END = 0,    /* the last instruction, and only that */
    TEMPLATE_OP_TEXT = 1,   /* append string c */
    TEMPLATE_OP_LOAD = 2,   /* push the value of path c */
    TEMPLATE_OP_CONST = 3,  /* push string c */
    TEMPLATE_OP_FILTER = 4, /* pop b arguments and a value, push the result of filter a */
    TEMPLATE_OP_EMIT = 5,   /* pop a value and append it with escape a */
};

enum template_escape {
    TEMPLATE_ESCAPE_NONE = 0,
    TEMPLATE_ESCAPE_HEADER = 1,     /* controls and line breaks become spaces */
    TEMPLATE_ESCAPE_HTML = 2,       /* element text and quoted attributes */
    TEMPLATE_ESCAPE_URL_START = 3,  /* the value is the URL or its beginning */
    TEMPLATE_ESCAPE_URL_PART = 4,   /* one component of a URL */
    TEMPLATE_ESCAPE_URL_OPAQUE = 5, /* the number or mailbox of tel:, sms: and mailto: */
    TEMPLATE_ESCAPE_COUNT,
};

struct template_instruction {
    uint8_t op;
    uint8_t a;
    uint16_t b;
    uint32_t c;
};

static inline uint32_t template_read_u32(const unsigned char *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static inline uint16_t template_read_u16(const unsigned char *at)
{
    return (uint16_t)(at[0] | at[1] << 8);
}

static inline void template_write_u32(unsigned char *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(value >> (8 * i));
}

static inline void template_write_u16(unsigned char *at, uint16_t value)
{
    at[0] = (unsigned char)value;
    at[1] = (unsigned char)(value >> 8);
}

/* FNV-1a over the blob without its checksum: finds damage, proves nothing about an attacker. */
static inline uint64_t template_checksum(const unsigned char *blob, size_t size)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < size; i++) {
        if (i == TEMPLATE_AT_CHECKSUM)
            i = TEMPLATE_HEADER_BYTES;
        if (i < size)
            sum = (sum ^ blob[i]) * UINT64_C(0x100000001b3);
    }
    return sum;
}

static inline void template_seal(unsigned char *blob, size_t size)
{
    uint64_t sum = template_checksum(blob, size);
    template_write_u32(blob + TEMPLATE_AT_CHECKSUM, (uint32_t)sum);
    template_write_u32(blob + TEMPLATE_AT_CHECKSUM + 4, (uint32_t)(sum >> 32));
}
