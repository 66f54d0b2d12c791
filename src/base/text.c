#include "base/text.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unicase.h>
#include <uninorm.h>

/* Reads one code point of UTF-8 at `text`; returns its size in bytes, 0 when malformed. */
static size_t utf8_step(const unsigned char *text, size_t size, uint32_t *ret_point)
{
    unsigned char lead = text[0];
    if (lead < 0x80) {
        *ret_point = lead;
        return 1;
    }
    size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || length > size)
        return 0;
    uint32_t point = lead & (0x7fU >> length);
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        point = point << 6 | (text[i] & 0x3fU);
    }
    static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
    if (point < smallest[length] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
        return 0;
    *ret_point = point;
    return length;
}

/* Whether eight bytes are all ASCII and none is NUL. */
static bool is_plain_word(const unsigned char *bytes)
{
    const uint64_t high_bits = UINT64_C(0x8080808080808080);
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t word;
    memcpy(&word, bytes, sizeof(word));
    /* Subtracting 1 from a byte of 0 borrows and sets its high bit; from a byte of 1 to 0x7f it does not. */
    return ((word | (word - ones)) & high_bits) == 0;
}

bool utf8_is_valid(const char *text, size_t size)
{
    const unsigned char *at = (const unsigned char *)text;
    const unsigned char *end = at + size;
    while (at < end) {
        if ((size_t)(end - at) >= sizeof(uint64_t) && is_plain_word(at)) {
            at += sizeof(uint64_t);
            continue;
        }
        uint32_t point;
        size_t step = utf8_step(at, (size_t)(end - at), &point);
        if (step == 0 || point == 0)
            return false;
        at += step;
    }
    return true;
}

void utf8_drop_malformed(char *text)
{
    size_t size = strlen(text);
    if (utf8_is_valid(text, size))
        return;
    char *out = text;
    for (size_t i = 0; i < size;) {
        uint32_t point;
        size_t step = utf8_step((const unsigned char *)text + i, size - i, &point);
        if (step > 0) {
            memmove(out, text + i, step);
            out += step;
        }
        i += step > 0 ? step : 1;
    }
    *out = '\0';
}

size_t utf8_length(const char *text)
{
    size_t size = strlen(text);
    size_t length = 0;
    for (size_t i = 0; i < size; i++) /* to a known end, so that the compiler looks at many bytes at once */
        length += ((unsigned char)text[i] & 0xc0) != 0x80;
    return length;
}

bool utf8_has_length(const char *text, size_t least, size_t most)
{
    if (text == NULL || !utf8_is_valid(text, strlen(text)))
        return false;
    size_t length = utf8_length(text);
    return length >= least && length <= most;
}

static bool point_is_invisible(uint32_t point)
{
    static const struct {
        uint32_t from, to;
    } ranges[] = {
        { 0x00, 0x08 },     { 0x0b, 0x0c },     { 0x0e, 0x1f },     { 0x7f, 0x9f },       { 0xad, 0xad },
        { 0x61c, 0x61c },   { 0x180e, 0x180e }, { 0x200b, 0x200f }, { 0x202a, 0x202e },   { 0x2060, 0x206f },
        { 0xfe00, 0xfe0e }, { 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0xe0000, 0xe0fff },
    };
    for (size_t i = 0; i < ARRAY_COUNT(ranges); i++)
        if (point >= ranges[i].from && point <= ranges[i].to)
            return true;
    return false;
}

char *text_visible(struct arena *arena, const char *text, size_t max_points)
{
    size_t size = strlen(text);
    char *visible = arena_alloc(arena, size + 1);
    char *out = visible;
    const unsigned char *at = (const unsigned char *)text;
    const unsigned char *end = at + size;
    for (size_t points = 0; at < end && points < max_points;) {
        uint32_t point;
        size_t step = utf8_step(at, (size_t)(end - at), &point);
        if (step == 0) {
            at++;
            continue;
        }
        if (!point_is_invisible(point)) {
            memcpy(out, at, step);
            out += step;
            points++;
        }
        at += step;
    }
    *out = '\0';
    return visible;
}

bool text_equal(const char *left, const char *right)
{
    if (left == NULL || right == NULL)
        return left == right;
    return strcmp(left, right) == 0;
}

bool text_starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool text_is_word(const char *text, size_t max_bytes)
{
    size_t size = strlen(text);
    for (size_t i = 0; i < size; i++)
        if (text[i] <= ' ' || text[i] > '~')
            return false;
    return size > 0 && size <= max_bytes;
}

char *text_lower(struct arena *arena, const char *text)
{
    char *lower = arena_dup_bytes(arena, text, strlen(text));
    for (char *at = lower; *at != '\0'; at++)
        if (*at >= 'A' && *at <= 'Z')
            *at = (char)(*at + ('a' - 'A'));
    return lower;
}

bool text_is_ascii(const char *text)
{
    while (*text != '\0' && (unsigned char)*text < 0x80)
        text++;
    return *text == '\0';
}

char *text_lower_unicode(struct arena *arena, const char *text)
{
    if (text_is_ascii(text))
        return text_lower(arena, text);
    size_t size = 0;
    uint8_t *lowered = u8_tolower((const uint8_t *)text, strlen(text), NULL, UNINORM_NFC, NULL, &size);
    if (lowered == NULL) /* not UTF-8 */
        return text_lower(arena, text);
    char *kept = arena_dup_bytes(arena, lowered, size);
    free(lowered);
    return kept;
}

