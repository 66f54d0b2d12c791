#include "crypto/tokens.h"

#include "base/text.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

static_assert(TOKEN_KEY_BYTES == crypto_kdf_KEYBYTES, "the secret of an installation is a key of the key derivation");
static_assert(TOKEN_KEY_BYTES == crypto_stream_xchacha20_KEYBYTES, "a derived key is a key of the cipher");
static_assert(TOKEN_LINK_KEY_BYTES == crypto_shorthash_KEYBYTES, "a derived key is a key of SipHash");
static_assert(TOKEN_LINK_KEY_BYTES == crypto_shorthash_siphashx24_KEYBYTES, "a derived key is a key of SipHash-128");
static_assert(TOKEN_KEY_BYTES == crypto_stream_chacha20_ietf_KEYBYTES, "a derived key is a key of ChaCha20");
static_assert((int)TOKEN_TAG_BYTES <= (int)crypto_stream_xchacha20_NONCEBYTES, "the nonce contains the tag");

static const char derivation[crypto_kdf_CONTEXTBYTES + 1] = "ph-token";

void token_keys_init(struct token_keys *keys, const unsigned char secret[TOKEN_KEY_BYTES])
{
    enum { TAG_KEY = 1, CIPHER_KEY = 2, LINK_OWNER_KEY = 3, LINK_NUMBER_KEY = 4, LINK_CIPHER_KEY = 5 };
    crypto_kdf_derive_from_key(keys->tag, sizeof(keys->tag), TAG_KEY, derivation, secret);
    crypto_kdf_derive_from_key(keys->cipher, sizeof(keys->cipher), CIPHER_KEY, derivation, secret);
    crypto_kdf_derive_from_key(keys->link_owner, sizeof(keys->link_owner), LINK_OWNER_KEY, derivation, secret);
    crypto_kdf_derive_from_key(keys->link_number, sizeof(keys->link_number), LINK_NUMBER_KEY, derivation, secret);
    crypto_kdf_derive_from_key(keys->link_cipher, sizeof(keys->link_cipher), LINK_CIPHER_KEY, derivation, secret);
}

/* BLAKE2b is not open to extension of the length, so the key may be a prefix. A short payload then needs one compression; the
 * keyed mode needs two. The zero byte after the purpose is hashed too, so purpose and payload cannot be divided in another way. */
static void token_tag(const struct token_keys *keys, const char *purpose, const void *payload, size_t size,
                      unsigned char ret_tag[TOKEN_TAG_BYTES])
{
    crypto_generichash_state state;
    crypto_generichash_init(&state, NULL, 0, TOKEN_TAG_BYTES);
    crypto_generichash_update(&state, keys->tag, sizeof(keys->tag));
    crypto_generichash_update(&state, (const unsigned char *)purpose, strlen(purpose) + 1);
    crypto_generichash_update(&state, payload, size);
    crypto_generichash_final(&state, ret_tag, TOKEN_TAG_BYTES);
}

/* Encrypts or decrypts; the tag is the whole variable part of the nonce. */
static void token_cipher(const struct token_keys *keys, const unsigned char tag[TOKEN_TAG_BYTES], const unsigned char *from,
                         size_t size, unsigned char *to)
{
    unsigned char nonce[crypto_stream_xchacha20_NONCEBYTES] = { 0 };
    memcpy(nonce, tag, TOKEN_TAG_BYTES);
    crypto_stream_xchacha20_xor(to, from, size, nonce, keys->cipher);
}

char *token_seal(struct arena *arena, const struct token_keys *keys, const char *purpose, const void *payload, size_t size)
{
    unsigned char *token = arena_alloc(arena, TOKEN_TAG_BYTES + size);
    token_tag(keys, purpose, payload, size, token);
    token_cipher(keys, token, payload, size, token + TOKEN_TAG_BYTES);
    return base64url_encode(arena, token, TOKEN_TAG_BYTES + size);
}

bool token_open(struct arena *arena, const struct token_keys *keys, const char *purpose, const char *token,
                struct bytes *ret_payload)
{
    size_t size;
    unsigned char *bytes = base64url_decode(arena, token, &size);
    if (bytes == NULL || size < TOKEN_TAG_BYTES)
        return false;
    size -= TOKEN_TAG_BYTES;
    unsigned char *payload = bytes + TOKEN_TAG_BYTES;
    unsigned char expected[TOKEN_TAG_BYTES];
    token_cipher(keys, bytes, payload, size, payload);
    token_tag(keys, purpose, payload, size, expected);
    if (sodium_memcmp(expected, bytes, TOKEN_TAG_BYTES) != 0)
        return false;
    *ret_payload = (struct bytes){ payload, size };
    return true;
}

