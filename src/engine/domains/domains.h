/*
 * Sending domains of a brand. Every brand has its sandbox domain, whose mail is
 * captured in the outbox instead of being sent; it has no records and is never
 * looked for in the DNS.
 *
 * A deleted domain is gone for everybody, but what was accepted before still
 * leaves in its name, signed with its keys (as with designs and audiences).
 */
#pragma once

#include "engine/domains/domain_keys.h"
#include "engine/core/work.h"
#include "sql/domains.h"

/* The resource "domain"; the summary leaves out the DNS records. */
void domain_write(const struct work *work, const struct domain_row *domain, struct json_writer *json) NONNULL(1, 2, 3);
void domain_write_summary(const struct work *work, const struct domain_row *domain, struct json_writer *json) NONNULL(1, 2, 3);

bool domain_is_sandbox(const struct domain_row *domain) NONNULL(1) PURE;
bool domain_is_verified(const struct domain_row *domain) NONNULL(1) PURE;

/* A domain of the brand. Errors: DOMAIN_NOT_FOUND. */
MUST_CHECK bool domain_get(const struct work *work, int64_t domain_id, struct domain_row **ret_domain, struct error *err)
    NONNULL(1, 3, 4);

/* A name under which mail can be sent, as lower-case A-labels. Errors: INVALID_REQUEST (name). */
MUST_CHECK bool domain_check_name(const struct work *work, const char *given, const char **ret_name, struct error *err)
    NONNULL(1, 2, 3, 4);

/* Refuses a name that another brand has shown to own. Errors: DOMAIN_OTHER_BRAND, DOMAIN_VERIFIED_ELSEWHERE. */
MUST_CHECK bool domain_check_elsewhere(const struct work *work, const char *name, struct error *err) NONNULL(1, 2, 3);

/* A checked name with its first keys, in the open transaction. `purpose` is marketing or transactional.
 * Errors: DOMAIN_ALREADY_EXISTS, SERVICE_UNAVAILABLE when there is no key to seal with. */
MUST_CHECK bool domain_insert(const struct work *work, const char *name, const char *purpose, const struct domain_key_pair *pair,
                              int64_t *ret_id, struct error *err) NONNULL(1, 2, 3, 4, 5, 6);

/* Makes keys, which takes a tenth of a second and more, then all of the above.
 * Errors: INVALID_REQUEST (name), DOMAIN_ALREADY_EXISTS, DOMAIN_OTHER_BRAND, DOMAIN_VERIFIED_ELSEWHERE, SERVICE_UNAVAILABLE. */
MUST_CHECK bool domain_connect(const struct work *work, const char *name, const char *purpose, struct domain_row **ret_domain,
                               struct error *err) NONNULL(1, 2, 3, 4, 5);

/* What to change; members that are not set stay, a value of NULL clears. */
struct domain_change {
    struct opt_text sender_name;
    struct opt_text from_email;
    struct opt_text reply_to;
    const char *purpose; /* NULL: stays */
};
/* Errors: DOMAIN_NOT_FOUND, INVALID_REQUEST naming the member. */
MUST_CHECK bool domain_change(const struct work *work, int64_t domain_id, const struct domain_change *wanted,
                              struct domain_row **ret_domain, struct error *err) NONNULL(1, 3, 4, 5);

/* `ret_deleted` is false when there was none. Errors: INVALID_REQUEST (domainId) for the sandbox domain. */
MUST_CHECK bool domain_delete(const struct work *work, int64_t domain_id, bool *ret_deleted, struct error *err) NONNULL(1, 3, 4);
