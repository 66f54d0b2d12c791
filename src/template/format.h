/*
 * Bytecode format of a compiled template (the blob): private to the template
 * module and its fuzzer. All numbers are little-endian and unaligned.
 *
 *     header        32 bytes
 *     instructions  8 bytes each: op u8, a u8, b u16, c u32
 *     strings       8 bytes each: offset u32, size u32, into the pool
 *     paths         8 bytes each: a string, flags; in version 1 4 bytes, the string only
 *     pool          the bytes of the strings, each followed by a NUL
 *
 * The interpreter is a stack machine. The stack is empty at the beginning of a
 * statement and at the target of a jump. All jumps go forward, except NEXT, which
 * goes back to the body of its loop. Therefore one pass over the instructions
 * proves that no stack overflows or underflows, that every loop is left, and that
 * the program terminates. The numbers of operations, filters, comparisons and
 * escapes are stored in databases: never reuse one. Version 1 had the operations
 * up to EMIT, version 2 those up to CAPTURED; their blobs still run.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TEMPLATE_MAGIC "PHTB"

enum {
    TEMPLATE_FORMAT_OLDEST = 1,
    TEMPLATE_FORMAT_VERSION = 3,
    TEMPLATE_INSTRUCTION_BYTES = 8,
    TEMPLATE_STRING_BYTES = 8,
    TEMPLATE_PATH_BYTES = 8,
    TEMPLATE_OLD_PATH_BYTES = 4,
    TEMPLATE_STACK_MAX = 32,
    TEMPLATE_MAX_VARIABLES = 64,
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
    TEMPLATE_AT_CHECKSUM = 24, /* u64: of the blob without this field */
    TEMPLATE_HEADER_BYTES = 32,
};

enum template_op {
    TEMPLATE_OP_END = 0,       /* only as the last instruction */
    TEMPLATE_OP_TEXT = 1,      /* append string c */
    TEMPLATE_OP_LOAD = 2,      /* push the value of path c */
    TEMPLATE_OP_CONST = 3,     /* push string c */
    TEMPLATE_OP_FILTER = 4,    /* pop b arguments and a value, push the result of filter a */
    TEMPLATE_OP_EMIT = 5,      /* pop a value and append it with escape a */
    TEMPLATE_OP_INTEGER = 6,   /* push c, a signed number */
    TEMPLATE_OP_NUMBER = 7,    /* push the number in string c */
    TEMPLATE_OP_LITERAL = 8,   /* push literal a */
    TEMPLATE_OP_VARIABLE = 9,  /* push variable b; if it is not assigned, path c - 1, or nil for c = 0 */
    TEMPLATE_OP_STORE = 10,    /* pop a value into variable b */
    TEMPLATE_OP_ITEM = 11,     /* push the item of loop b; loop 0 is the outermost */
    TEMPLATE_OP_FORLOOP = 12,  /* push forloop property a of loop b */
    TEMPLATE_OP_MEMBER = 13,   /* pop a value, push its member named by string c */
    TEMPLATE_OP_INDEX = 14,    /* pop a key and a value, push the value's member */
    TEMPLATE_OP_RANGE = 15,    /* pop last and first, push the list of whole numbers from first to last */
    TEMPLATE_OP_COMPARE = 16,  /* pop right and left, push the result of comparison a */
    TEMPLATE_OP_AND = 17,      /* pop two values, push true if both are truthy */
    TEMPLATE_OP_OR = 18,       /* pop two values, push true if one is truthy */
    TEMPLATE_OP_NOT = 19,      /* pop a value, push true if it is not truthy */
    TEMPLATE_OP_JUMP = 20,     /* jump to c */
    TEMPLATE_OP_BRANCH = 21,   /* pop a value; jump to c if its truth value is a */
    TEMPLATE_OP_FOR = 22,      /* pop limit and offset (if set in the bits of a) and a list; begin the loop, or jump to c when it is
                                  empty */
    TEMPLATE_OP_NEXT = 23,     /* jump to c with the next item; after the last item, end the loop */
    TEMPLATE_OP_LEAVE = 24,    /* end the loop and jump to c */
    TEMPLATE_OP_CAPTURE = 25,  /* redirect the output to a capture … */
    TEMPLATE_OP_CAPTURED = 26, /* … end the capture and store its text in variable b */
    TEMPLATE_OP_LINK = 27,     /* append string c, the address of link b */
    TEMPLATE_OP_LINK_BEGIN = 28, /* the address of a link begins … */
    TEMPLATE_OP_LINK_END = 29,   /* … and ends; it is that of link b */
};

enum template_literal {
    TEMPLATE_LITERAL_NIL = 0,
    TEMPLATE_LITERAL_FALSE = 1,
    TEMPLATE_LITERAL_TRUE = 2,
    TEMPLATE_LITERAL_EMPTY = 3,
    TEMPLATE_LITERAL_BLANK = 4,
    TEMPLATE_LITERAL_COUNT,
};

enum template_comparison {
    TEMPLATE_EQUAL = 0,
    TEMPLATE_UNEQUAL = 1,
    TEMPLATE_LESS = 2,
    TEMPLATE_GREATER = 3,
    TEMPLATE_AT_MOST = 4,
    TEMPLATE_AT_LEAST = 5,
    TEMPLATE_CONTAINS = 6,
    TEMPLATE_COMPARISON_COUNT,
};

enum template_forloop {
    TEMPLATE_FORLOOP_INDEX = 0,
    TEMPLATE_FORLOOP_INDEX0 = 1,
    TEMPLATE_FORLOOP_RINDEX = 2,
    TEMPLATE_FORLOOP_RINDEX0 = 3,
    TEMPLATE_FORLOOP_FIRST = 4,
    TEMPLATE_FORLOOP_LAST = 5,
    TEMPLATE_FORLOOP_LENGTH = 6,
    TEMPLATE_FORLOOP_COUNT,
};

/* Bits of FOR: the modifiers on the stack. The list is pushed first, then offset, then limit. */
enum {
    TEMPLATE_FOR_OFFSET = 1,
    TEMPLATE_FOR_LIMIT = 2,
    TEMPLATE_FOR_REVERSED = 4,
    TEMPLATE_FOR_BITS = 7,
};

/* Flags of a path. */
enum {
    TEMPLATE_PATH_LISTED = 1, /* the template reads this path; without the flag, it is only the fallback of a variable */
};

enum template_escape {
    TEMPLATE_ESCAPE_NONE = 0,
    TEMPLATE_ESCAPE_HEADER = 1,      /* control characters and line breaks become spaces */
    TEMPLATE_ESCAPE_HTML = 2,        /* element text and quoted attributes */
    TEMPLATE_ESCAPE_URL_START = 3,   /* the value is a URL or its beginning */
    TEMPLATE_ESCAPE_URL_PART = 4,    /* one component of a URL */
    TEMPLATE_ESCAPE_URL_OPAQUE = 5,  /* the number or mailbox of tel:, sms: and mailto: */
    TEMPLATE_ESCAPE_HTML_BREAKS = 6, /* element text; line breaks become <br /> */
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

static inline struct template_instruction template_read_instruction(const unsigned char *instructions, uint32_t index)
{
    const unsigned char *at = instructions + (size_t)index * TEMPLATE_INSTRUCTION_BYTES;
    return (struct template_instruction){ .op = at[0], .a = at[1], .b = template_read_u16(at + 2), .c = template_read_u32(at + 4) };
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

/* FNV-1a over the blob without its checksum. It detects damage; it does not protect against an attacker. */
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
