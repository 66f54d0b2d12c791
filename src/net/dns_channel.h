/*
 * DNS channel: opens and polls a channel of c-ares. Internal to the DNS resolver
 * (net/dns, net/dns_records). A channel serves one call on one thread.
 */
#pragma once

#include "net/dns.h"

#include <ares.h>

/* Opens a channel to these servers (NULL: those of the system). False when the list is malformed. */
MUST_CHECK bool dns_channel_open(const char *servers, ares_channel *ret_channel) NONNULL(2);

/* Waits for an answer or a timeout of a query, a tenth of a second at most, and lets c-ares process it. */
void dns_channel_wait(ares_channel channel) NONNULL(1);

/* Whether a negative answer (no records, or NXDOMAIN) is reliable: it comes from an authoritative server or from a recursive
 * resolver. Any other is a referral (RFC 1034 §4.3.1). `answer` NULL: c-ares itself knows the answer. */
bool dns_denies(const unsigned char *answer, int size) PURE;

/* The `servers` of dns_new. */
const char *dns_servers(const struct dns *dns) NONNULL(1) PURE;
