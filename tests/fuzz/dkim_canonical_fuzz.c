/*
 * Fuzzes the canonical forms of DKIM. Besides not crashing: body and header
 * field are those of a plain implementation of RFC 6376 §3.4, a canonical form
 * is its own canonical form, and a signature is written or refused.
 */
#include "fuzz.h"
#include "mail/dkim.h"
#include "mail/dkim_canonical.h"

#include <string.h>

enum { OUT_MAX_BYTES = 8 * 1024 * 1024 };

static struct bytes bytes_of(const struct buf *buf)
{
    return (struct bytes){ (const unsigned char *)buf_text(buf), buf->size };
}

static void check_same(const struct buf *left, const struct buf *right)
{
    require(left->size == right->size && memcmp(buf_text(left), buf_text(right), left->size) == 0);
}

static bool is_blank(unsigned char byte)
{
    return byte == ' ' || byte == '\t';
}

/* ---- Bodies ---- */

static bool is_crlf(struct bytes text, size_t at)
{
    return at + 1 < text.size && text.data[at] == '\r' && text.data[at + 1] == '\n';
}

/* RFC 6376 §3.4.4, byte for byte: blanks and empty lines wait until something follows them. */
static void add_relaxed_body(struct buf *out, struct bytes body)
{
    size_t empty_lines = 0;
    bool has_blank = false;
    for (size_t at = 0; at < body.size; at++) {
        if (is_crlf(body, at)) {
            empty_lines++;
            has_blank = false;
            at++;
        } else if (is_blank(body.data[at])) {
            has_blank = true;
        } else {
            for (; empty_lines > 0; empty_lines--)
                buf_add_text(out, "\r\n");
            if (has_blank)
                buf_add_char(out, ' ');
            buf_add_char(out, (char)body.data[at]);
            has_blank = false;
        }
    }
    if (out->size > 0)
        buf_add_text(out, "\r\n");
}

static void feed_body(struct arena *arena, struct bytes body)
{
    struct buf *relaxed = buf_in_arena(arena, OUT_MAX_BYTES);
    struct buf *again = buf_in_arena(arena, OUT_MAX_BYTES);
    struct buf *expected = buf_in_arena(arena, OUT_MAX_BYTES);
    dkim_canonical_body(relaxed, body);
    add_relaxed_body(expected, body);
    check_same(relaxed, expected);
    dkim_canonical_body(again, bytes_of(relaxed));
    check_same(relaxed, again);
}

/* ---- Header fields ---- */

/* RFC 6376 §3.4.2. */
static void add_relaxed_field(struct buf *out, struct bytes field, size_t name_size)
{
    bool has_blank = false;
    for (size_t at = 0; at < name_size && !is_blank(field.data[at]); at++) {
        char byte = (char)field.data[at];
        buf_add_char(out, byte >= 'A' && byte <= 'Z' ? (char)(byte + 'a' - 'A') : byte);
    }
    buf_add_char(out, ':');
    size_t value = out->size;
    for (size_t at = name_size + 1; at < field.size; at++) {
        unsigned char byte = field.data[at];
        if (is_blank(byte)) {
            has_blank = true;
        } else if (byte != '\r' && byte != '\n') {
            if (has_blank && out->size > value)
                buf_add_char(out, ' ');
            buf_add_char(out, (char)byte);
            has_blank = false;
        }
    }
}

static void feed_field(struct arena *arena, struct bytes field)
{
    const unsigned char *colon = field.size > 0 ? memchr(field.data, ':', field.size) : NULL;
    if (colon == NULL || colon == field.data)
        return;
    size_t name_size = (size_t)(colon - field.data);
    struct buf *relaxed = buf_in_arena(arena, OUT_MAX_BYTES);
    struct buf *again = buf_in_arena(arena, OUT_MAX_BYTES);
    struct buf *expected = buf_in_arena(arena, OUT_MAX_BYTES);
    dkim_canonical_field(relaxed, field, name_size);
    add_relaxed_field(expected, field, name_size);
    check_same(relaxed, expected);
    const char *end = strchr(buf_text(relaxed), ':');
    if (end == NULL)
        return;
    dkim_canonical_field(again, bytes_of(relaxed), (size_t)(end - buf_text(relaxed)));
    check_same(relaxed, again);
}

/* ---- Signatures ---- */

static void feed_message(struct arena *arena, struct bytes message)
{
    static const unsigned char seed[32] = { 1 };
    struct error err = { .code = ERR_NONE };
    struct dkim_key *key;
    struct buf *out = buf_in_arena(arena, OUT_MAX_BYTES);
    require(dkim_key_new(arena, DKIM_ED25519_SHA256, "example.com", "one", (struct bytes){ seed, sizeof(seed) }, &key, &err));
    struct dkim_signer *signer = dkim_signer_new(arena, (struct dkim_key_list){ &key, 1 });
    bool is_signed = dkim_sign(signer, message, 1800000000000000, out, &err);
    require(is_signed ? strncmp(buf_text(out), "DKIM-Signature:", 15) == 0 : err.code == ERR_INTERNAL_ERROR);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    ARENA_SCOPE arena = arena_new(0);
    feed_body(arena, (struct bytes){ data, size });
    feed_field(arena, (struct bytes){ data, size });
    feed_message(arena, (struct bytes){ data, size });
    return 0;
}
