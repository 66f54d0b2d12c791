/*
 * DKIM: signs composed messages (RFC 6376; Ed25519: RFC 8463) with
 * relaxed/relaxed canonicalisation, one signature per key. The body is hashed once.
 *
 * The signature covers From (named once more than it occurs, so that none can be added), To, Subject, Date, Message-ID, Reply-To,
 * MIME-Version, Content-Type, List-Unsubscribe, List-Unsubscribe-Post, List-Id and Feedback-ID, if present; never Return-Path.
 * Keys are read-only and shared by threads; a signer belongs to one thread and lives in its arena.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/values.h"

#include <stdint.h>

enum dkim_algorithm { DKIM_RSA_SHA256, DKIM_ED25519_SHA256 };
enum { DKIM_MAX_KEYS = 4 };

struct dkim_key; /* a private key with its selector and domain */

/* Loads a private key: PKCS#8 DER for RSA, the 32-byte seed for Ed25519. It lives in the arena, which wipes it at its end.
 * Loading an RSA key costs about as much as a signature, so callers cache keys. Errors: INTERNAL_ERROR. */
MUST_CHECK bool dkim_key_new(struct arena *arena, enum dkim_algorithm algorithm, const char *domain, const char *selector,
                             struct bytes private_key, struct dkim_key **ret_key, struct error *err) NONNULL(1, 3, 4, 6, 7);

struct dkim_key_list {
    struct dkim_key *const *keys;
    size_t count;
};

/* Signs with the first DKIM_MAX_KEYS of the keys, which must outlive the signer. Without keys it writes nothing. */
struct dkim_signer;
struct dkim_signer *dkim_signer_new(struct arena *arena, struct dkim_key_list keys) NONNULL(1) RETURNS_NONNULL;

/* Writes the DKIM-Signature headers of a complete message (CRLF line ends) to `out`, which is cleared first. The caller puts them
 * before the message. `time_us` since the epoch is the t= tag. The same message, keys and time give the same bytes with Ed25519 and
 * RSA (PKCS#1 v1.5). Errors: INTERNAL_ERROR for a malformed message or one with more than 128 header fields. */
MUST_CHECK bool dkim_sign(struct dkim_signer *signer, struct bytes message, int64_t time_us, struct buf *out, struct error *err)
    NONNULL(1, 4, 5);
