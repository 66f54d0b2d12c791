/*
 * API keys: made by a signed-in administrator or the operator, shown once,
 * and revoked for good. The store keeps only a hash of the secret. Scopes are
 * bits of the catalogue; their names are the business of the doors.
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
    double rate_multiplier; /* of the rate limits */
};

/* Makes a key in the open transaction. `ret_secret` is nowhere else, and must go nowhere but to the caller.
 * Errors: INVALID_REQUEST (param name), BRAND_NOT_FOUND (param brandId). */
MUST_CHECK bool api_key_create(const struct work *work, const struct api_key_fields *fields, struct api_key_row **ret_key,
                               const char **ret_secret, struct error *err) NONNULL(1, 2, 3, 4, 5);

/* Revokes a key of the work's organization, or any for the operator (`any_organization`). A key that does not exist, or was
 * revoked before, is no error: *ret_revoked is false then; *ret_revoked_at is when it was revoked, unset when it does not exist. */
MUST_CHECK bool api_key_revoke(const struct work *work, const char *wire_id, bool any_organization, bool *ret_revoked,
                               struct opt_int *ret_revoked_at, struct error *err) NONNULL(1, 2, 4, 5, 6);

/* The members of the resource "apiKey" that are kept here, into an object that is open. */
void api_key_write_members(const struct work *work, const struct api_key_row *key, struct json_writer *json) NONNULL(1, 2, 3);
