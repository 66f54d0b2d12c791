#include "api/auth.h"

#include "base/panic.h"

#include "api/ttl_cache.h"
#include "catalogue/policies.h"
#include "sql/auth.h"

#include <stdlib.h>
#include <string.h>

struct auth {
    const char *fixed_brand; /* the local owner's brand */
    struct ttl_cache *principals;
    struct ttl_cache *brands;
};

struct auth *auth_new(const char *fixed_brand)
{
    struct auth *auth = calloc(1, sizeof(*auth));
    if (auth == NULL)
        panic(PANIC_NO_MEMORY);
    auth->fixed_brand = fixed_brand;
    auth->principals = ttl_cache_new(sizeof(struct principal));
    auth->brands = ttl_cache_new(sizeof(enum brand_state));
    return auth;
}

void auth_free(struct auth *auth)
{
    if (auth == NULL)
        return;
    ttl_cache_free(auth->principals);
    ttl_cache_free(auth->brands);
    free(auth);
}

void auth_forget(struct auth *auth)
{
    ttl_cache_clear(auth->principals);
    ttl_cache_clear(auth->brands);
}

/* The local owner runs the process on its own data folder. It is an organization credential without a rate limit. */
static struct principal local_owner(void)
{
    return (struct principal){
        .kind = CREDENTIAL_LOCAL_OWNER,
        .scopes = SCOPE_ALL,
        .rate_multiplier = 0,
    };
}

bool auth_is_well_formed(const struct credentials *credentials)
{
    switch (credentials->kind) {
    case CREDENTIAL_NONE:
        return false;
    case CREDENTIAL_API_KEY:
        return api_key_is_well_formed(credentials->secret);
    case CREDENTIAL_SESSION:
        return session_token_is_well_formed(credentials->secret);
    case CREDENTIAL_LOCAL_OWNER:
        return true;
    }
    return false;
}

bool auth_principal_cached(struct auth *auth, const struct credentials *credentials, struct principal *ret_who)
{
    if (credentials->kind == CREDENTIAL_LOCAL_OWNER) {
        *ret_who = local_owner();
        return true;
    }
    if (!auth_is_well_formed(credentials))
        return false;
    unsigned char hash[SECRET_HASH_BYTES];
    secret_hash(credentials->secret, hash);
    return ttl_cache_get(auth->principals, hash, ret_who);
}

static enum brand_state state_of_brand(const char *status)
{
    if (status == NULL || strcmp(status, "completed") == 0)
        return BRAND_IS_READY;
    return strcmp(status, "deleting") == 0 ? BRAND_IS_GONE : BRAND_IS_UNFINISHED;
}

static bool principal_from_key(struct auth *auth, const struct work *work, const char *key, struct principal *ret_who,
                               struct error *err)
{
    if (!api_key_is_well_formed(key))
        return fail(err, ERR_INVALID_API_KEY, NULL, "This is not a valid API key.");
    unsigned char hash[SECRET_HASH_BYTES];
    secret_hash(key, hash);
    if (ttl_cache_get(auth->principals, hash, ret_who))
        return true;

    uint64_t generation = ttl_cache_generation(auth->principals);
    struct auth_key_by_hash_params params = { .secret_hash = { hash, sizeof(hash) }, .now = work->now_us };
    struct auth_key_by_hash_row *row;
    if (!sql_auth_key_by_hash(work->conn, work->arena, &params, &row, err))
        return false;
    if (row == NULL)
        return fail(err, ERR_INVALID_API_KEY, NULL, "No such API key exists.");
    if (row->revoked)
        return fail(err, ERR_API_KEY_REVOKED, NULL, "This API key was revoked.");
    *ret_who = (struct principal){
        .kind = CREDENTIAL_API_KEY,
        .organization_id = row->organization_id,
        .key_id = row->id,
        .bound_brand_id = row->brand_id.value,
        .bound_brand_state = state_of_brand(row->brand_status),
        .scopes = (uint32_t)row->scopes,
        .rate_multiplier = row->rate_multiplier,
    };
    if (ret_who->bound_brand_state != BRAND_IS_UNFINISHED) /* see organization_brand */
        ttl_cache_put(auth->principals, hash, ret_who, generation);
    return true;
}

static bool refuse_session(struct error *err)
{
    return fail(err, ERR_AUTHENTICATION_REQUIRED, NULL, "This session is unknown or has ended. Sign in again.");
}

/* A signed-in user has all scopes, in the brands that the role allows. */
static bool principal_from_session(struct auth *auth, const struct work *work, const char *token, struct principal *ret_who,
                                   struct error *err)
{
    if (!session_token_is_well_formed(token))
        return refuse_session(err);
    unsigned char hash[SECRET_HASH_BYTES];
    secret_hash(token, hash);
    if (ttl_cache_get(auth->principals, hash, ret_who))
        return true;

