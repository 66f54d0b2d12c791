/*
 * JSON parser (RFC 8259): it builds the tree that json_loadb of jansson builds,
 * several times as fast. jansson's lexer copies a text byte by byte; this one
 * looks for the end of the text and copies it once. It has no messages:
 * json_read (base/json_read.h) parses a text that is refused here with jansson,
 * which decides about it.
 */
#pragma once

#include "base/compiler.h"

#include <jansson.h>
#include <stdbool.h>

/* The value of a whole text, nested at most `max_depth` levels deep, each with one level of the stack. The caller owns the value.
 * NULL: the text is malformed, has a duplicate name, or a text in it has U+0000 without `allow_nul`. */
MUST_CHECK json_t *json_parse(const char *text, size_t size, unsigned max_depth, bool allow_nul);

/* The position of the quote that ends a text, `size` without one. `at` is behind the quote that begins it. */
size_t json_text_end(const char *text, size_t size, size_t at) PURE;

/* A byte of a number, of true, of false or of null. */
static inline bool json_is_plain(char byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '-' ||
           byte == '+' || byte == '.';
}
