/*
 * Authentication: finds the caller and the brand of a call, the first checks of
 * every call. Results are cached for one second (ttl_cache.h), so a revocation
 * takes effect everywhere within that second. A refused credential or brand is
 * never cached.
 */
#pragma once

#include "api/call.h"
#include "engine/core/work.h"

struct auth;

struct auth *auth_new(const char *fixed_brand) RETURNS_NONNULL;
void auth_free(struct auth *auth);
void auth_forget(struct auth *auth) NONNULL(1);

/* True when the credential has the form that its kind requires; every other one is refused. */
bool auth_is_well_formed(const struct credentials *credentials) NONNULL(1) PURE;

/* Looks for the caller without the database: false when the database must be asked. The organization of the local owner is known
 * only once the installation is open; dispatch fills it in. */
bool auth_principal_cached(struct auth *auth, const struct credentials *credentials, struct principal *ret_who) NONNULL(1, 2, 3);

/* Authenticates, with a database query when needed. Errors: AUTHENTICATION_REQUIRED (also for a session that has ended),
 * INVALID_API_KEY, API_KEY_REVOKED. */
MUST_CHECK bool auth_principal(struct auth *auth, const struct work *work, const struct credentials *credentials,
                               struct principal *ret_who, struct error *err) NONNULL(1, 2, 3, 4, 5);

/* The session id of a user who may reach some brands only; 0 for any other caller. */
int64_t auth_member_session(const struct principal *who) NONNULL(1) PURE;

/* Finds the brand of the call and its state. Errors: BRAND_ID_REQUIRED, BRAND_SCOPE_MISMATCH, BRAND_NOT_FOUND, INSUFFICIENT_ROLE
 * (param member). */
MUST_CHECK bool auth_brand(struct auth *auth, const struct work *work, const struct principal *who,
                           const struct credentials *credentials, int64_t *ret_brand_id, enum brand_state *ret_state,
                           struct error *err) NONNULL(1, 2, 3, 4, 5, 6, 7);
