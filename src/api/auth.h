/*
 * Who calls, and in which brand: the first checks of every call. Answers are
 * believed for one second (short_cache.h), so a revocation holds everywhere
 * within that second; a credential or brand that was refused is never cached.
 */
#pragma once

#include "api/call.h"
#include "engine/core/work.h"

struct auth;

struct auth *auth_new(const char *fixed_brand) RETURNS_NONNULL;
void auth_free(struct auth *auth);
void auth_forget(struct auth *auth) NONNULL(1);

/* What is known without a database: false when it has to be asked. The organization of the local owner is known only
 * once the installation is open; dispatch fills it in. */
bool auth_principal_cached(struct auth *auth, const struct credentials *credentials, struct principal *ret_who) NONNULL(1, 2, 3);

/* Authenticates, asking the database when needed.
 * Errors: AUTHENTICATION_REQUIRED, INVALID_API_KEY, API_KEY_REVOKED. A session that is over is no credential. */
MUST_CHECK bool auth_principal(struct auth *auth, const struct work *work, const struct credentials *credentials,
                               struct principal *ret_who, struct error *err) NONNULL(1, 2, 3, 4, 5);

/* The session of a person who reaches some brands only, 0 for everybody else. */
int64_t auth_member_session(const struct principal *who) NONNULL(1) PURE;

/* The brand this call works in, and whether work can be done there.
 * Errors: BRAND_ID_REQUIRED, BRAND_SCOPE_MISMATCH, BRAND_NOT_FOUND, INSUFFICIENT_ROLE (param member). */
MUST_CHECK bool auth_brand(struct auth *auth, const struct work *work, const struct principal *who,
                           const struct credentials *credentials, int64_t *ret_brand_id, enum brand_state *ret_state,
                           struct error *err) NONNULL(1, 2, 3, 4, 5, 6, 7);
