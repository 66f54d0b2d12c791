/*
 * DNS: whether domains take mail, asked with c-ares of the system's resolvers
 * or of servers named by the operator.
 *
 * A call looks many domains up at once, bounded in number, in time for each and
 * in time for all; it blocks its caller that long. No answer in time, SERVFAIL
 * and refusals are one thing (unknown), NXDOMAIN another. Answers are cached in
 * the process, bounded in number and for DNS_CACHE_MAX_S at most; what is
 * unknown is never cached. Only names are looked at; no mail server is contacted.
 *
 * A struct dns may be used by several threads at once.
 */
#pragma once

#include "base/error.h"

#include <stddef.h>

enum {
    DNS_LOOKUP_MS = 3000, /* for one domain, all its questions together */
    DNS_PARALLEL = 100,   /* domains of one call asked for at a time */
    DNS_CACHE_MAX_S = 300,
    DNS_CACHE_NEGATIVE_S = 60,
    DNS_MAX_SERVERS = 8,
};

struct dns;

enum dns_mail {
    DNS_MAIL_UNKNOWN,   /* no answer in time */
    DNS_MAIL_ACCEPTED,  /* an MX, or an address as implicit MX (RFC 5321 §5.1) */
    DNS_MAIL_REFUSED,   /* a null MX (RFC 7505), or neither MX nor address */
    DNS_MAIL_NO_DOMAIN, /* NXDOMAIN */
};

/* `servers`: "address[:port],…" in place of the system's resolvers; NULL for those.
 * Errors: INVALID_REQUEST with param --dns-servers. */
MUST_CHECK bool dns_new(const char *servers, struct dns **ret_dns, struct error *err) NONNULL(2, 3);
void dns_free(struct dns *dns);

/* What the DNS says about mail to each of these domains (lower-case A-labels, each once), in at most `total_ms`. */
void dns_find_mail(struct dns *dns, const char *const *domains, size_t count, int total_ms, enum dns_mail *ret_answers) NONNULL(1);
