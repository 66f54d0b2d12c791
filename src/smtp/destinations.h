/*
 * SMTP destinations: how many messages are under way to each recipient domain,
 * counted by key. Bounded: there are at most two messages a session. No lock of
 * its own; the owner has one.
 */
#pragma once

#include "base/compiler.h"

#include <stdint.h>

struct smtp_destinations;

struct smtp_destinations *smtp_destinations_new(void) RETURNS_NONNULL;
void smtp_destinations_free(struct smtp_destinations *destinations);

/* Keys are hashes that are not 0. Two domains of one key share a bound, which harms neither. */
int smtp_destinations_count(const struct smtp_destinations *destinations, uint64_t key) NONNULL(1) PURE;
void smtp_destinations_add(struct smtp_destinations *destinations, uint64_t key) NONNULL(1);

/* Takes back one smtp_destinations_add. */
void smtp_destinations_end(struct smtp_destinations *destinations, uint64_t key) NONNULL(1);
