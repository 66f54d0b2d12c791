/*
 * Operator functions, available only on the command line of an installation:
 * organizations and their plans, brands, API keys, sessions, domains with their
 * signing keys, and the master keys. Each function is one transaction and writes
 * an audit row.
 */
#pragma once

#include "engine/api_keys/api_keys.h"

struct domain_check;
struct send_row;

/* Finds an organization or brand by its wire id; NULL: the default one.
 * Errors: NOT_FOUND, BRAND_NOT_FOUND. */
MUST_CHECK bool operator_find_organization(const struct work *work, const char *wire_id, int64_t *ret_id, struct error *err)
    NONNULL(1, 3, 4);
MUST_CHECK bool operator_find_brand(const struct work *work, const char *wire_id, int64_t *ret_id, int64_t *ret_organization_id,
                                    struct error *err) NONNULL(1, 3, 4, 5);

MUST_CHECK bool operator_create_organization(const struct work *work, const char *name, int64_t *ret_id, struct error *err)
    NONNULL(1, 2, 3, 4);
MUST_CHECK bool operator_create_brand(const struct work *work, int64_t organization_id, const char *name, int64_t *ret_id,
                                      struct error *err) NONNULL(1, 3, 4, 5);

/* `ret_secret` is shown once; only its hash is stored. */
MUST_CHECK bool operator_create_key(const struct work *work, const struct api_key_fields *fields, struct api_key_row **ret_key,
                                    const char **ret_secret, struct error *err) NONNULL(1, 2, 3, 4, 5);
MUST_CHECK bool operator_revoke_key(const struct work *work, const char *wire_id, bool *ret_revoked, struct error *err)
    NONNULL(1, 2, 3, 4);

/* Which mail of the brand of `work` reports opens and clicks: off, marketing or all. Holds for messages that are composed later.
 * Errors: INVALID_REQUEST (tracking). */
MUST_CHECK bool operator_set_tracking(const struct work *work, const char *tracking, struct error *err) NONNULL(1, 2, 3);
MUST_CHECK bool operator_find_tracking(const struct work *work, const char **ret_tracking, struct error *err) NONNULL(1, 2, 3);

/* Sets the plan (monthly limits) of an organization, and its monthly bonus credits. Both apply from the next call on. Sends that
 * are paused by the plan's limit are retried at once. Errors: INVALID_REQUEST. */
MUST_CHECK bool operator_set_plan(const struct work *work, int64_t organization_id, const char *plan, struct error *err)
    NONNULL(1, 3, 4);
MUST_CHECK bool operator_set_bonus(const struct work *work, int64_t organization_id, int64_t credits, struct error *err)
    NONNULL(1, 4);

/* For how many whole months the installation keeps events and hits besides the current one. Errors: INVALID_REQUEST (months). */
MUST_CHECK bool operator_keep_events(const struct work *work, const char *months, struct error *err) NONNULL(1, 2, 3);
MUST_CHECK bool operator_kept_events(const struct work *work, int64_t *ret_months, struct error *err) NONNULL(1, 2, 3);

/* A session of a signed-in person. */
struct operator_session {
    int64_t organization_id;
    const char *user_name;
    const char *role;             /* admin or member */
    const char *const *brand_ids; /* wire ids of a member's brands, NULL-terminated; NULL: none */
    int64_t lasts_s;
};
/* `ret_token` is the value of the cookie __session. It is shown once; only its hash is stored.
 * Errors: INVALID_REQUEST, BRAND_NOT_FOUND. */
MUST_CHECK bool operator_create_session(const struct work *work, const struct operator_session *session, int64_t *ret_id,
                                        const char **ret_token, struct error *err) NONNULL(1, 2, 3, 4, 5);
/* *ret_ended is false when the session does not exist or has ended before. */
MUST_CHECK bool operator_end_session(const struct work *work, const char *wire_id, bool *ret_ended, struct error *err)
    NONNULL(1, 2, 3, 4);

/* A canceled send. */
struct operator_canceled {
    const char *status;      /* afterwards */
    struct opt_int messages; /* of a carrier: the messages that are not sent */
};

/* Pauses a running send, which the API refuses, and cancels any send that has not ended, a running one included, or a message of an
 * automation that has not begun. A carrier that is held after a restore loses its open messages, and is released. `ret_status` is
 * the status afterwards. Errors: SEND_NOT_FOUND, SEND_NOT_CANCELLABLE, INVALID_REQUEST for mail of an automation that shall pause.
 */
MUST_CHECK bool operator_pause_send(const struct work *work, const char *wire_id, const char **ret_status, struct error *err)
    NONNULL(1, 2, 3, 4);
