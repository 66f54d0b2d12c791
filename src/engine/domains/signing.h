/*
 * Signing keys of sending domains: made with the domain (RSA-2048 and Ed25519), kept sealed under the master key, published by
 * the owner of the domain as TXT records.
 */
#pragma once

#include "engine/core/work.h"
#include "mail/dkim.h"

/* The keys that messages of this domain are signed with, unsealed, in `arena`; none for the sandbox domain. A domain that was
 * connected before there were keys gets them now, which needs a transaction of its own.
 * Errors: SERVICE_UNAVAILABLE when the master key is not the one they were sealed with. */
MUST_CHECK bool domain_signing_keys(const struct work *work, int64_t domain_id, struct arena *arena, struct dkim_key_list *ret_keys,
                                    struct error *err) NONNULL(1, 3, 4, 5);
