/*
 * API keys: created by a signed-in administrator or the operator, shown once,
 * and revoked permanently. Only a hash of the secret is stored. Scopes are bits
 * of the catalogue; transports map them to names.
 */
#pragma once

#include "engine/core/work.h"
#include "sql/api_keys.h"

enum { API_KEY_NAME_MAX_CHARS = 200 };

struct api_key_fields {
    int64_t organization_id;
    int64_t brand_id;       /* 0: an organization key */
    const char *name;       /* NULL: "API key" */
    uint32_t scopes;        /* at least one */
    double rate_multiplier; /* multiplies the rate limits */
};

/* Creates a key in the open transaction. `ret_secret` is the only copy of the secret; pass it only to the caller.
 * Errors: INVALID_REQUEST (param name), BRAND_NOT_FOUND (param brandId). */
MUST_CHECK bool api_key_create(const struct work *work, const struct api_key_fields *fields, struct api_key_row **ret_key,
                               const char **ret_secret, struct error *err) NONNULL(1, 2, 3, 4, 5);

/* Revokes a key of the work's organization, or any key for the operator (`any_organization`). A key that does not exist, or was
 * revoked before, is not an error: *ret_revoked is false then. *ret_revoked_at is unset when the key does not exist. */
MUST_CHECK bool api_key_revoke(const struct work *work, const char *wire_id, bool any_organization, bool *ret_revoked,
                               struct opt_int *ret_revoked_at, struct error *err) NONNULL(1, 2, 4, 5, 6);

/* Writes the members of the resource "apiKey" except its scopes, into an open object. */
void api_key_write_members(const struct work *work, const struct api_key_row *key, struct json_writer *json) NONNULL(1, 2, 3);
