/*
 * Proof: checks that a request comes from the provider of its connection, by the
 * scheme that schemas/integrations.json declares. The bytes of the body are
 * judged as they came, before anything is parsed.
 *
 *   standard  HMAC-SHA-256 in base64 over ID.TIME.BODY (Standard Webhooks, Svix)
 *   stamped   t=TIME,v1=HEX over TIME.BODY (Stripe, WorkOS)
 *   body      HMAC-SHA-256 in base64 over the body (Shopify)
 *   shared    the secret itself in a header, with or without "Bearer "
 *
 * No state; any thread.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/values.h"
#include "catalogue/integrations.h"

#include <jansson.h>

enum {
    PROOF_TOLERANCE_S = 5 * 60,
    PROOF_SIGNATURES_MAX = 8, /* of one header: providers sign with the old and the new secret for a while */
    PROOF_HEADER_MAX_BYTES = 1000,
    PROOF_SECRET_MIN_BYTES = 16,
    PROOF_SECRET_MAX_BYTES = 500,
};

struct proof_request {
    const struct integration_provider *provider;
    const json_t *headers; /* texts by lower-case name */
    struct bytes body;
};

/* The value of a header; NULL: none, or longer than PROOF_HEADER_MAX_BYTES. */
const char *proof_header(const struct proof_request *request, const char *name) NONNULL(1, 2);

/* Checks that a secret can be used with the scheme. Errors: INVALID_REQUEST (secret). */
MUST_CHECK bool proof_secret_check(const struct integration_provider *provider, const char *secret, struct error *err)
    NONNULL(1, 2, 3);

/* A new secret in the form of the scheme. */
char *proof_secret_new(struct arena *arena, const struct integration_provider *provider) NONNULL(1, 2) RETURNS_NONNULL;

/* Checks a request. `ret_signed_id` is the id of the message when the signature covers one, else NULL.
 * Errors: AUTHENTICATION_REQUIRED without a right signature, INVALID_REQUEST (timestamp) with one that is too old or from the
 * future. */
MUST_CHECK bool proof_check(struct arena *arena, const struct proof_request *request, const char *secret, int64_t now_us,
                            const char **ret_signed_id, struct error *err) NONNULL(1, 2, 3, 5, 6);
