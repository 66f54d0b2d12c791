/*
 * Drafts a contract from one example payload. The result lives in the arena of
 * the work; nothing is saved.
 */
#pragma once

#include "engine/contracts/contract.h"

/* A value whose type the example does not tell. */
struct contract_issue {
    const char *path; /* dotted */
    const char *message;
};

struct contract_draft {
    struct contract contract; /* every field is required */
    const struct contract_issue *issues;
    size_t issue_count;
};

/* Errors: INVALID_REQUEST (example) when the example is larger than a payload may be. */
MUST_CHECK bool contract_infer(const struct work *work, const json_t *example, struct contract_draft *ret_draft, struct error *err)
    NONNULL(1, 2, 3, 4);
