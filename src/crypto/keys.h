/*
 * Secrets: API keys, sessions, fingerprints and signed tokens.
 *
 * An API key is ph_ and 40 random base32 characters, the token of a session
 * phs_ and as many; the store keeps only their SHA-256 (a 200-bit random secret
 * needs no slow hash). Nothing here is ever logged.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/values.h"

enum {
    CREDENTIAL_DIGITS = 40,
    API_KEY_CHARS = 3 + CREDENTIAL_DIGITS,
    SECRET_HASH_BYTES = 32,
    TOKEN_KEY_BYTES = 32,
};

/* Must be called once before anything else in this room. */
void crypto_start(void);

void random_bytes(void *bytes, size_t size) NONNULL(1);

/* A fresh API key. */
char *api_key_new(struct arena *arena) NONNULL(1) RETURNS_NONNULL;

/* Whether the text has the form of an API key; says nothing about its validity. */
bool api_key_is_well_formed(const char *text) NONNULL(1) PURE;

/* The same of the token that a session cookie holds. */
char *session_token_new(struct arena *arena) NONNULL(1) RETURNS_NONNULL;
bool session_token_is_well_formed(const char *text) NONNULL(1) PURE;

void secret_hash(const char *secret, unsigned char ret_hash[SECRET_HASH_BYTES]) NONNULL(1, 2);

/* SHA-256 of bytes, for fingerprints. */
void sha256(const void *bytes, size_t size, unsigned char ret_hash[SECRET_HASH_BYTES]) NONNULL(3);

/* A keyed hash that stands for an address where the address itself must not be kept. */
void address_hash(const unsigned char key[TOKEN_KEY_BYTES], const char *address, unsigned char ret_hash[SECRET_HASH_BYTES])
    NONNULL(1, 2, 3);

/* A signed token: base64url of payload and tag. `purpose` separates uses of one key. */
char *token_seal(struct arena *arena, const unsigned char key[TOKEN_KEY_BYTES], const char *purpose, const void *payload,
                 size_t size) NONNULL(1, 2, 3, 4) RETURNS_NONNULL;
/* The payload of an untampered token of this purpose; false otherwise. */
bool token_open(struct arena *arena, const unsigned char key[TOKEN_KEY_BYTES], const char *purpose, const char *token,
                struct bytes *ret_payload) NONNULL(1, 2, 3, 4, 5);