/* ---- Short tokens ---- */

/* Without 0 o, 1 i l, 2 z, 5 s, 6 9 g q, 8 b and u v: each of them looks like another. */
static const char short_letters[] = "347acdefhjkmnprtwxy";
enum { SHORT_LETTER_COUNT = sizeof(short_letters) - 1 };

/* Divides a big-endian number and returns the remainder. */
static unsigned divide(unsigned char number[TOKEN_TAG_BYTES], unsigned divisor)
{
    unsigned rest = 0;
    for (size_t i = 0; i < TOKEN_TAG_BYTES; i++) {
        unsigned part = rest << 8 | number[i];
        number[i] = (unsigned char)(part / divisor);
        rest = part % divisor;
    }
    return rest;
}

/* Each letter after the first is one of those that differ from the letter before it. */
static void write_short_letters(unsigned char number[TOKEN_TAG_BYTES], char *letters)
{
    unsigned letter = divide(number, SHORT_LETTER_COUNT);
    letters[0] = short_letters[letter];
    for (size_t i = 1; i < TOKEN_SHORT_LETTERS; i++) {
        letter = (letter + 1 + divide(number, SHORT_LETTER_COUNT - 1)) % SHORT_LETTER_COUNT;
        letters[i] = short_letters[letter];
    }
}

char *token_short(struct arena *arena, const struct token_keys *keys, const char *prefix, const void *payload, size_t size)
{
    unsigned char hash[TOKEN_TAG_BYTES];
    char letters[TOKEN_SHORT_LETTERS + 1] = "";
    token_tag(keys, arena_printf(arena, "short %s", prefix), payload, size, hash);
    write_short_letters(hash, letters);
    return arena_printf(arena, "%s%s", prefix, letters);
}

bool token_short_is_well_formed(const char *prefix, const char *text)
{
    return strlen(text) == TOKEN_SHORT_CHARS && strncmp(text, prefix, TOKEN_SHORT_PREFIX_CHARS) == 0 &&
           strspn(text + TOKEN_SHORT_PREFIX_CHARS, short_letters) == TOKEN_SHORT_LETTERS;
}

/* ---- Tokens of links ---- */

/* The sealed part: a tag of 12 bytes, which is the nonce of the cipher as in other tokens, and three numbers of 5 bytes. The part
 * of the link: its number of 2 bytes and an authenticator of 7 bytes. Both sizes are multiples of 3, so base64 needs no padding. */
enum {
    OWNER_TAG_BYTES = 12,
    OWNER_TAG_CHARS = OWNER_TAG_BYTES / 3 * 4,
    OWNER_NUMBER_BYTES = 5,
    OWNER_PAYLOAD_BYTES = 3 * OWNER_NUMBER_BYTES,
    OWNER_BYTES = OWNER_TAG_BYTES + OWNER_PAYLOAD_BYTES,
    NUMBER_BYTES = 2,
    NUMBER_TAG_BYTES = 7,
    LINK_PART_BYTES = NUMBER_BYTES + NUMBER_TAG_BYTES,
};
static_assert(OWNER_BYTES * 4 == TOKEN_OWNER_CHARS * 3, "the characters of the sealed part");
static_assert(LINK_PART_BYTES * 4 == TOKEN_NUMBER_CHARS * 3, "the characters of the part of the link");

static_assert(OWNER_TAG_BYTES == crypto_stream_chacha20_ietf_NONCEBYTES, "the tag is the nonce");

static void put_number(unsigned char *at, int64_t number)
{
    for (int i = OWNER_NUMBER_BYTES - 1; i >= 0; i--, number >>= 8)
        at[i] = (unsigned char)number;
}

static int64_t get_number(const unsigned char *at)
{
    int64_t number = 0;
    for (int i = 0; i < OWNER_NUMBER_BYTES; i++)
        number = number << 8 | at[i];
    return number;
}

static bool fits_owner(int64_t number)
{
    return number >= 0 && number >> (8 * OWNER_NUMBER_BYTES) == 0;
}

static void owner_tag(const struct token_keys *keys, const unsigned char *payload,
                      unsigned char ret_tag[crypto_shorthash_siphashx24_BYTES])
{
    crypto_shorthash_siphashx24(ret_tag, payload, OWNER_PAYLOAD_BYTES, keys->link_owner);
}

static void owner_cipher(const struct token_keys *keys, const unsigned char *tag, const unsigned char *from, unsigned char *to)
{
    crypto_stream_chacha20_ietf_xor(to, from, OWNER_PAYLOAD_BYTES, tag, keys->link_cipher);
}

