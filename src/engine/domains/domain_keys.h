/*
 * The keys of sending domains: how they are made, kept, replaced and sealed
 * anew. A pair is made at a time, RSA-2048 and Ed25519, under selectors ph7r
 * and ph7e with a number that is never given twice.
 *
 * A pair is waiting (its records are to be published), in use, or retired.
 * Whoever verifies a message looks its key up when it arrives, so the record
 * of a retired key stays published while messages may be under way.
 *
 * work->brand_id is the brand of the domain.
 */
#pragma once

#include "engine/core/work.h"
#include "mail/dkim.h"

struct domain_key_pair;

/* A fresh pair, in memory that `arena` wipes; takes a tenth of a second and more. Errors: INTERNAL_ERROR. */
MUST_CHECK bool domain_key_pair_new(struct arena *arena, struct domain_key_pair **ret_pair, struct error *err) NONNULL(1, 2, 3);

/* Keeps a pair for a domain, in the open transaction. Errors: SERVICE_UNAVAILABLE when there is no key to seal with. */
MUST_CHECK bool domain_key_pair_keep(const struct work *work, int64_t domain_id, const struct domain_key_pair *pair, bool is_used,
                                     struct error *err) NONNULL(1, 3, 5);

/* How many keys of a domain wait and are in use; holds the domain until the transaction ends.
 * Errors: DOMAIN_NOT_FOUND, also for a sandbox domain. */
struct domain_key_counts {
    int64_t waiting;
    int64_t used;
};
MUST_CHECK bool domain_keys_lock(const struct work *work, int64_t domain_id, struct domain_key_counts *ret_counts,
                                 struct error *err) NONNULL(1, 3, 4);

/* The waiting pair takes the place of the one in use, in the open transaction. */
MUST_CHECK bool domain_keys_exchange(const struct work *work, int64_t domain_id, struct error *err) NONNULL(1, 3);

/* A pair in use for a domain that has none; outside of a transaction. */
MUST_CHECK bool domain_keys_ensure(const struct work *work, int64_t domain_id, struct error *err) NONNULL(1, 3);

/* Seals every key of every brand with the newest master key, a hundred a transaction. Errors: SERVICE_UNAVAILABLE. */
MUST_CHECK bool domain_keys_reseal(const struct work *work, int64_t *ret_count, struct error *err) NONNULL(1, 2, 3);
