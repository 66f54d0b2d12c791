/*
 * Mailboxes that are polled for reports, for the operator (posthorn admin
 * mailbox). Every change commits with an audit row. Addresses are checked by the
 * caller (net/imap_address.h).
 */
#pragma once

#include "engine/reports/mailboxes.h"

/* Each writes its result; `id` is the number of a mailbox. Errors: INVALID_REQUEST, NOT_FOUND, SERVICE_UNAVAILABLE. */
MUST_CHECK bool operator_add_mailbox(const struct work *work, const char *address, const char *password, struct json_writer *json,
                                     struct error *err) NONNULL(1, 2, 3, 4, 5);
MUST_CHECK bool operator_rotate_mailbox(const struct work *work, const char *id, const char *password, struct json_writer *json,
                                        struct error *err) NONNULL(1, 2, 3, 4, 5);
MUST_CHECK bool operator_remove_mailbox(const struct work *work, const char *id, struct json_writer *json, struct error *err)
    NONNULL(1, 2, 3, 4);
