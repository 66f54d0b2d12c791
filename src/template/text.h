/*
 * UTF-8 text functions for filters. Texts are valid UTF-8; characters are code
 * points; white space is that of ECMAScript (ECMA-262 §12.2, §12.3).
 */
#pragma once

#include "base/compiler.h"

#include <stddef.h>

/* Bytes of the white space character at `text`; 0 when there is none. */
size_t template_white_space_size(const char *text, size_t size) NONNULL(1) PURE;

/* Offset of the last character of a text, which must not be empty. */
static inline size_t template_last_character(const char *text, size_t size)
{
    size_t at = size - 1;
    while (at > 0 && ((unsigned char)text[at] & 0xC0) == 0x80)
        at--;
    return at;
}

/* Bytes of the first `count` characters; all bytes when there are fewer characters. */
static inline size_t template_skip_characters(const char *text, size_t size, size_t count)
{
    size_t at = 0;
    while (at < size && count > 0) {
        at++;
        while (at < size && ((unsigned char)text[at] & 0xC0) == 0x80)
            at++;
        count--;
    }
    return at;
}

/* The number of characters of a text. */
static inline size_t template_text_length(const char *text, size_t size)
{
    size_t length = 0;
    for (size_t i = 0; i < size; i++)
        length += ((unsigned char)text[i] & 0xC0) != 0x80;
    return length;
}