char *text_fold(struct arena *arena, const char *text)
{
    size_t size = 0;
    uint8_t *folded = u8_casefold((const uint8_t *)text, strlen(text), NULL, UNINORM_NFKD, NULL, &size);
    if (folded == NULL) /* not UTF-8 */
        return text_lower(arena, text);
    char *kept = arena_dup_bytes(arena, folded, size);
    free(folded);
    return kept;
}

char *text_trim(struct arena *arena, const char *text)
{
    static const char spaces[] = " \t\r\n\f\v";
    text += strspn(text, spaces);
    size_t size = strlen(text);
    while (size > 0 && strchr(spaces, text[size - 1]) != NULL)
        size--;
    return arena_dup_bytes(arena, text, size);
}

int hex_digit(char byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    if (byte >= 'a' && byte <= 'f')
        return byte - 'a' + 10;
    if (byte >= 'A' && byte <= 'F')
        return byte - 'A' + 10;
    return -1;
}

char *percent_decode(struct arena *arena, const char *text, size_t size)
{
    char *decoded = arena_alloc(arena, size + 1);
    size_t length = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] != '%') {
            decoded[length++] = text[i];
            continue;
        }
        if (i + 2 >= size)
            return NULL;
        int high = hex_digit(text[i + 1]);
        int low = hex_digit(text[i + 2]);
        if (high < 0 || low < 0)
            return NULL;
        decoded[length++] = (char)(high * 16 + low);
        i += 2;
    }
    return utf8_is_valid(decoded, length) ? decoded : NULL;
}

char *percent_encode(struct arena *arena, const char *text)
{
    static const char digits[] = "0123456789ABCDEF";
    char *encoded = arena_alloc(arena, strlen(text) * 3 + 1);
    char *out = encoded;
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;
        bool unreserved = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
                          strchr("-._~", byte) != NULL;
        if (unreserved) {
            *out++ = (char)byte;
        } else {
            *out++ = '%';
            *out++ = digits[byte >> 4];
            *out++ = digits[byte & 15];
        }
    }
    return encoded;
}

void hex_encode(const void *bytes, size_t size, char *ret_hex)
{
    sodium_bin2hex(ret_hex, size * 2 + 1, bytes, size);
}

static char *sodium_encode(struct arena *arena, const void *bytes, size_t size, int variant)
{
    size_t room = sodium_base64_encoded_len(size, variant);
    char *text = arena_alloc(arena, room);
    sodium_bin2base64(text, room, bytes, size, variant);
    return text;
}

static unsigned char *sodium_decode(struct arena *arena, const char *text, size_t *ret_size, int variant)
{
    /* libsodium 1.0.18 reads bytes beyond ASCII as the digit 63. */
    if (!text_is_ascii(text))
        return NULL;
    size_t room = strlen(text);
    unsigned char *bytes = arena_alloc(arena, room + 1);
    const char *end;
    if (sodium_base642bin(bytes, room, text, room, NULL, ret_size, &end, variant) != 0 || *end != '\0')
        return NULL;
    return bytes;
}

char *base64url_encode(struct arena *arena, const void *bytes, size_t size)
{
    return sodium_encode(arena, bytes, size, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

unsigned char *base64url_decode(struct arena *arena, const char *text, size_t *ret_size)
{
    return sodium_decode(arena, text, ret_size, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

char *base64_encode(struct arena *arena, const void *bytes, size_t size)
{
    return sodium_encode(arena, bytes, size, sodium_base64_VARIANT_ORIGINAL);
}

unsigned char *base64_decode(struct arena *arena, const char *text, size_t *ret_size)
{
    return sodium_decode(arena, text, ret_size, sodium_base64_VARIANT_ORIGINAL);
}

static const char base32_digits[] = "0123456789abcdefghjkmnpqrstvwxyz";

void base32_encode_u64(uint64_t value, char ret_text[BASE32_U64_CHARS + 1])
{
    for (int i = BASE32_U64_CHARS - 1; i >= 0; i--) {
        ret_text[i] = base32_digits[value & 31];
        value >>= 5;
    }
    ret_text[BASE32_U64_CHARS] = '\0';
}

bool base32_decode_u64(const char *text, uint64_t *ret_value)
{
    if (strlen(text) != BASE32_U64_CHARS)
        return false;
    uint64_t value = 0;
    for (int i = 0; i < BASE32_U64_CHARS; i++) {
        const char *digit = strchr(base32_digits, text[i]);
        if (digit == NULL || *digit == '\0')
            return false;
        uint64_t bits = (uint64_t)(digit - base32_digits);
        /* 13 digits hold 65 bits: the first one has four. */
        if (i == 0 && bits > 15)
            return false;
        value = value << 5 | bits;
    }
    *ret_value = value;
    return true;
}

bool int64_parse(const char *text, int64_t *ret_value)
{
    bool starts_well = (text[0] >= '0' && text[0] <= '9') || (text[0] == '-' && text[1] >= '0' && text[1] <= '9');
    if (!starts_well)
        return false;
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno != 0 || *end != '\0')
        return false;
    *ret_value = value;
    return true;
}
