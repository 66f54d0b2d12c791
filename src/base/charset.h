/*
 * Charset: detects the character encoding of a text file from its bytes and
 * decodes it to UTF-8. It supports the encodings that spreadsheets write: UTF-8,
 * UTF-16 in both byte orders, and Windows-1252, which includes Latin-1.
 *
 * Decoding is a stream without state: the bytes of an incomplete character are
 * left for the next call. Each undecodable unit becomes one U+FFFD, so that the
 * size of the original can be computed from the decoded text.
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

enum charset { CHARSET_UTF8, CHARSET_UTF16LE, CHARSET_UTF16BE, CHARSET_WINDOWS_1252 };

/* The name of a charset (IANA), and the charset of a name; CHARSET_UTF8 for others. */
const char *charset_name(enum charset charset) RETURNS_NONNULL;
enum charset charset_from_name(const char *name) NONNULL(1) PURE;

/* The charset of a byte order mark at the start, and its size; CHARSET_UTF8 and 0 when there is none. */
enum charset charset_of_mark(const unsigned char *bytes, size_t size, size_t *ret_mark_bytes) NONNULL(3);

/* Whether the bytes allow a detection: they are not all ASCII, or have NUL bytes, which only UTF-16 has. */
bool charset_is_detectable(const unsigned char *bytes, size_t size) PURE;

/* The charset of text without a mark. One line of valid UTF-8 beyond ASCII means UTF-8. Lines of invalid UTF-8 without such a
 * line mean Windows-1252. NUL bytes at every second position mean UTF-16. */
enum charset charset_guess(const unsigned char *bytes, size_t size) PURE;

/* Appends the text as UTF-8 and returns the number of decoded bytes. It is less than `size` only if the last character is
 * incomplete and `is_last` is false. UTF-8 is copied unchanged, well-formed or not. */
size_t charset_decode(enum charset charset, const unsigned char *bytes, size_t size, bool is_last, struct buf *out) NONNULL(5);

/* The number of bytes that a decoded text had in its charset. */
size_t charset_encoded_bytes(enum charset charset, const char *text, size_t size) PURE;
