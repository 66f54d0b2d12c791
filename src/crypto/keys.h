/*
 * Keys: API keys, session tokens and hashes.
 *
 * An API key is ph_ and 40 random base32 characters; a session token is phs_ and
 * 40 characters. The database stores only their SHA-256, because a random secret
 * of 200 bits needs no slow password hash. None of these values is ever logged.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/values.h"

enum {
    CREDENTIAL_DIGITS = 40,
    API_KEY_CHARS = 3 + CREDENTIAL_DIGITS,
    SECRET_HASH_BYTES = 32,
    ADDRESS_KEY_BYTES = 32,
};

/* Must be called once before any other function of this module. */
void crypto_start(void);

void random_bytes(void *bytes, size_t size) NONNULL(1);

/* A new API key. */
char *api_key_new(struct arena *arena) NONNULL(1) RETURNS_NONNULL;

/* Whether the text has the form of an API key; the key may still be unknown. */
bool api_key_is_well_formed(const char *text) NONNULL(1) PURE;

/* The same for the token in a session cookie. */
char *session_token_new(struct arena *arena) NONNULL(1) RETURNS_NONNULL;
bool session_token_is_well_formed(const char *text) NONNULL(1) PURE;

void secret_hash(const char *secret, unsigned char ret_hash[SECRET_HASH_BYTES]) NONNULL(1, 2);

/* SHA-256 of bytes, for fingerprints. */
void sha256(const void *bytes, size_t size, unsigned char ret_hash[SECRET_HASH_BYTES]) NONNULL(3);

/* A keyed hash of an address, stored instead of the address (pseudonymisation). */
void address_hash(const unsigned char key[ADDRESS_KEY_BYTES], const char *address, unsigned char ret_hash[SECRET_HASH_BYTES])
    NONNULL(1, 2, 3);
