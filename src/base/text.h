/*
 * Text: UTF-8, percent encoding, base64, base32 and other encodings and checks
 * for all modules. Inputs are byte ranges or NUL-terminated UTF-8; results live in
 * the given arena.
 */
#pragma once

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

/* Well-formed UTF-8 (Unicode 15, table 3-7) without NUL. */
bool utf8_is_valid(const char *text, size_t size) PURE;

/* Removes malformed UTF-8 in place, such as an incomplete character at the end of a truncated text. */
void utf8_drop_malformed(char *text) NONNULL(1);

/* Code points in valid UTF-8. */
size_t utf8_length(const char *text) NONNULL(1) PURE;

/* Valid UTF-8 of `least` to `most` code points. NULL is not. */
bool utf8_has_length(const char *text, size_t least, size_t most) PURE;

/* A copy without control characters and invisible formatting characters (zero-width, bidirectional
 * overrides, tags), truncated after `max_points` code points. For untrusted text that is shown to a model. */
char *text_visible(struct arena *arena, const char *text, size_t max_points) NONNULL(1, 2) RETURNS_NONNULL;

bool text_equal(const char *left, const char *right);
bool text_starts_with(const char *text, const char *prefix) NONNULL(1, 2) PURE;

/* Whether the text is one word of printable ASCII, without spaces: it may go into a header or an address. */
bool text_is_word(const char *text, size_t max_bytes) NONNULL(1) PURE;

/* Changes ASCII letters only. */
char *text_lower(struct arena *arena, const char *text) NONNULL(1, 2) RETURNS_NONNULL;

bool text_is_ascii(const char *text) NONNULL(1) PURE;

/* Changes every letter of UTF-8 text, and normalises it to NFC, so that composed and decomposed spellings are equal. */
char *text_lower_unicode(struct arena *arena, const char *text) NONNULL(1, 2) RETURNS_NONNULL;

/* The text without differences of case (Unicode, full case folding), in NFKD, so that accents are code points of their own.
 * Malformed bytes become U+FFFD. */
char *text_fold(struct arena *arena, const char *text) NONNULL(1, 2) RETURNS_NONNULL;

/* A copy without leading and trailing ASCII white space. */
char *text_trim(struct arena *arena, const char *text) NONNULL(1, 2) RETURNS_NONNULL;

/* Decodes %XX once (RFC 3986 §2.1). NULL when malformed or when the result has a NUL or invalid UTF-8. */
char *percent_decode(struct arena *arena, const char *text, size_t size) NONNULL(1, 2);

/* Unreserved characters stay, everything else becomes %XX. */
char *percent_encode(struct arena *arena, const char *text) NONNULL(1, 2) RETURNS_NONNULL;

/* Lower-case hexadecimal; `ret_hex` holds 2 * size + 1 bytes. */
void hex_encode(const void *bytes, size_t size, char *ret_hex) NONNULL(3);

/* The value of a hexadecimal digit; -1 for another byte. */
int hex_digit(char byte);

/* Base64url without padding (RFC 4648 §5). Decoding returns NULL when malformed. */
char *base64url_encode(struct arena *arena, const void *bytes, size_t size) NONNULL(1) RETURNS_NONNULL;
unsigned char *base64url_decode(struct arena *arena, const char *text, size_t *ret_size) NONNULL(1, 2, 3);

/* Standard base64 with padding (RFC 4648 §4). Decoding returns NULL when malformed. */
char *base64_encode(struct arena *arena, const void *bytes, size_t size) NONNULL(1) RETURNS_NONNULL;
unsigned char *base64_decode(struct arena *arena, const char *text, size_t *ret_size) NONNULL(1, 2, 3);

enum { BASE32_U64_CHARS = 13 };

/* Converts a 64-bit number to 13 characters of lower-case Crockford base32, and back; false when malformed. */
void base32_encode_u64(uint64_t value, char ret_text[BASE32_U64_CHARS + 1]) NONNULL(2);
bool base32_decode_u64(const char *text, uint64_t *ret_value) NONNULL(1, 2);

/* Parses a whole decimal number in range: no sign except '-', no space, no other characters. */
bool int64_parse(const char *text, int64_t *ret_value) NONNULL(1, 2);
