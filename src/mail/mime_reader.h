/*
 * MIME reader: splits a message of somebody else into its parts (RFC 2045, RFC 2046). The message may be malformed in any way. All
 * bounds hold for hostile input: what lies beyond them is left out, and the rest is read. The time is linear in the size of the
 * message. NUL bytes, bare LF and bytes that are not ASCII are read.
 *
 * Parts borrow the message. Texts live in the given arena. Any thread.
 */
#pragma once

#include "base/arena.h"
#include "base/values.h"

enum {
    MIME_MESSAGE_MAX_BYTES = 10 * 1024 * 1024,
    MIME_HEADERS_MAX_BYTES = 256 * 1024, /* of one part */
    MIME_VALUE_MAX_BYTES = 4 * 1024,     /* of one header field; the rest of the field is left out */
    MIME_MAX_DEPTH = 20,
    MIME_MAX_PARTS = 1000,
};

struct mime_part {
    struct bytes headers;
    struct bytes body; /* in its transfer encoding */
    const char *type;  /* in lower case, without parameters: text/plain */
    int depth;         /* 0: the message itself */
};

struct mime_parts {
    const struct mime_part *items; /* in the order of the message; the first is the message itself */
    size_t count;
};

/* Splits a message. A part of the type message/rfc822 is not split further. */
struct mime_parts mime_read(struct arena *arena, struct bytes message) NONNULL(1);

/* The header block at the start of a message. `ret_body`, if not NULL, gets what follows it. */
struct bytes mime_header_block(struct bytes message, struct bytes *ret_body);

/* The value of the first field with this name, unfolded, in valid UTF-8 without control characters. NULL when there is none. */
char *mime_header(struct arena *arena, struct bytes headers, const char *name) NONNULL(1, 3);

/* As mime_header; moves `headers` behind the field, so that the next call gives the next field. */
char *mime_next_header(struct arena *arena, struct bytes *headers, const char *name) NONNULL(1, 2, 3);

/* A parameter of a value such as `text/plain; charset=utf-8`. NULL when there is none. */
char *mime_parameter(struct arena *arena, const char *value, const char *name) NONNULL(1, 2, 3);

/* A value whose encoded words (RFC 2047) in UTF-8, US-ASCII and Latin-1 are decoded, and the
 * ASCII characters of ISO-2022-JP. Others stay as they are. */
char *mime_decode_words(struct arena *arena, const char *value) NONNULL(1, 2) RETURNS_NONNULL;

/* The first `max_bytes` of the body without its transfer encoding. A malformed encoding is decoded as far as possible. */
struct bytes mime_body(struct arena *arena, const struct mime_part *part, size_t max_bytes) NONNULL(1, 2);
