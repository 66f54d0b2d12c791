/*
 * Stored mailboxes: those that receive reports of other mail systems and are
 * polled by IMAP. They belong to the installation. Their passwords are sealed
 * (engine/secrets), bound to the number and the address of the mailbox, so a
 * password cannot be used with another server.
 *
 * Addresses have the form that net/imap_address.h describes; callers check
 * them. One process at a time has a mailbox: a claim ends with the poll, or after
 * MAILBOX_LEASE_S.
 */
#pragma once

#include "engine/core/work.h"

enum {
    MAILBOXES_MAX = 50,
    MAILBOX_ADDRESS_MAX_CHARS = 1000,
    MAILBOX_LEASE_S = 900,     /* longer than a poll may take */
    MAILBOX_PAUSE_MAX_S = 600, /* of a mailbox whose polls fail, unless it is polled less often anyway */
};

/* A mailbox that this process may poll. */
struct mailbox_claim {
    int64_t id;
    const char *address;
    struct bytes sealed;
};

/* Stores a mailbox in the open transaction. Errors: INVALID_REQUEST (address, secret), SERVICE_UNAVAILABLE (the master keys). */
MUST_CHECK bool mailbox_add(const struct work *work, const char *address, const char *password, int64_t *ret_id, struct error *err)
    NONNULL(1, 2, 3, 4, 5);

/* Replaces the password in the open transaction; the mailbox is due at once. Errors: INVALID_REQUEST (secret), NOT_FOUND,
 * SERVICE_UNAVAILABLE. */
MUST_CHECK bool mailbox_rotate(const struct work *work, int64_t id, const char *password, struct error *err) NONNULL(1, 3, 4);

/* Removes a mailbox in the open transaction. Errors: NOT_FOUND. */
MUST_CHECK bool mailbox_remove(const struct work *work, int64_t id, struct error *err) NONNULL(1, 3);

/* Writes the mailboxes as {"data":[…]}, oldest first, without passwords. */
MUST_CHECK bool mailboxes_write(const struct work *work, struct json_writer *json, struct error *err) NONNULL(1, 2, 3);

/* Claims a mailbox that is due; `ret_claim` is NULL when none is. */
MUST_CHECK bool mailbox_claim(const struct work *work, struct mailbox_claim **ret_claim, struct error *err) NONNULL(1, 2, 3);

/* Opens the password of a claim in an arena of its own, which wipes it. Errors: SERVICE_UNAVAILABLE. */
MUST_CHECK bool mailbox_password(const struct work *work, struct arena *secrets, const struct mailbox_claim *claim,
                                 const char **ret_password, struct error *err) NONNULL(1, 2, 3, 4, 5);

/* Ends a claim. `problem` is shown to the operator; NULL: the poll succeeded. The next poll comes after `every_us`, or when this
 * and the poll before have failed, after double the time between the two, up to MAILBOX_PAUSE_MAX_S. */
MUST_CHECK bool mailbox_polled(const struct work *work, int64_t id, const char *problem, int64_t every_us, struct error *err)
    NONNULL(1, 5);

/* Seals the passwords that an older master key sealed with the newest one, a batch of them a transaction. */
MUST_CHECK bool mailboxes_reseal(const struct work *work, int64_t *ret_count, struct error *err) NONNULL(1, 2, 3);
