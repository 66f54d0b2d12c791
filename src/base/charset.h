/*
 * Charsets: what a text file is encoded in, found out from its bytes, and made
 * UTF-8. Known are the ones that spreadsheets write: UTF-8, UTF-16 in both
 * orders, and Windows-1252, which Latin-1 is a part of.
 *
 * Decoding is a stream without state: what is half a character stays behind for
 * the next call. What cannot be decoded becomes U+FFFD, one for each unit, so
 * that the size of the original can be told from the decoded text.
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

/* Whether the bytes tell charsets apart: outside ASCII, or with NUL bytes, which only UTF-16 has. */
bool charset_is_told(const unsigned char *bytes, size_t size) PURE;

/* The charset of text without a mark. UTF-8 as soon as one line of it is UTF-8 beyond ASCII; a text that has no such line and
 * lines that are not UTF-8 is Windows-1252. NUL bytes at every second place mean UTF-16. */
enum charset charset_guess(const unsigned char *bytes, size_t size) PURE;

/* Appends the text as UTF-8 and gives how many bytes were taken; less than `size` only where a character is cut and
 * `is_last` is false. UTF-8 is copied as it is, well-formed or not. */
size_t charset_decode(enum charset charset, const unsigned char *bytes, size_t size, bool is_last, struct buf *out) NONNULL(5);

/* How many bytes a decoded text had in its charset. */
size_t charset_encoded_bytes(enum charset charset, const char *text, size_t size) PURE;
