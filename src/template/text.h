/*
 * Characters of the texts that filters work on: valid UTF-8, counted in code
 * points; white space as ECMAScript defines it (ECMA-262 §12.2, §12.3).
 */
#pragma once

#include "base/compiler.h"

#include <stddef.h>

/* Bytes of one white space character at `text`; 0 when it is none. */
size_t template_white_space_size(const char *text, size_t size) NONNULL(1) PURE;

/* Where the last character of a text that is not empty begins. */
static inline size_t template_last_character(const char *text, size_t size)
{
    size_t at = size - 1;
    while (at > 0 && ((unsigned char)text[at] & 0xC0) == 0x80)
        at--;
    return at;
}

/* Bytes of the first `count` characters, of all when there are fewer. */
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

/* Characters of a text. */
static inline size_t template_text_length(const char *text, size_t size)
{
    size_t length = 0;
    for (size_t i = 0; i < size; i++)
        length += ((unsigned char)text[i] & 0xC0) != 0x80;
    return length;
}
