/*
 * Passwords of mailboxes that are read by IMAP, sealed under the master key. A
 * password is bound to the purpose, the number and the address of its row, so it
 * cannot be used with another server. Resealing is that of reseal.h.
 */
#pragma once

#include "engine/secrets/reseal.h"

enum { MAILBOX_PASSWORD_MAX_BYTES = 1000 };

/* The row of a mailbox. */
struct mailbox_secret {
    const char *purpose; /* of the sealing: one for each table */
    int64_t id;
    const char *address;
};

/* Seals a password in the transaction that stores it. Errors: INVALID_REQUEST (secret), SERVICE_UNAVAILABLE (the master keys). */
MUST_CHECK bool mailbox_password_seal(const struct work *work, const struct mailbox_secret *mailbox, const char *password,
                                      struct bytes *ret_sealed, struct error *err) NONNULL(1, 2, 3, 4, 5);

/* Opens a password in an arena of its own, which wipes it. Errors: SERVICE_UNAVAILABLE. */
MUST_CHECK bool mailbox_password_open(const struct work *work, struct arena *secrets, const struct mailbox_secret *mailbox,
                                      struct bytes sealed, const char **ret_password, struct error *err) NONNULL(1, 2, 3, 5, 6);

/* Seals a password anew with the newest master key. Errors: SERVICE_UNAVAILABLE. */
MUST_CHECK bool mailbox_password_reseal(const struct reseal *reseal, const struct mailbox_secret *mailbox, struct bytes sealed,
                                        struct bytes *ret_sealed, struct error *err) NONNULL(1, 2, 4, 5);
