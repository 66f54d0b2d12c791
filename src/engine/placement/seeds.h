/*
 * Seed mailboxes: mailboxes of the operator at mail providers, in which placement
 * tests look for their messages. One belongs to an organization, or to all of the
 * installation. Its password is sealed (engine/secrets/mailbox_passwords.h).
 *
 * Addresses have the form that net/imap_address.h describes; callers check them.
 * Rows live in the arena of the work.
 */
#pragma once

#include "engine/core/work.h"
#include "sql/seeds.h"

enum {
    SEEDS_MAX = 50, /* of one owner, and of one test */
    SEED_PROVIDER_MAX_CHARS = 64,
    SEED_ADDRESS_MAX_CHARS = 1000,
};

/* A seed mailbox as the operator describes it. */
struct seed_mailbox {
    int64_t organization_id; /* 0: all organizations use it */
    const char *provider;    /* stored in lower case */
    const char *address;
    const char *email; /* the address that gets the messages */
    const char *password;
};

/* Stores a mailbox in the open transaction. Errors: INVALID_REQUEST (provider, address, email, secret), SERVICE_UNAVAILABLE. */
MUST_CHECK bool seed_add(const struct work *work, const struct seed_mailbox *seed, int64_t *ret_id, struct error *err)
    NONNULL(1, 2, 3, 4);

/* Removes a mailbox in the open transaction. Errors: NOT_FOUND. */
MUST_CHECK bool seed_remove(const struct work *work, int64_t id, struct error *err) NONNULL(1, 3);

/* Writes all mailboxes as {"data":[…]}, oldest first, without passwords. */
MUST_CHECK bool seeds_write(const struct work *work, struct json_writer *json, struct error *err) NONNULL(1, 2, 3);

/* Chooses the mailboxes of a test: those of these providers, or all when the list is empty. Errors: SERVICE_UNAVAILABLE (there is
 * none), INVALID_REQUEST (providers). */
MUST_CHECK bool seeds_choose(const struct work *work, struct text_list providers, struct seed_mailboxes_of_row **ret_seeds,
                             size_t *ret_count, struct error *err) NONNULL(1, 3, 4, 5);

/* Opens the password of a mailbox in an arena of its own, which wipes it. Errors: SERVICE_UNAVAILABLE. */
MUST_CHECK bool seed_password(const struct work *work, struct arena *secrets, int64_t id, const char *address, struct bytes sealed,
                              const char **ret_password, struct error *err) NONNULL(1, 2, 4, 6, 7);

/* Seals the passwords that an older master key sealed with the newest one, a batch of them a transaction. */
MUST_CHECK bool seeds_reseal(const struct work *work, int64_t *ret_count, struct error *err) NONNULL(1, 2, 3);
