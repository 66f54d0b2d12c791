/*
 * DNS authentication records: reads DKIM, SPF and DMARC records from the TXT
 * records of a name, as mail receivers do. The strings of a record are already
 * joined (RFC 6376 §3.6.2.2, RFC 7208 §3.3).
 */
#pragma once

#include "base/compiler.h"
#include "base/values.h"

#include <stdbool.h>

/* Whether receivers find this DKIM key (RFC 6376 §3.6.1) at its selector, and no other one. `kind` is the value of k=,
 * `public_key` that of p=. White space inside the value of p= is ignored. Quotation marks are not ignored, because receivers take
 * them for a part of the value. */
bool dns_auth_has_dkim_key(struct text_list texts, const char *kind, const char *public_key) NONNULL(2, 3) PURE;

/* Whether there is exactly one SPF record, with any content (RFC 7208 §4.5). */
bool dns_auth_has_spf(struct text_list texts) PURE;

/* Whether there is exactly one DMARC record, with a policy (RFC 7489 §6.3, §6.6.3). */
bool dns_auth_has_dmarc(struct text_list texts) PURE;
