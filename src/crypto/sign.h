/*
 * Sign: signatures and SHA-256 by OpenSSL, for DKIM: RSA (PKCS#1 v1.5 over
 * SHA-256, RFC 8017 §8.2) and Ed25519 (RFC 8032).
 *
 * A key is read-only and may be shared by threads. A sign_context and a digest
 * keep OpenSSL contexts and belong to one thread. All of them live in the arena;
 * its end frees them and wipes the private parts.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/values.h"

enum sign_algorithm { SIGN_RSA_SHA256, SIGN_ED25519 };

enum {
    SIGN_RSA_BITS = 2048, /* of new keys; the minimum that RFC 8301 §3.2 recommends */
    SIGN_RSA_MIN_BITS = 1024,
    SIGN_RSA_MAX_BITS = 4096,
    SIGN_ED25519_KEY_BYTES = 32,
    SIGN_MAX_BYTES = SIGN_RSA_MAX_BITS / 8,
    SIGN_MAX_CHARS = (SIGN_MAX_BYTES + 2) / 3 * 4, /* in base64 */
    DIGEST_BYTES = 32,
};

/* ---- Keys ---- */

struct sign_key;

/* A new key. Errors: INTERNAL_ERROR. */
MUST_CHECK bool sign_key_generate(struct arena *arena, enum sign_algorithm algorithm, struct sign_key **ret_key, struct error *err)
    NONNULL(1, 3, 4);

/* Loads a private key: PKCS#8 or PKCS#1 DER for RSA, the 32-byte seed for Ed25519. Errors: INTERNAL_ERROR. */
MUST_CHECK bool sign_key_load(struct arena *arena, enum sign_algorithm algorithm, struct bytes private_key,
                              struct sign_key **ret_key, struct error *err) NONNULL(1, 4, 5);

/* The private key in the form that sign_key_load reads (RSA: PKCS#8), wiped with the arena. Errors: INTERNAL_ERROR. */
MUST_CHECK bool sign_key_private(struct arena *arena, const struct sign_key *key, struct bytes *ret_private, struct error *err)
    NONNULL(1, 2, 3, 4);

/* The public key in the form of a DKIM record: SubjectPublicKeyInfo in DER for RSA, the 32 bytes for Ed25519 (RFC 8463 §4.2).
 * Errors: INTERNAL_ERROR. */
MUST_CHECK bool sign_key_public(struct arena *arena, const struct sign_key *key, struct bytes *ret_public, struct error *err)
    NONNULL(1, 2, 3, 4);

/* ---- Signing ---- */

struct sign_context;

/* A context that signs with a key and references it. OpenSSL caches its precomputation in the key, for all threads. */
struct sign_context *sign_context_new(struct arena *arena, const struct sign_key *key) NONNULL(1, 2) RETURNS_NONNULL;

/* Signs a SHA-256 digest: RSA directly, Ed25519 as a message of 32 bytes (RFC 8463 §3). `ret_signature` has SIGN_MAX_BYTES.
 * Errors: INTERNAL_ERROR. */
MUST_CHECK bool sign_digest(struct sign_context *context, const unsigned char digest[DIGEST_BYTES], unsigned char *ret_signature,
                            size_t *ret_size, struct error *err) NONNULL(1, 2, 3, 4, 5);

/* Encodes a signature or digest as base64; `ret_text` has SIGN_MAX_CHARS + 1 bytes. */
void sign_text(const unsigned char *bytes, size_t size, char *ret_text) NONNULL(1, 3);

/* ---- Incremental SHA-256 ---- */

struct digest;

struct digest *digest_new(struct arena *arena) NONNULL(1) RETURNS_NONNULL;
void digest_begin(struct digest *digest) NONNULL(1);
void digest_add(struct digest *digest, const void *bytes, size_t size) NONNULL(1);
/* Copies the state of `from`, to continue from there. */
void digest_continue(struct digest *digest, const struct digest *from) NONNULL(1, 2);
void digest_end(struct digest *digest, unsigned char ret_hash[DIGEST_BYTES]) NONNULL(1, 2);
