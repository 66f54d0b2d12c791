/*
 * Checking a domain: which records to ask the DNS for, and what its answers
 * mean. The engine asks nobody; whoever does fills in the answers between
 * domain_check_begin and domain_check_settle.
 *
 * A domain is verified when every key it signs with is published. Only a
 * definite answer changes anything: while the DNS is silent or in trouble about
 * one of these keys, all stays as it is. Records that are gone make the domain
 * pending, unless the operator has given his word for it. A waiting pair of keys
 * that is found takes the place of the one in use.
 */
#pragma once

#include "engine/domains/domains.h"
#include "engine/domains/records.h"

enum domain_answer {
    DOMAIN_ANSWER_NONE,  /* no answer, or one that says nothing */
    DOMAIN_ANSWER_GIVEN, /* `found` is what there is, which may be nothing */
};

struct domain_look {
    const struct domain_record *record; /* what to look for: its name and type */
    enum domain_answer answer;
    struct text_list found; /* texts of TXT records, their strings joined; hosts of MX records */
};

struct domain_check {
    int64_t domain_id;
    struct domain_look *looks;
    size_t count;
};

/* Whether there is anything to ask for; false for the sandbox domain.
 * Errors: DOMAIN_NOT_FOUND; DOMAIN_OTHER_BRAND, DOMAIN_VERIFIED_ELSEWHERE while the domain is pending. */
MUST_CHECK bool domain_check_wanted(const struct work *work, int64_t domain_id, struct domain_row **ret_domain, bool *ret_wanted,
                                    struct error *err) NONNULL(1, 3, 4, 5);

/* What to look for, nothing answered yet. A domain without keys gets them, in a transaction of its own. Errors: DOMAIN_NOT_FOUND.
 */
MUST_CHECK bool domain_check_begin(const struct work *work, int64_t domain_id, struct domain_check *ret_check, struct error *err)
    NONNULL(1, 3, 4);

/* Writes what the answers mean, in the open transaction. Errors: those of domain_check_wanted; SERVICE_UNAVAILABLE when the DNS
 * did not tell of every key in use. */
MUST_CHECK bool domain_check_settle(const struct work *work, const struct domain_check *check, struct domain_row **ret_domain,
                                    struct error *err) NONNULL(1, 2, 3, 4);
