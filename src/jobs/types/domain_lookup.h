/*
 * The DNS lookup of a domain check.
 */
#pragma once

#include "engine/domains/check.h"

struct dns;

/* Looks up all records of a check and saves the answers in it; takes at most the time of one lookup (DNS_LOOKUP_MS). */
void domain_look_up(struct dns *dns, struct arena *arena, struct domain_check *check) NONNULL(1, 2, 3);
