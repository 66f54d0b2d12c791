/*
 * Verify: checks signatures that other services made, by OpenSSL: RSA with the
 * key of an X.509 certificate (PKCS#1 v1.5, RFC 8017 §8.2) and ECDSA over P-256
 * with SHA-256 (FIPS 186-5). It also computes HMAC-SHA-256 (RFC 2104), with which
 * services sign by a shared secret.
 *
 * No state; any thread.
 */
#pragma once

#include "base/compiler.h"
#include "base/values.h"

enum verify_hash { VERIFY_SHA1, VERIFY_SHA256 };
enum verify_outcome {
    VERIFY_OK,
    VERIFY_WRONG,       /* the signature is not of these bytes and this key */
    VERIFY_NO_KEY,      /* the certificate or key cannot be used */
    VERIFY_OUT_OF_DATE, /* the certificate is not valid at this time */
};

/* Checks a signature with the RSA key of a certificate (PEM) that must be valid at `now_s` (Unix time). */
enum verify_outcome verify_by_certificate(struct bytes pem, int64_t now_s, enum verify_hash hash, struct bytes message,
                                          struct bytes signature);

/* Whether a public key is a SubjectPublicKeyInfo (DER) of P-256. */
bool verify_key_is_p256(struct bytes key);

/* Checks a signature (DER) over the SHA-256 of the message with such a key. */
enum verify_outcome verify_p256(struct bytes key, struct bytes message, struct bytes signature);

enum { VERIFY_HMAC_BYTES = 32 };

/* HMAC-SHA-256 of a message. */
void verify_hmac_sha256(struct bytes key, struct bytes message, unsigned char ret_mac[VERIFY_HMAC_BYTES]) NONNULL(3);

/* Compares two secrets of the same size in a time that does not depend on them. */
bool verify_equal(const void *left, const void *right, size_t size) NONNULL(1, 2);
