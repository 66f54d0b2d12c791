/*
 * Signing keys (DKIM) of sending domains: generated with the domain (RSA-2048 and Ed25519), and stored sealed with the master
 * key. The owner of the domain publishes them as TXT records.
 */
#pragma once

#include "engine/core/work.h"
#include "mail/dkim.h"

/* The unsealed keys that sign messages of this domain, in `arena`; none for the sandbox domain. A domain without keys gets them
 * now, in a separate transaction. Errors: SERVICE_UNAVAILABLE when the master key is not the one that sealed them. */
MUST_CHECK bool domain_signing_keys(const struct work *work, int64_t domain_id, struct arena *arena, struct dkim_key_list *ret_keys,
                                    struct error *err) NONNULL(1, 3, 4, 5);
