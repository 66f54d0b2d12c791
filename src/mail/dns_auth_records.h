/*
 * Published: what the TXT records of a name say, read as receivers of mail read
 * them. How a record was cut into strings is gone by now: their strings are
 * joined (RFC 6376 §3.6.2.2, RFC 7208 §3.3).
 */
#pragma once

#include "base/compiler.h"
#include "base/values.h"

#include <stdbool.h>

/* Whether receivers find this DKIM key (RFC 6376 §3.6.1) at its selector, and no other one beside it. `kind` is the value of k=,
 * `public_key` that of p=. White space in the record does not matter; quotes inside of it do, as they do for receivers. */
bool dns_auth_has_dkim_key(struct text_list texts, const char *kind, const char *public_key) NONNULL(2, 3) PURE;

/* Exactly one SPF record, whatever it allows (RFC 7208 §4.5). */
bool dns_auth_has_spf(struct text_list texts) PURE;

/* Exactly one DMARC record, with a policy (RFC 7489 §6.3, §6.6.3). */
bool dns_auth_has_dmarc(struct text_list texts) PURE;
