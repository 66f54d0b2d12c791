/*
 * DKIM keys of sending domains: generation, storage, rotation and resealing. Keys
 * are made in pairs, RSA-2048 and Ed25519. Their selectors are for example ph7r
 * and ph7e; the number is never reused.
 *
 * A pair is waiting (until its records are published), in use, or retired.
 * Receivers look up the key when a message arrives, so the record of a retired
 * key must stay published while messages may still be in transit.
 *
 * work->brand_id is the brand of the domain.
 */
#pragma once

#include "engine/core/work.h"
#include "mail/dkim.h"

struct domain_key_pair;

/* Generates a pair, in memory that `arena` wipes. It takes a tenth of a second or more. Errors: INTERNAL_ERROR. */
MUST_CHECK bool domain_key_pair_new(struct arena *arena, struct domain_key_pair **ret_pair, struct error *err) NONNULL(1, 2, 3);

/* Stores a pair for a domain in the open transaction. Errors: SERVICE_UNAVAILABLE when there is no master key to seal it with. */
MUST_CHECK bool domain_key_pair_keep(const struct work *work, int64_t domain_id, const struct domain_key_pair *pair, bool is_used,
                                     struct error *err) NONNULL(1, 3, 5);

/* Locks the domain until the transaction ends, and counts its keys that are waiting and in use.
 * Errors: DOMAIN_NOT_FOUND, also for a sandbox domain. */
struct domain_key_counts {
    int64_t waiting;
    int64_t used;
};
MUST_CHECK bool domain_keys_lock(const struct work *work, int64_t domain_id, struct domain_key_counts *ret_counts,
                                 struct error *err) NONNULL(1, 3, 4);

/* Replaces the pair in use by the waiting one (key rotation), in the open transaction. */
MUST_CHECK bool domain_keys_exchange(const struct work *work, int64_t domain_id, struct error *err) NONNULL(1, 3);

/* Generates a key pair for a domain without keys in use, and marks the pair as used. No transaction may be open. */
MUST_CHECK bool domain_keys_ensure(const struct work *work, int64_t domain_id, struct error *err) NONNULL(1, 3);

/* Seals every key of every brand with the newest master key, a hundred keys per transaction. Errors: SERVICE_UNAVAILABLE. */
MUST_CHECK bool domain_keys_reseal(const struct work *work, int64_t *ret_count, struct error *err) NONNULL(1, 2, 3);
