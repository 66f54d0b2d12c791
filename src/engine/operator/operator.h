/*
 * What only the operator of an installation does, from its command line:
 * organizations and their plans, brands, API keys, sessions, domains with their
 * signing keys, and the master keys.
 * Each function is one transaction and leaves an audit row.
 */
#pragma once

#include "engine/api_keys/api_keys.h"

struct domain_check;

/* An organization or brand named by its wire id; NULL names the default one.
 * Errors: NOT_FOUND, BRAND_NOT_FOUND. */
MUST_CHECK bool operator_find_organization(const struct work *work, const char *wire_id, int64_t *ret_id, struct error *err)
    NONNULL(1, 3, 4);
MUST_CHECK bool operator_find_brand(const struct work *work, const char *wire_id, int64_t *ret_id, int64_t *ret_organization_id,
                                    struct error *err) NONNULL(1, 3, 4, 5);

MUST_CHECK bool operator_create_organization(const struct work *work, const char *name, int64_t *ret_id, struct error *err)
    NONNULL(1, 2, 3, 4);
MUST_CHECK bool operator_create_brand(const struct work *work, int64_t organization_id, const char *name, int64_t *ret_id,
                                      struct error *err) NONNULL(1, 3, 4, 5);

/* `ret_secret` is shown once and kept as a hash only. */
MUST_CHECK bool operator_create_key(const struct work *work, const struct api_key_fields *fields, struct api_key_row **ret_key,
                                    const char **ret_secret, struct error *err) NONNULL(1, 2, 3, 4, 5);
MUST_CHECK bool operator_revoke_key(const struct work *work, const char *wire_id, bool *ret_revoked, struct error *err)
    NONNULL(1, 2, 3, 4);

/* What an organization may use in a month, and how many credits it may use beyond that in each. Both hold from the next call
 * on; sends that wait for room in the plan look again.
 * Errors: INVALID_REQUEST. */
MUST_CHECK bool operator_set_plan(const struct work *work, int64_t organization_id, const char *plan, struct error *err)
    NONNULL(1, 3, 4);
MUST_CHECK bool operator_set_bonus(const struct work *work, int64_t organization_id, int64_t credits, struct error *err)
    NONNULL(1, 4);

/* A person who is signed in for some time. */
struct operator_session {
    int64_t organization_id;
    const char *user_name;
    const char *role;             /* admin or member */
    const char *const *brand_ids; /* wire ids of the brands a member reaches, NULL-ended; NULL: none */
    int64_t lasts_s;
};
/* `ret_token` is what the cookie __session must hold; it is shown once and kept as a hash only.
 * Errors: INVALID_REQUEST, BRAND_NOT_FOUND. */
MUST_CHECK bool operator_create_session(const struct work *work, const struct operator_session *session, int64_t *ret_id,
                                        const char **ret_token, struct error *err) NONNULL(1, 2, 3, 4, 5);
/* *ret_ended is false when there is no such session, or it had ended before. */
MUST_CHECK bool operator_end_session(const struct work *work, const char *wire_id, bool *ret_ended, struct error *err)
    NONNULL(1, 2, 3, 4);

/* `purpose` is marketing or transactional. Errors: INVALID_REQUEST, DOMAIN_ALREADY_EXISTS. */
MUST_CHECK bool operator_create_domain(const struct work *work, int64_t brand_id, int64_t organization_id, const char *name,
                                       const char *purpose, int64_t *ret_id, struct error *err) NONNULL(1, 4, 5, 6, 7);
/* Errors: DOMAIN_NOT_FOUND. */
MUST_CHECK bool operator_trust_domain(const struct work *work, int64_t brand_id, const char *name, int64_t *ret_id,
                                      struct error *err) NONNULL(1, 3, 4, 5);

/* Whether the DNS has the records of a domain: what to ask for, and, once it is answered, what that means (domains/check.h).
 * Errors: DOMAIN_NOT_FOUND, DOMAIN_OTHER_BRAND, DOMAIN_VERIFIED_ELSEWHERE, SERVICE_UNAVAILABLE. */
MUST_CHECK bool operator_begin_check(const struct work *work, int64_t brand_id, const char *name, struct domain_check *ret_check,
                                     struct error *err) NONNULL(1, 3, 4, 5);
MUST_CHECK bool operator_settle_check(const struct work *work, int64_t brand_id, int64_t organization_id,
                                      const struct domain_check *check, struct error *err) NONNULL(1, 4, 5);

/* New signing keys. First they are made and wait for their records to be published; then, when the operator says that they are
 * (`is_published`), they take the place of those in use. Errors: DOMAIN_NOT_FOUND, INVALID_REQUEST when none wait. */
MUST_CHECK bool operator_rotate_domain(const struct work *work, int64_t brand_id, const char *name, bool is_published,
                                       struct error *err) NONNULL(1, 3, 5);
/* A domain with the DNS records to publish; one without keys gets them. Errors: DOMAIN_NOT_FOUND. */
MUST_CHECK bool operator_write_domain(const struct work *work, int64_t brand_id, const char *name, struct json_writer *json,
                                      struct error *err) NONNULL(1, 3, 4, 5);

/* A further master key, with which everything is sealed from now on. Errors: INVALID_REQUEST, SERVICE_UNAVAILABLE. */
MUST_CHECK bool operator_add_master_key(const struct work *work, int *ret_id, struct error *err) NONNULL(1, 2, 3);
/* Seals every secret with the newest master key, so that older ones can be taken out of the key file. Errors: SERVICE_UNAVAILABLE.
 */
MUST_CHECK bool operator_rewrap(const struct work *work, int64_t *ret_count, struct error *err) NONNULL(1, 2, 3);

/* Lists, written as {"data":[…]}. */
MUST_CHECK bool operator_write_organizations(const struct work *work, struct json_writer *json, struct error *err) NONNULL(1, 2, 3);
MUST_CHECK bool operator_write_brands(const struct work *work, int64_t organization_id, struct json_writer *json, struct error *err)
    NONNULL(1, 3, 4);
MUST_CHECK bool operator_write_keys(const struct work *work, int64_t organization_id, struct json_writer *json, struct error *err)
    NONNULL(1, 3, 4);
MUST_CHECK bool operator_write_sessions(const struct work *work, int64_t organization_id, struct json_writer *json,
                                        struct error *err) NONNULL(1, 3, 4);
MUST_CHECK bool operator_write_domains(const struct work *work, int64_t brand_id, struct json_writer *json, struct error *err)
    NONNULL(1, 3, 4);
