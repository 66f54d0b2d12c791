#include "engine/compose/return_path.h"

#include "base/text.h"

#include <assert.h>
#include <string.h>

static const char purpose_bounce[] = "return path";
static const char purpose_unsubscribe[] = "unsubscribe by mail";
static const char digits[] = "abcdefghijklmnopqrstuvwxyz234567";

/* The numbers are big-endian and short, so that the token fits a local part. */
enum {
    BRAND_BYTES = 6,
    SEND_BYTES = 6,
    ORDINAL_BYTES = 5,
    PAYLOAD_BYTES = BRAND_BYTES + SEND_BYTES + ORDINAL_BYTES,
    TOKEN_BYTES = TOKEN_TAG_BYTES + PAYLOAD_BYTES,
    BITS_OF_DIGIT = 5,
};
static_assert((TOKEN_BYTES * 8 + BITS_OF_DIGIT - 1) / BITS_OF_DIGIT + 1 == RETURN_PATH_LOCAL_CHARS, "the length of a local part");

/* ---- Base32, without padding ---- */

static void add_digits(const unsigned char *bytes, size_t size, char *text)
{
    unsigned bits = 0;
    int count = 0;
    for (size_t i = 0; i < size; i++) {
        bits = (bits << 8 | bytes[i]) & 0xfff;
        for (count += 8; count >= BITS_OF_DIGIT; count -= BITS_OF_DIGIT)
            *text++ = digits[bits >> (count - BITS_OF_DIGIT) & 31];
    }
    if (count > 0)
        *text = digits[bits << (BITS_OF_DIGIT - count) & 31];
}

/* False for a character that is no digit, and for bits behind the last byte that are not zero. */
static bool read_digits(const char *text, size_t size, unsigned char *bytes)
{
    unsigned bits = 0;
    int count = 0;
    for (size_t i = 0; i < size; i++) {
        char lower = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] + ('a' - 'A') : text[i]);
        const char *digit = lower != '\0' ? strchr(digits, lower) : NULL;
        if (digit == NULL)
            return false;
        bits = (bits << BITS_OF_DIGIT | (unsigned)(digit - digits)) & 0xfff;
        count += BITS_OF_DIGIT;
        if (count >= 8) {
            count -= 8;
            *bytes++ = (unsigned char)(bits >> count);
        }
    }
    return (bits & ((1U << count) - 1)) == 0;
}

/* ---- Numbers ---- */

static unsigned char *add_number(unsigned char *at, int64_t number, size_t size)
{
    for (size_t i = size; i-- > 0; number >>= 8)
        at[i] = (unsigned char)(number & 0xff);
    return at + size;
}

static const unsigned char *read_number(const unsigned char *at, size_t size, int64_t *ret_number)
{
    *ret_number = 0;
    for (size_t i = 0; i < size; i++)
        *ret_number = *ret_number << 8 | at[i];
    return at + size;
}

/* ---- Addresses ---- */

char *return_path_address(const struct engine *engine, struct arena *arena, enum return_path_kind kind,
                          const struct message_origin *origin, const char *domain)
{
    bool is_bounce = kind == RETURN_PATH_BOUNCE;
    unsigned char payload[PAYLOAD_BYTES];
    char local[RETURN_PATH_LOCAL_CHARS + 1] = "";
    size_t size;
    unsigned char *at = add_number(payload, origin->brand_id, BRAND_BYTES);
    add_number(add_number(at, origin->send_id, SEND_BYTES), origin->ordinal, ORDINAL_BYTES);
    const char *token =
        token_seal(arena, &engine->token_keys, is_bounce ? purpose_bounce : purpose_unsubscribe, payload, sizeof(payload));
    local[0] = is_bounce ? 'b' : 'u';
    add_digits(base64url_decode(arena, token, &size), TOKEN_BYTES, local + 1);
    return arena_printf(arena, "%s@" RETURN_PATH_HOST "%s", local, domain);
}

enum return_path_kind return_path_open(const struct engine *engine, struct arena *arena, const char *address,
                                       struct message_origin *ret_origin)
{
    unsigned char bytes[TOKEN_BYTES + 1];
    struct bytes payload;
    address += strspn(address, "< \t");
    bool is_bounce = *address == 'b' || *address == 'B';
    bool is_unsubscribe = *address == 'u' || *address == 'U';
    if ((!is_bounce && !is_unsubscribe) || strcspn(address, "@> \t") != RETURN_PATH_LOCAL_CHARS ||
        !read_digits(address + 1, RETURN_PATH_LOCAL_CHARS - 1, bytes))
        return RETURN_PATH_NONE;
    const char *token = base64url_encode(arena, bytes, TOKEN_BYTES);
    if (!token_open(arena, &engine->token_keys, is_bounce ? purpose_bounce : purpose_unsubscribe, token, &payload) ||
        payload.size != PAYLOAD_BYTES)
        return RETURN_PATH_NONE;
    const unsigned char *at = read_number(payload.data, BRAND_BYTES, &ret_origin->brand_id);
    at = read_number(at, SEND_BYTES, &ret_origin->send_id);
    (void)read_number(at, ORDINAL_BYTES, &ret_origin->ordinal);
    return is_bounce ? RETURN_PATH_BOUNCE : RETURN_PATH_UNSUBSCRIBE;
}
