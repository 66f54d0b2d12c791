/*
 * DNS resolver: finds out whether domains accept mail. It uses c-ares with the
 * system's resolvers or the servers in --dns-servers.
 *
 * A call looks up many domains in parallel and blocks its caller. The number of
 * parallel lookups, the time of each and the total time are bounded. A timeout,
 * SERVFAIL and a refusal give UNKNOWN; NXDOMAIN gives NO_DOMAIN. Answers other
 * than UNKNOWN are cached in the process, in a bounded cache and for
 * DNS_CACHE_MAX_S at most. No mail server is contacted.
 *
 * A struct dns may be used by several threads at once.
 */
#pragma once

#include "base/error.h"

#include <stddef.h>

enum {
    DNS_LOOKUP_MS = 3000, /* for all queries of one domain together */
    DNS_PARALLEL = 100,   /* domains of one call in progress at a time */
    DNS_CACHE_MAX_S = 300,
    DNS_CACHE_NEGATIVE_S = 60,
    DNS_MAX_SERVERS = 8,
};

struct dns;

enum dns_mail {
    DNS_MAIL_UNKNOWN,   /* no answer in time */
    DNS_MAIL_ACCEPTED,  /* an MX record, or an address record as implicit MX (RFC 5321 §5.1) */
    DNS_MAIL_REFUSED,   /* a null MX (RFC 7505), or neither MX nor address records */
    DNS_MAIL_NO_DOMAIN, /* NXDOMAIN */
};

/* `servers`: "address[:port],…"; NULL for the system's resolvers.
 * Errors: INVALID_REQUEST with param --dns-servers. */
MUST_CHECK bool dns_new(const char *servers, struct dns **ret_dns, struct error *err) NONNULL(2, 3);
void dns_free(struct dns *dns);

/* Looks up whether each of these domains (lower-case A-labels, each once) accepts mail, in at most `total_ms`. */
void dns_find_mail(struct dns *dns, const char *const *domains, size_t count, int total_ms, enum dns_mail *ret_answers) NONNULL(1);
