/*
 * Sending domains of a brand. Every brand has a sandbox domain. Its mail is
 * captured in a maildir and never sent; it has no DNS records.
 *
 * A deleted domain is not found any more (soft delete). Sends that were accepted
 * before still use it and its keys, as with designs and audiences.
 */
#pragma once

#include "engine/core/work.h"
#include "engine/domains/domain_keys.h"
#include "sql/domains.h"

/* The resource "domain"; the summary omits the DNS records. */
void domain_write(const struct work *work, const struct domain_row *domain, struct json_writer *json) NONNULL(1, 2, 3);
void domain_write_summary(const struct work *work, const struct domain_row *domain, struct json_writer *json) NONNULL(1, 2, 3);

bool domain_is_sandbox(const struct domain_row *domain) NONNULL(1) PURE;
bool domain_is_verified(const struct domain_row *domain) NONNULL(1) PURE;

/* A domain of the brand. Errors: DOMAIN_NOT_FOUND. */
MUST_CHECK bool domain_get(const struct work *work, int64_t domain_id, struct domain_row **ret_domain, struct error *err)
    NONNULL(1, 3, 4);

/* Checks a name for a sending domain, and converts it to lower-case A-labels (IDNA). Errors: INVALID_REQUEST (name). */
MUST_CHECK bool domain_check_name(const struct work *work, const char *given, const char **ret_name, struct error *err)
    NONNULL(1, 2, 3, 4);

/* Fails when another brand has verified this name. Errors: DOMAIN_OTHER_BRAND, DOMAIN_VERIFIED_ELSEWHERE. */
MUST_CHECK bool domain_check_unclaimed(const struct work *work, const char *name, struct error *err) NONNULL(1, 2, 3);

/* Inserts a checked name with its first keys, in the open transaction. `purpose` is marketing or transactional.
 * Errors: DOMAIN_ALREADY_EXISTS, SERVICE_UNAVAILABLE when there is no master key to seal with. */
MUST_CHECK bool domain_insert(const struct work *work, const char *name, const char *purpose, const struct domain_key_pair *pair,
                              int64_t *ret_id, struct error *err) NONNULL(1, 2, 3, 4, 5, 6);

/* Generates keys, which takes a tenth of a second or more, then does all of the above.
 * Errors: INVALID_REQUEST (name), DOMAIN_ALREADY_EXISTS, DOMAIN_OTHER_BRAND, DOMAIN_VERIFIED_ELSEWHERE, SERVICE_UNAVAILABLE. */
MUST_CHECK bool domain_connect(const struct work *work, const char *name, const char *purpose, struct domain_row **ret_domain,
                               struct error *err) NONNULL(1, 2, 3, 4, 5);

/* The members to change. Members that are not set stay unchanged; a value of NULL clears the member. */
struct domain_change {
    struct opt_text sender_name;
    struct opt_text from_email;
    struct opt_text reply_to;
    const char *purpose; /* NULL: unchanged */
};
/* Errors: DOMAIN_NOT_FOUND, INVALID_REQUEST naming the member. */
MUST_CHECK bool domain_change(const struct work *work, int64_t domain_id, const struct domain_change *wanted,
                              struct domain_row **ret_domain, struct error *err) NONNULL(1, 3, 4, 5);

/* `ret_deleted` is false when the brand has no such domain. Errors: INVALID_REQUEST (domainId) for the sandbox domain. */
MUST_CHECK bool domain_delete(const struct work *work, int64_t domain_id, bool *ret_deleted, struct error *err) NONNULL(1, 3, 4);