MUST_CHECK bool operator_cancel_send(const struct work *work, const char *wire_id, struct operator_canceled *ret_canceled,
                                     struct error *err) NONNULL(1, 2, 3, 4);

/* Sets the number of recipients above which the sends of work->organization_id wait for an approval; unset: none waits. */
MUST_CHECK bool operator_set_approvals(const struct work *work, struct opt_int above, struct error *err) NONNULL(1, 3);

/* Approves or rejects a send that waits for an administrator (engine/sends/approval.h). `note` NULL: none.
 * Errors: INVALID_REQUEST (note), SEND_NOT_FOUND, SEND_NOT_PENDING_APPROVAL. */
MUST_CHECK bool operator_decide_send(const struct work *work, const char *wire_id, bool approves, const char *note,
                                     struct send_row **ret_send, struct error *err) NONNULL(1, 2, 5, 6);

/* Releases a send that is held after a restore; NULL: all (engine/core/restore_holds.h). Errors: SEND_NOT_FOUND. */
MUST_CHECK bool operator_release_holds(const struct work *work, const char *wire_id, int64_t *ret_count, struct error *err)
    NONNULL(1, 3, 4);

/* `purpose` is marketing or transactional. Errors: INVALID_REQUEST, DOMAIN_ALREADY_EXISTS. */
MUST_CHECK bool operator_create_domain(const struct work *work, int64_t brand_id, int64_t organization_id, const char *name,
                                       const char *purpose, int64_t *ret_id, struct error *err) NONNULL(1, 4, 5, 6, 7);
/* Marks a domain as verified without a DNS check. Errors: DOMAIN_NOT_FOUND. */
MUST_CHECK bool operator_trust_domain(const struct work *work, int64_t brand_id, const char *name, int64_t *ret_id,
                                      struct error *err) NONNULL(1, 3, 4, 5);

/* Checks the DNS records of a domain: the first makes the queries, the second evaluates the answers (domains/check.h).
 * Errors: DOMAIN_NOT_FOUND, DOMAIN_OTHER_BRAND, DOMAIN_VERIFIED_ELSEWHERE, SERVICE_UNAVAILABLE. */
MUST_CHECK bool operator_begin_check(const struct work *work, int64_t brand_id, const char *name, struct domain_check *ret_check,
                                     struct error *err) NONNULL(1, 3, 4, 5);
MUST_CHECK bool operator_settle_check(const struct work *work, int64_t brand_id, int64_t organization_id,
                                      const struct domain_check *check, struct error *err) NONNULL(1, 4, 5);

/* Rotates the signing keys (key rotation). The first call makes a waiting key pair. The second call, with `is_published`, replaces
 * the keys in use after the operator has published the new records. Errors: DOMAIN_NOT_FOUND, INVALID_REQUEST without waiting
 * keys. */
MUST_CHECK bool operator_rotate_domain(const struct work *work, int64_t brand_id, const char *name, bool is_published,
                                       struct error *err) NONNULL(1, 3, 5);
/* Writes a domain with the DNS records to publish. A domain without keys gets them. Errors: DOMAIN_NOT_FOUND. */
MUST_CHECK bool operator_write_domain(const struct work *work, int64_t brand_id, const char *name, struct json_writer *json,
                                      struct error *err) NONNULL(1, 3, 4, 5);

/* Adds a master key, which seals all secrets from now on. Errors: INVALID_REQUEST, SERVICE_UNAVAILABLE. */
MUST_CHECK bool operator_add_master_key(const struct work *work, int *ret_id, struct error *err) NONNULL(1, 2, 3);
/* Reseals every secret with the newest master key, so that older keys can be removed from the key file.
 * Errors: SERVICE_UNAVAILABLE. */
MUST_CHECK bool operator_rewrap(const struct work *work, int64_t *ret_count, struct error *err) NONNULL(1, 2, 3);

/* Makes a subscription group of work->brand_id public, with a title (NULL: its id), or private (engine/preferences).
 * Errors: INVALID_REQUEST (group, name). */
MUST_CHECK bool operator_set_public_group(const struct work *work, const char *name, const char *title, struct error *err)
    NONNULL(1, 2, 4);
MUST_CHECK bool operator_remove_public_group(const struct work *work, const char *name, bool *ret_changed, struct error *err)
    NONNULL(1, 2, 3, 4);
MUST_CHECK bool operator_write_public_groups(const struct work *work, struct json_writer *json, struct error *err) NONNULL(1, 2, 3);

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
