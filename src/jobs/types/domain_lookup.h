/*
 * Asks the DNS for the records of a domain that is checked.
 */
#pragma once

#include "engine/domains/check.h"

struct dns;

/* Fills in the answers; blocks its caller for as long as one look-up may take (DNS_LOOKUP_MS). */
void domain_look_up(struct dns *dns, struct arena *arena, struct domain_check *check) NONNULL(1, 2, 3);
