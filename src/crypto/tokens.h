/*
 * Tokens: small values that others carry for us, such as cursors, Message-IDs
 * and links. A token is sealed: nobody else can read or change its payload.
 *
 * The cipher is deterministic authenticated encryption (a synthetic IV, as in
 * RFC 5297): the tag is a keyed BLAKE2b hash of purpose and payload, and the
 * payload is encrypted by XChaCha20 with the tag as nonce. Equal payloads of one
 * purpose have equal tokens, so a message that is composed again has the same
 * bytes. The tag is the only overhead, so tokens are short. The size of a token
 * shows the size of its payload.
 *
 * A short token is a name of such a payload, for readers that copy letters with
 * mistakes: the server keeps the payload under it.
 *
 * Plain values; any thread.
 */
#pragma once

#include "base/arena.h"
#include "base/values.h"

enum {
    TOKEN_KEY_BYTES = 32,
    TOKEN_TAG_BYTES = 16,
    TOKEN_LINK_KEY_BYTES = 16,
    TOKEN_SHORT_LETTERS = 20,     /* about 83 bits */
    TOKEN_SHORT_PREFIX_CHARS = 4, /* a prefix such as "cur_" */
    TOKEN_SHORT_CHARS = TOKEN_SHORT_PREFIX_CHARS + TOKEN_SHORT_LETTERS,
};

/* The characters of a token with a payload of this size: base64url of tag and ciphertext, without padding. */
#define TOKEN_CHARS(payload_bytes) (((TOKEN_TAG_BYTES + (payload_bytes)) * 4 + 2) / 3)

/* The keys of all tokens of an installation. Read-only after init, shared by all threads. */
struct token_keys {
    unsigned char tag[TOKEN_KEY_BYTES];
    unsigned char cipher[TOKEN_KEY_BYTES];
    unsigned char link_owner[TOKEN_LINK_KEY_BYTES]; /* of the tokens of links */
    unsigned char link_number[TOKEN_LINK_KEY_BYTES];
    unsigned char link_cipher[TOKEN_KEY_BYTES];
};

/* Derives the keys from the secret of an installation. */
void token_keys_init(struct token_keys *keys, const unsigned char secret[TOKEN_KEY_BYTES]) NONNULL(1, 2);

/* Makes a token. `purpose` separates the uses of the keys; it is a constant of the caller. */
char *token_seal(struct arena *arena, const struct token_keys *keys, const char *purpose, const void *payload, size_t size)
    NONNULL(1, 2, 3, 4) RETURNS_NONNULL;

/* Opens a token of this purpose and returns its payload; false for any other text. */
bool token_open(struct arena *arena, const struct token_keys *keys, const char *purpose, const char *token,
                struct bytes *ret_payload) NONNULL(1, 2, 3, 4, 5);

/* Makes a short token: `prefix` (TOKEN_SHORT_PREFIX_CHARS) and a keyed hash of the payload in letters and digits. No two neighbours
 * are equal, and none looks like another. Equal payloads of one prefix have equal short tokens. */
char *token_short(struct arena *arena, const struct token_keys *keys, const char *prefix, const void *payload, size_t size)
    NONNULL(1, 2, 3, 4) RETURNS_NONNULL;

/* Whether a text has the form of a short token with this prefix; the server may still have nothing under it. */
bool token_short_is_well_formed(const char *prefix, const char *text) NONNULL(1, 2) PURE;

/* ---- Tokens of links ---- */

/* A message has many links, and composing must stay cheap, so these tokens have a cipher of their own. TOKEN_OWNER_CHARS for the
 * recipient are sealed once for a message, with a synthetic IV as above: a tag of 96 bits by SipHash-2-4-128, which is the nonce of
 * ChaCha20 (RFC 8439). TOKEN_NUMBER_CHARS for the number of the link follow, with an authenticator of 56 bits over both parts by
 * SipHash-2-4. The number is readable. */
enum { TOKEN_OWNER_CHARS = 36, TOKEN_NUMBER_CHARS = 12, TOKEN_LINK_CHARS = TOKEN_OWNER_CHARS + TOKEN_NUMBER_CHARS };

struct token_owner {
    int64_t brand_id; /* the three numbers have at most 40 bits */
    int64_t send_id;
    int64_t ordinal;
};

/* Writes the part of a recipient with a NUL. False when a number is too large. */
bool token_owner_write(const struct token_keys *keys, const struct token_owner *owner, char ret_text[TOKEN_OWNER_CHARS + 1])
    NONNULL(1, 2, 3);

/* Writes the part of a link with a NUL, which follows `owner_text`. */
void token_number_write(const struct token_keys *keys, const char owner_text[TOKEN_OWNER_CHARS], uint16_t number,
                        char ret_text[TOKEN_NUMBER_CHARS + 1]) NONNULL(1, 2, 4);

/* Opens the TOKEN_LINK_CHARS characters of a token. False for any other text. */
bool token_link_open(const struct token_keys *keys, const char token[TOKEN_LINK_CHARS], struct token_owner *ret_owner,
                     uint16_t *ret_number) NONNULL(1, 2, 3, 4);
