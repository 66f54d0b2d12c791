/*
 * Seed mailboxes, for the operator (posthorn admin seed). Every change commits
 * with an audit row. Addresses are checked by the caller (net/imap_address.h).
 */
#pragma once

#include "engine/placement/seeds.h"

/* Each writes its result; `id` is the number of a mailbox. Errors: INVALID_REQUEST, NOT_FOUND, SERVICE_UNAVAILABLE. */
MUST_CHECK bool operator_add_seed(const struct work *work, const struct seed_mailbox *seed, struct json_writer *json,
                                  struct error *err) NONNULL(1, 2, 3, 4);
MUST_CHECK bool operator_remove_seed(const struct work *work, const char *id, struct json_writer *json, struct error *err)
    NONNULL(1, 2, 3, 4);
