#include "base/charset.h"

#include "base/text.h"

#include <string.h>

static const char *const charset_names[] = {
    [CHARSET_UTF8] = "UTF-8",
    [CHARSET_UTF16LE] = "UTF-16LE",
    [CHARSET_UTF16BE] = "UTF-16BE",
    [CHARSET_WINDOWS_1252] = "windows-1252",
};

enum { REPLACEMENT = 0xFFFD };

/* 0x80 to 0x9F of windows-1252 (WHATWG Encoding, index windows-1252). The five unassigned bytes are undecodable here, but C1
 * controls there. All other bytes are as in Latin-1. */
static const unsigned short windows_1252[32] = {
    0x20AC, REPLACEMENT, 0x201A,      0x0192, 0x201E,      0x2026,      0x2020, 0x2021,      0x02C6, 0x2030, 0x0160,
    0x2039, 0x0152,      REPLACEMENT, 0x017D, REPLACEMENT, REPLACEMENT, 0x2018, 0x2019,      0x201C, 0x201D, 0x2022,
    0x2013, 0x2014,      0x02DC,      0x2122, 0x0161,      0x203A,      0x0153, REPLACEMENT, 0x017E, 0x0178,
};

const char *charset_name(enum charset charset)
{
    return charset_names[charset];
}

enum charset charset_from_name(const char *name)
{
    for (size_t i = 0; i < ARRAY_COUNT(charset_names); i++)
        if (strcmp(charset_names[i], name) == 0)
            return (enum charset)i;
    return CHARSET_UTF8;
}

/* ---- Detection ---- */

enum charset charset_of_mark(const unsigned char *bytes, size_t size, size_t *ret_mark_bytes)
{
    static const struct {
        enum charset charset;
        size_t size;
        unsigned char bytes[3];
    } marks[] = {
        { CHARSET_UTF8, 3, { 0xEF, 0xBB, 0xBF } },
        { CHARSET_UTF16LE, 2, { 0xFF, 0xFE } },
        { CHARSET_UTF16BE, 2, { 0xFE, 0xFF } },
    };
    for (size_t i = 0; i < ARRAY_COUNT(marks); i++) {
        if (size >= marks[i].size && memcmp(bytes, marks[i].bytes, marks[i].size) == 0) {
            *ret_mark_bytes = marks[i].size;
            return marks[i].charset;
        }
    }
    *ret_mark_bytes = 0;
    return CHARSET_UTF8;
}

bool charset_is_detectable(const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i] >= 0x80 || bytes[i] == 0)
            return true;
    return false;
}

/* In UTF-16 nearly every Latin letter has a NUL byte, and so have line ends and delimiters in any script. */
static bool looks_like_utf16(const unsigned char *bytes, size_t size, size_t nul_offset)
{
    size_t nuls = 0;
    size_t others = 0;
    for (size_t i = 0; i + 1 < size; i += 2) {
        nuls += bytes[i + nul_offset] == 0;
        others += bytes[i + 1 - nul_offset] == 0;
    }
    return nuls > 0 && others == 0 && nuls * 4 >= size / 2;
}

static bool bytes_are_ascii(const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i] >= 0x80)
            return false;
    return true;
}

enum charset charset_guess(const unsigned char *bytes, size_t size)
{
    if (looks_like_utf16(bytes, size, 1))
        return CHARSET_UTF16LE;
    if (looks_like_utf16(bytes, size, 0))
        return CHARSET_UTF16BE;
    bool any_malformed = false;
    for (size_t at = 0; at < size;) {
        const unsigned char *end = memchr(bytes + at, '\n', size - at);
        bool is_cut = end == NULL;
        size_t length = is_cut ? size - at : (size_t)(end - (bytes + at));
        if (!bytes_are_ascii(bytes + at, length)) {
            if (utf8_is_valid((const char *)bytes + at, length))
                return CHARSET_UTF8;
            /* The last line may end within a character, so it does not count unless it is the only one. */
            any_malformed = any_malformed || !is_cut || at == 0;
        }
        at += length + 1;
    }
    return any_malformed ? CHARSET_WINDOWS_1252 : CHARSET_UTF8;
}

/* ---- Decoding ---- */

static size_t put_point(char *out, unsigned point)
{
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    if (point < 0x800) {
        out[0] = (char)(0xC0 | point >> 6);
        out[1] = (char)(0x80 | (point & 0x3F));
        return 2;
    }
    if (point < 0x10000) {
        out[0] = (char)(0xE0 | point >> 12);
        out[1] = (char)(0x80 | (point >> 6 & 0x3F));
        out[2] = (char)(0x80 | (point & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | point >> 18);
    out[1] = (char)(0x80 | (point >> 12 & 0x3F));
    out[2] = (char)(0x80 | (point >> 6 & 0x3F));
    out[3] = (char)(0x80 | (point & 0x3F));
    return 4;
}

static size_t decode_windows_1252(const unsigned char *bytes, size_t size, struct buf *out)
{
    char *room = buf_room(out, size * 3);
    if (room == NULL)
        return size;
    size_t used = 0;
    for (size_t i = 0; i < size; i++) {
        bool is_special = bytes[i] >= 0x80 && bytes[i] < 0xA0;
        used += put_point(room + used, is_special ? windows_1252[bytes[i] - 0x80] : bytes[i]);
    }
    buf_grown(out, used);
    return size;
}

static unsigned unit_at(enum charset charset, const unsigned char *bytes)
{
    return charset == CHARSET_UTF16LE ? (unsigned)(bytes[0] | bytes[1] << 8) : (unsigned)(bytes[0] << 8 | bytes[1]);
}

/* RFC 2781 §2.2; an unpaired surrogate becomes U+FFFD. */
static size_t decode_utf16(enum charset charset, const unsigned char *bytes, size_t size, bool is_last, struct buf *out)
{
    char *room = buf_room(out, size / 2 * 3 + 1);
    if (room == NULL)
        return size;
    size_t used = 0;
    size_t at = 0;
    while (at + 2 <= size) {
        unsigned point = unit_at(charset, bytes + at);
        bool is_high = point >= 0xD800 && point < 0xDC00;
        if (is_high && at + 4 > size && !is_last)
            break;
        at += 2;
        if (is_high && at + 2 <= size) {
            unsigned low = unit_at(charset, bytes + at);
            if (low >= 0xDC00 && low < 0xE000) {
                point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
                at += 2;
            }
        }
        used += put_point(room + used, point >= 0xD800 && point < 0xE000 ? (unsigned)REPLACEMENT : point);
    }
    buf_grown(out, used);
    return is_last ? size : at;
}

size_t charset_decode(enum charset charset, const unsigned char *bytes, size_t size, bool is_last, struct buf *out)
{
    switch (charset) {
    case CHARSET_UTF8:
        buf_add(out, bytes, size);
        return size;
    case CHARSET_UTF16LE:
    case CHARSET_UTF16BE:
        return decode_utf16(charset, bytes, size, is_last, out);
    case CHARSET_WINDOWS_1252:
        return decode_windows_1252(bytes, size, out);
    }
    return size;
}

size_t charset_encoded_bytes(enum charset charset, const char *text, size_t size)
{
    if (charset == CHARSET_UTF8)
        return size;
    size_t points = 0;
    size_t beyond_bmp = 0;
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)text[i];
        points += (byte & 0xC0) != 0x80;
        beyond_bmp += byte >= 0xF0;
    }
    return charset == CHARSET_WINDOWS_1252 ? points : 2 * (points + beyond_bmp);
}
