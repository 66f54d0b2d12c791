/*
 * Channel: how net/dns waits for c-ares; part of it, not for others. A channel
 * serves one call on one thread.
 */
#pragma once

#include "net/dns.h"

#include <ares.h>

/* Of these servers (NULL: those of the system). False when they are not a list of servers. */
MUST_CHECK bool dns_channel_open(const char *servers, ares_channel *ret_channel) NONNULL(2);

/* Waits until a server has answered or it is time to ask again, a tenth of a second at most, and lets c-ares work. */
void dns_channel_wait(ares_channel channel) NONNULL(1);

/* Whether an answer without records, or that there is no such name, can be believed: it is the zone's own server that says so, or
 * one that asks it. Any other only points elsewhere (RFC 1034 §4.3.1). No answer is c-ares speaking for itself. */
bool dns_denies(const unsigned char *answer, int size) PURE;

/* What dns_new was given. */
const char *dns_servers(const struct dns *dns) NONNULL(1) PURE;
