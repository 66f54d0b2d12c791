/*
 * Domain verification: the DNS records to query, and the evaluation of the
 * answers. The engine makes no DNS queries itself; its caller fills in the
 * answers between domain_check_begin and domain_check_settle.
 *
 * A domain is verified when every key it signs with is published. Only a
 * definite answer changes the state: without an answer for one of these keys,
 * nothing changes. A missing record makes the domain pending, unless the operator
 * has marked the domain as trusted. A waiting key pair that is found replaces the
 * pair in use (key rotation).
 */
#pragma once

#include "engine/domains/domains.h"
#include "engine/domains/records.h"

enum domain_answer {
    DOMAIN_ANSWER_NONE,  /* no definite answer */
    DOMAIN_ANSWER_GIVEN, /* `found` holds the records, possibly none */
};

struct domain_query {
    const struct domain_record *record; /* name and type to query */
    enum domain_answer answer;
    struct text_list found; /* texts of TXT records with their strings joined; hosts of MX records */
};

struct domain_check {
    int64_t domain_id;
    struct domain_query *queries;
    size_t count;
};

/* `ret_wanted`: the domain has records to query; false for the sandbox domain.
 * Errors: DOMAIN_NOT_FOUND; DOMAIN_OTHER_BRAND, DOMAIN_VERIFIED_ELSEWHERE while the domain is pending. */
MUST_CHECK bool domain_check_wanted(const struct work *work, int64_t domain_id, struct domain_row **ret_domain, bool *ret_wanted,
                                    struct error *err) NONNULL(1, 3, 4, 5);

/* Makes the queries of a check, without answers. Makes keys in a separate transaction for a domain without keys.
 * Errors: DOMAIN_NOT_FOUND. */
MUST_CHECK bool domain_check_begin(const struct work *work, int64_t domain_id, struct domain_check *ret_check, struct error *err)
    NONNULL(1, 3, 4);

/* Whether the answer of the DNS has this record, as receivers read it. */
bool domain_record_is_found(const struct domain_record *record, struct text_list found) NONNULL(1) PURE;

/* Evaluates the answers and stores the result in the open transaction. Errors: those of domain_check_wanted; SERVICE_UNAVAILABLE
 * when the DNS did not answer for every key in use. */
MUST_CHECK bool domain_check_settle(const struct work *work, const struct domain_check *check, struct domain_row **ret_domain,
                                    struct error *err) NONNULL(1, 2, 3, 4);
