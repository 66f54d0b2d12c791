/*
 * Fuzzes the encoders of messages. The rest after the first byte is a body and a
 * header text. Besides not crashing: lines keep their bounds and are 7-bit,
 * decoding gives the text with CRLF as its line breaks, and a chosen encoding
 * cannot hold the boundary.
 */
#include "base/text.h"
#include "fuzz.h"
#include "mail/encode.h"
#include "mail/header.h"

#include <string.h>

enum { OUT_MAX_BYTES = 16 * 1024 * 1024 };

static const char boundary[] = "=_boundary";

/* Every kind of line break becomes CRLF. */
static void add_with_crlf(struct buf *out, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (text[i] != '\r' && text[i] != '\n')
            buf_add_char(out, text[i]);
        else
            buf_add_text(out, "\r\n");
        if (text[i] == '\r' && i + 1 < size && text[i + 1] == '\n')
            i++;
    }
}

/* Lines end with CRLF, and have at most so many bytes of ASCII. */
static void check_lines(const struct buf *out, size_t longest, bool is_ascii)
{
    size_t column = 0;
    for (size_t i = 0; i < out->size; i++) {
        unsigned char byte = (unsigned char)out->data[i];
        bool is_break = byte == '\r' && i + 1 < out->size && out->data[i + 1] == '\n';
        require(is_break || (byte != '\r' && byte != '\n'));
        require(!is_ascii || byte < 0x80);
        column = is_break ? 0 : column + 1;
        require(column <= longest);
        i += is_break;
    }
}

static int hex_value(char digit)
{
    const char *at = digit != '\0' ? strchr("0123456789ABCDEF", digit) : NULL;
    require(at != NULL);
    return (int)(at - "0123456789ABCDEF");
}

/* ---- Bodies ---- */

static void decode_quoted_printable(struct buf *out, const struct buf *encoded)
{
    for (size_t i = 0; i < encoded->size; i++) {
        if (encoded->data[i] != '=') {
            buf_add_char(out, encoded->data[i]);
            continue;
        }
        require(i + 2 < encoded->size);
        bool is_soft_break = encoded->data[i + 1] == '\r';
        if (!is_soft_break)
            buf_add_char(out, (char)(hex_value(encoded->data[i + 1]) * 16 + hex_value(encoded->data[i + 2])));
        i += 2;
    }
}

static void decode_base64(struct arena *arena, struct buf *out, const struct buf *encoded)
{
    struct buf *digits = buf_in_arena(arena, OUT_MAX_BYTES);
    for (size_t i = 0; i < encoded->size; i++)
        if (encoded->data[i] != '\r' && encoded->data[i] != '\n')
            buf_add_char(digits, encoded->data[i]);
    size_t size;
    const unsigned char *bytes = base64_decode(arena, buf_text(digits), &size);
    require(bytes != NULL);
    buf_add(out, bytes, size);
}

static void feed_body(struct arena *arena, enum body_encoding encoding, const char *text, size_t size)
{
    struct buf *encoded = buf_in_arena(arena, OUT_MAX_BYTES);
    struct buf *decoded = buf_in_arena(arena, OUT_MAX_BYTES);
    struct buf *expected = buf_in_arena(arena, OUT_MAX_BYTES);
    body_encode(encoded, encoding, text, size);
    add_with_crlf(expected, text, size);
    check_lines(encoded, encoding == BODY_7BIT ? SIZE_MAX : ENCODE_LINE_MAX_BYTES, encoding != BODY_7BIT);
    if (encoding == BODY_QUOTED_PRINTABLE)
        decode_quoted_printable(decoded, encoded);
    else if (encoding == BODY_BASE64)
        decode_base64(arena, decoded, encoded);
    else
        decoded = encoded;
    require(decoded->size == expected->size && memcmp(buf_text(decoded), buf_text(expected), expected->size) == 0);
    if (encoding != body_encoding_choose(text, size, boundary))
        return;
    check_lines(encoded, ENCODE_LINE_MAX_BYTES, true);
    require(memmem(buf_text(encoded), encoded->size, boundary, strlen(boundary)) == NULL);
}

/* ---- Header texts ---- */

static const char *decode_word(struct arena *arena, struct buf *out, const char *at)
{
    char kind = at[8];
    const char *text = at + 10;
    const char *end = strstr(text, "?=");
    require(strncmp(at, "=?utf-8?", 8) == 0 && at[9] == '?' && end != NULL && end + 2 - at <= ENCODE_WORD_MAX_BYTES);
    size_t size;
    if (kind == 'B') {
        const unsigned char *bytes = base64_decode(arena, arena_dup_bytes(arena, text, (size_t)(end - text)), &size);
        require(bytes != NULL && utf8_is_valid((const char *)bytes, size));
        buf_add(out, bytes, size);
        return end + 2;
    }
    require(kind == 'Q');
    size_t start = out->size;
    for (; text < end; text++) {
        char byte = *text == '_' ? ' ' : *text;
        if (*text == '=') {
            byte = (char)(hex_value(text[1]) * 16 + hex_value(text[2]));
            text += 2;
        }
        buf_add_char(out, byte);
    }
    require(utf8_is_valid(out->data + start, out->size - start));
    return end + 2;
}

/* Unfolds, and decodes encoded words; the blanks between two of them are not part of the text. */
static const char *decode_header(struct arena *arena, const char *value)
{
    struct buf *out = buf_in_arena(arena, OUT_MAX_BYTES);
    bool is_behind_word = false;
    for (const char *at = value; strcmp(at, "\r\n") != 0;) {
        size_t blanks = strspn(at, "\r\n ");
        if (strncmp(at + blanks, "=?", 2) == 0 && (is_behind_word || at == value || at[0] == '\r')) {
            at = decode_word(arena, out, at + blanks);
            is_behind_word = true;
            continue;
        }
        require(!is_behind_word && *at != '\0');
        if (*at != '\r' && *at != '\n')
            buf_add_char(out, *at);
        at++;
    }
    return buf_text(out);
}

static void feed_header(struct arena *arena, const char *text)
{
    struct error err = { .code = ERR_NONE };
    struct buf *out = buf_in_arena(arena, OUT_MAX_BYTES);
    if (!header_add_text(out, "Subject", text, "subject", &err)) {
        require(err.code == ERR_INVALID_REQUEST && err.message[0] != '\0');
        return;
    }
    check_lines(out, ENCODE_HEADER_LINE_MAX_BYTES, true);
    require(out->size > 2 && memcmp(out->data + out->size - 2, "\r\n", 2) == 0);
    require(strcmp(decode_header(arena, buf_text(out) + strlen("Subject: ")), text) == 0);

    const struct mailbox mailbox = { .name = text, .address = "reader@example.com" };
    struct buf *from = buf_in_arena(arena, OUT_MAX_BYTES);
    require(header_add_mailbox(from, "From", &mailbox, "name", "address", &err));
    check_lines(from, ENCODE_HEADER_LINE_MAX_BYTES, true);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    ARENA_SCOPE arena = arena_new(0);
    for (int encoding = BODY_7BIT; encoding <= BODY_BASE64; encoding++)
        feed_body(arena, (enum body_encoding)encoding, (const char *)data, size);
    feed_header(arena, arena_dup_bytes(arena, (const char *)data, size));
    return 0;
}