    uint64_t generation = ttl_cache_generation(auth->principals);
    struct auth_session_by_hash_params params = { .secret_hash = { hash, sizeof(hash) }, .now = work->now_us };
    struct auth_session_by_hash_row *row;
    if (!sql_auth_session_by_hash(work->conn, work->arena, &params, &row, err))
        return false;
    if (row == NULL)
        return refuse_session(err);
    *ret_who = (struct principal){
        .kind = CREDENTIAL_SESSION,
        .organization_id = row->organization_id,
        .session_id = row->id,
        .scopes = SCOPE_ALL,
        .rate_multiplier = 1,
        .administrator = row->administrator,
    };
    ttl_cache_put(auth->principals, hash, ret_who, generation);
    return true;
}

bool auth_principal(struct auth *auth, const struct work *work, const struct credentials *credentials, struct principal *ret_who,
                    struct error *err)
{
    switch (credentials->kind) {
    case CREDENTIAL_NONE:
        return fail(err, ERR_AUTHENTICATION_REQUIRED, NULL, "No credential was sent.");
    case CREDENTIAL_SESSION:
        return principal_from_session(auth, work, credentials->secret, ret_who, err);
    case CREDENTIAL_LOCAL_OWNER:
        *ret_who = local_owner();
        return true;
    case CREDENTIAL_API_KEY:
        return principal_from_key(auth, work, credentials->secret, ret_who, err);
    }
    return fail(err, ERR_AUTHENTICATION_REQUIRED, NULL, "No credential was sent.");
}

static bool brand_not_found(struct error *err)
{
    return fail(err, ERR_BRAND_NOT_FOUND, NULL, "No brand with this id in the organization.");
}

int64_t auth_member_session(const struct principal *who)
{
    return who->kind == CREDENTIAL_SESSION && !who->administrator ? who->session_id : 0;
}

/* A brand of another organization is reported as missing. A member may lack access to a brand of its own organization. */
static bool organization_brand(struct auth *auth, const struct work *work, const struct principal *who, int64_t brand_id,
                               enum brand_state *ret_state, struct error *err)
{
    unsigned char hash[SECRET_HASH_BYTES];
    int64_t member_session_id = auth_member_session(who);
    int64_t asked[3] = { who->organization_id, brand_id, member_session_id };
    sha256(asked, sizeof(asked), hash);
    if (ttl_cache_get(auth->brands, hash, ret_state))
        return true;

    uint64_t generation = ttl_cache_generation(auth->brands);
    struct auth_brand_params params = {
        .organization_id = who->organization_id,
        .brand_id = brand_id,
        .member_session_id = member_session_id,
    };
    struct auth_brand_row *row;
    if (!sql_auth_brand(work->conn, work->arena, &params, &row, err))
        return false;
    if (row == NULL)
        return brand_not_found(err);
    if (!row->reachable)
        return fail(err, ERR_INSUFFICIENT_ROLE, "member", "This user has no access to the brand.");
    *ret_state = state_of_brand(row->status);
    if (*ret_state == BRAND_IS_READY) /* a caller who has read that a brand is ready can use it at once */
        ttl_cache_put(auth->brands, hash, ret_state, generation);
    return true;
}

bool auth_brand(struct auth *auth, const struct work *work, const struct principal *who, const struct credentials *credentials,
                int64_t *ret_brand_id, enum brand_state *ret_state, struct error *err)
{
    *ret_state = BRAND_IS_READY;
    const char *named = credentials->brand;
    if (who->kind == CREDENTIAL_LOCAL_OWNER && named == NULL)
        named = auth->fixed_brand;
    int64_t brand_id = named != NULL ? id_decode(&work->engine->ids, ID_BRAND, named) : 0;

    if (who->bound_brand_id != 0) {
        *ret_brand_id = who->bound_brand_id;
        *ret_state = who->bound_brand_state;
        if (named == NULL || brand_id == who->bound_brand_id)
            return *ret_state != BRAND_IS_GONE || brand_not_found(err);
        return fail(err, ERR_BRAND_SCOPE_MISMATCH, NULL, "This key is limited to a brand other than the one that the call names.");
    }
    if (named == NULL && who->kind == CREDENTIAL_LOCAL_OWNER) {
        *ret_brand_id = work->engine->default_brand_id;
        return true;
    }
    if (named == NULL)
        return fail(err, ERR_BRAND_ID_REQUIRED, NULL, "This credential is bound to no brand, and the call names none.");
    if (brand_id == 0)
        return brand_not_found(err);
    *ret_brand_id = brand_id;
    return organization_brand(auth, work, who, brand_id, ret_state, err);
}