/* A token is public, so its characters may come from a table. Every group of 3 bytes is whole. */
static void to_base64(const unsigned char *bytes, size_t size, char *ret_text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    for (size_t i = 0; i < size; i += 3, ret_text += 4) {
        unsigned group = (unsigned)bytes[i] << 16 | (unsigned)bytes[i + 1] << 8 | bytes[i + 2];
        ret_text[0] = digits[group >> 18];
        ret_text[1] = digits[group >> 12 & 63];
        ret_text[2] = digits[group >> 6 & 63];
        ret_text[3] = digits[group & 63];
    }
    *ret_text = '\0';
}

static bool from_base64(const char *text, size_t chars, unsigned char *ret_bytes, size_t size)
{
    size_t decoded = 0;
    return sodium_base642bin(ret_bytes, size, text, chars, NULL, &decoded, NULL, sodium_base64_VARIANT_URLSAFE_NO_PADDING) == 0 &&
           decoded == size;
}

bool token_owner_write(const struct token_keys *keys, const struct token_owner *owner, char ret_text[TOKEN_OWNER_CHARS + 1])
{
    unsigned char payload[OWNER_PAYLOAD_BYTES];
    unsigned char bytes[OWNER_BYTES];
    unsigned char tag[crypto_shorthash_siphashx24_BYTES];
    if (!fits_owner(owner->brand_id) || !fits_owner(owner->send_id) || !fits_owner(owner->ordinal))
        return false;
    put_number(payload, owner->brand_id);
    put_number(payload + OWNER_NUMBER_BYTES, owner->send_id);
    put_number(payload + (size_t)2 * OWNER_NUMBER_BYTES, owner->ordinal);
    owner_tag(keys, payload, tag);
    memcpy(bytes, tag, OWNER_TAG_BYTES);
    owner_cipher(keys, bytes, payload, bytes + OWNER_TAG_BYTES);
    to_base64(bytes, sizeof(bytes), ret_text);
    return true;
}

/* The tag of the owner's part authenticates all of it, so it stands for it here. */
static void number_tag(const struct token_keys *keys, const char owner_text[TOKEN_OWNER_CHARS], uint16_t number,
                       unsigned char ret_tag[crypto_shorthash_BYTES])
{
    unsigned char message[OWNER_TAG_CHARS + NUMBER_BYTES];
    memcpy(message, owner_text, OWNER_TAG_CHARS);
    message[OWNER_TAG_CHARS] = (unsigned char)(number >> 8);
    message[OWNER_TAG_CHARS + 1] = (unsigned char)number;
    crypto_shorthash(ret_tag, message, sizeof(message), keys->link_number);
}

void token_number_write(const struct token_keys *keys, const char owner_text[TOKEN_OWNER_CHARS], uint16_t number,
                        char ret_text[TOKEN_NUMBER_CHARS + 1])
{
    unsigned char tag[crypto_shorthash_BYTES];
    unsigned char bytes[LINK_PART_BYTES];
    number_tag(keys, owner_text, number, tag);
    bytes[0] = (unsigned char)(number >> 8);
    bytes[1] = (unsigned char)number;
    memcpy(bytes + NUMBER_BYTES, tag, NUMBER_TAG_BYTES);
    to_base64(bytes, sizeof(bytes), ret_text);
}

bool token_link_open(const struct token_keys *keys, const char token[TOKEN_LINK_CHARS], struct token_owner *ret_owner,
                     uint16_t *ret_number)
{
    unsigned char owner[OWNER_BYTES];
    unsigned char link[LINK_PART_BYTES];
    unsigned char payload[OWNER_PAYLOAD_BYTES];
    unsigned char expected[crypto_shorthash_siphashx24_BYTES];
    if (!from_base64(token, TOKEN_OWNER_CHARS, owner, sizeof(owner)) ||
        !from_base64(token + TOKEN_OWNER_CHARS, TOKEN_NUMBER_CHARS, link, sizeof(link)))
        return false;
    uint16_t number = (uint16_t)(link[0] << 8 | link[1]);
    number_tag(keys, token, number, expected);
    if (sodium_memcmp(expected, link + NUMBER_BYTES, NUMBER_TAG_BYTES) != 0)
        return false;
    owner_cipher(keys, owner, owner + OWNER_TAG_BYTES, payload);
    owner_tag(keys, payload, expected);
    if (sodium_memcmp(expected, owner, OWNER_TAG_BYTES) != 0)
        return false;
    *ret_owner = (struct token_owner){
        .brand_id = get_number(payload),
        .send_id = get_number(payload + OWNER_NUMBER_BYTES),
        .ordinal = get_number(payload + (size_t)2 * OWNER_NUMBER_BYTES),
    };
    *ret_number = number;
    return true;
}
