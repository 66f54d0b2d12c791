/*
 * Encode: content transfer encodings (RFC 2045 §6) and encoded words
 * (RFC 2047). The output is always 7-bit. Line breaks of any kind (CRLF, LF, CR)
 * become CRLF. All functions take linear time. Only the buffer allocates memory. No
 * state; any thread.
 */
#pragma once

#include "base/buf.h"
#include "base/compiler.h"

#include <stdbool.h>

enum {
    ENCODE_LINE_MAX_BYTES = 76,         /* RFC 2045 §6.7, §6.8, without CRLF */
    ENCODE_WORD_MAX_BYTES = 75,         /* RFC 2047 §2 */
    ENCODE_WORD_LINE_MAX_BYTES = 76,    /* RFC 2047 §2: a line that contains an encoded word */
    ENCODE_HEADER_LINE_MAX_BYTES = 78,  /* RFC 5322 §2.1.1, wanted */
    ENCODE_HEADER_HARD_MAX_BYTES = 998, /* RFC 5322 §2.1.1, required */
};

enum body_encoding { BODY_7BIT, BODY_QUOTED_PRINTABLE, BODY_BASE64 };

/* The value of Content-Transfer-Encoding. */
const char *body_encoding_name(enum body_encoding encoding) RETURNS_NONNULL;

/* The encoding for a body: 7bit when its lines are short ASCII that no mail server changes and do not contain
 * `boundary`, else the shorter of quoted-printable and base64. These two cannot contain a boundary that begins
 * with "=_". */
enum body_encoding body_encoding_choose(const char *text, size_t size, const char *boundary) NONNULL(1, 3) PURE;

/* Appends the encoded body. It ends with CRLF only if the text ends with a line break. */
void body_encode(struct buf *out, enum body_encoding encoding, const char *text, size_t size) NONNULL(1, 3);

/* Appends UTF-8 text as encoded words, in the shorter of Q and B, folded onto new lines where needed. `column` is
 * the current column. A word holds whole characters. Bytes that are not UTF-8 are encoded as they are. Returns the
 * column after the last word. */
size_t encoded_words_add(struct buf *out, size_t column, const char *text, size_t size) NONNULL(1, 3);
