#include "crypto/tokens.h"

#include "base/text.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

static_assert(TOKEN_KEY_BYTES == crypto_kdf_KEYBYTES, "the secret of an installation is a key of the key derivation");
static_assert(TOKEN_KEY_BYTES == crypto_stream_xchacha20_KEYBYTES, "a derived key is a key of the cipher");
static_assert((int)TOKEN_TAG_BYTES <= (int)crypto_stream_xchacha20_NONCEBYTES, "the nonce contains the tag");

static const char derivation[crypto_kdf_CONTEXTBYTES + 1] = "ph-token";

void token_keys_init(struct token_keys *keys, const unsigned char secret[TOKEN_KEY_BYTES])
{
    enum { TAG_KEY = 1, CIPHER_KEY = 2 };
    crypto_kdf_derive_from_key(keys->tag, sizeof(keys->tag), TAG_KEY, derivation, secret);
    crypto_kdf_derive_from_key(keys->cipher, sizeof(keys->cipher), CIPHER_KEY, derivation, secret);
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
